package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagName collects flag names.
func flagName(names *[]string) func(*pflag.Flag) {
	return func(f *pflag.Flag) {
		if !f.Hidden {
			*names = append(*names, f.Name)
		}
	}
}

// choiceFlag adds a flag that takes one of a few words, with completion.
func choiceFlag(cmd *cobra.Command, target *string, name, value, usage string, words []string) {
	cmd.Flags().StringVar(target, name, value, usage+": "+strings.Join(words, ", "))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// oneOf reports a word that is not among the choices, naming the nearest.
func oneOf(flag, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	hint := ""
	if near := nearest(word, words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return usagef("--%s %q: expected %s%s", flag, word, strings.Join(words, ", "), hint)
}

// nearest returns the known word within two edits, or one that starts alike.
func nearest(word string, known []string) string {
	best, dist := "", 3
	for _, k := range known {
		if d := edits(word, k); d < dist {
			best, dist = k, d
		}
	}
	if best == "" && len(word) >= 3 {
		for _, k := range known {
			if strings.HasPrefix(k, word) {
				return k
			}
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
