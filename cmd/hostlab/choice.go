package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hostlab/internal/spelling"
)

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

// formatFlag adds --format, which takes one of a few words.
func formatFlag(cmd *cobra.Command, target *string, words []string) {
	choiceFlag(cmd, target, "format", words[0], "output", words)
	f := cmd.Flags().Lookup("format")
	f.Value = &word{f.Value, words}
}

// word is the value of a flag that takes one of a few words.
type word struct {
	pflag.Value
	words []string
}

// Set refuses all others.
func (w *word) Set(s string) error {
	if err := oneOf("format", s, w.words); err != nil {
		return err
	}
	return w.Value.Set(s)
}

// emptiable marks a flag for which no value means something.
const emptiable = "emptiable"

// notEmpty refuses flags that were given without a value, as from a variable of a
// script that is not set: taken silently, they would mean something else.
func notEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		if slices.Contains(values, "") && f.Annotations[emptiable] == nil && err == nil {
			err = usagef("--%s is empty; is a variable unset?", f.Name)
		}
	})
	return err
}

// share reads a share above 0, as 5%, 5 % or 0.05.
func share(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	switch {
	case err != nil || math.IsNaN(v):
		return 0, usagef("--%s %q: expected a share above 0 and below 100 %%, as 0.05 or 5%%", flag, text)
	case v <= 0:
		return 0, usagef("--%s %s: expected more than 0 and less than 100 %%", flag, text)
	case !percent && v > 1 && v < 100:
		return 0, usagef("--%s %s: expected more than 0 and less than 1; for %s %% write %s%%", flag, text, text, text)
	}
	return v, nil
}

// oneOf reports a word that is not among the choices, naming the nearest.
func oneOf(flag, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	hint := ""
	if near := spelling.Meant(word, words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return usagef("--%s %q: expected %s%s", flag, word, strings.Join(words, ", "), hint)
}
