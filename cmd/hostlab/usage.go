package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage says how a command is called. cobra's own does not wrap flags (v1.10.2). A template of ours would bring
// text/template, and with it megabytes: see picture.Markup.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		b.WriteString("\n\nFlags:\n" + trimmed(c.LocalFlags().FlagUsagesWrapped(80)))
	}
	if c.HasAvailableInheritedFlags() {
		b.WriteString("\n\nGlobal Flags:\n" + trimmed(c.InheritedFlags().FlagUsagesWrapped(80)))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\n\"%s [command] --help\" has more of each.", c.CommandPath())
	}
	_, err := fmt.Fprintln(c.OutOrStderr(), b.String())
	return err
}

func trimmed(s string) string { return strings.TrimRight(s, " \n") }
