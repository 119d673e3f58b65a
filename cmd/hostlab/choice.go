package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hostlab/internal/spelling"
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

// notEmpty refuses flags that were given without a value, as from a variable of a
// script that is not set: taken silently, they would mean something else.
func notEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		if slices.Contains(values, "") {
			return usagef("--%s is empty; is a variable unset?", name)
		}
	}
	return nil
}

// oneOf reports a word that is not among the choices, naming the nearest.
func oneOf(flag, word string, words []string) error { //nolint:unparam // the flag is part of the error
	if slices.Contains(words, word) {
		return nil
	}
	hint := ""
	if near := spelling.Meant(word, words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return usagef("--%s %q: expected %s%s", flag, word, strings.Join(words, ", "), hint)
}
