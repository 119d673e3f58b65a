package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"hostlab/internal/trust"
)

// newMan writes the manual pages from the same texts as --help. It is for
// packagers, so it is not listed.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `man writes a manual page for each command into a directory, which it makes where
it is missing. They have the texts of --help.

Exit status: 0 done, 1 a page cannot be written, 2 the directory cannot be made.`,
		Example: "  hostlab man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    takes(1, 1, "one directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if parent := filepath.Dir(args[0]); parent != "." {
				if _, err := os.Stat(parent); err != nil {
					return usagef("man %s: %s: %w", args[0], parent, plain(err))
				}
			}
			if err := trust.MkdirAll(args[0], 0o755); err != nil {
				return usageError{err}
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			// A fixed date keeps the pages the same from build to build.
			date := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
			return manual(root, doc.GenManHeader{Section: "1", Source: "hostlab", Manual: "hostlab manual", Date: &date},
				args[0])
		},
	}
}

// manual writes the page of a command, and those of the commands below it, each as any other output.
func manual(cmd *cobra.Command, header doc.GenManHeader, dir string) error {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := manual(c, header, dir); err != nil {
			return err
		}
	}
	cmd.Long = manualText(cmd.Long)
	var b bytes.Buffer
	if err := doc.GenMan(cmd, &header, &b); err != nil {
		return err
	}
	text := strings.ReplaceAll(b.String(), "[=false]", "") // cobra's way to say that a flag takes no value
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	return writeFile(filepath.Join(dir, name+"."+header.Section), func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
}

var (
	manualHead   = regexp.MustCompile(`(?m)^(Exit status|Environment|Files):[ \n]`)
	manualPoints = regexp.MustCompile(`(?m)^(- .*\n)+`)
	manualIndent = regexp.MustCompile(`(?m)(?:^ {2,}\S.*\n?)+`)
)

// manualText has the paragraphs of a help that manual pages have as sections, and its lists, as Markdown.
func manualText(long string) string {
	long = manualHead.ReplaceAllStringFunc(long, func(head string) string {
		return "# " + strings.ToUpper(strings.TrimRight(head, ": \n")) + "\n"
	})
	long = manualPoints.ReplaceAllString(long, "\n$0\n")
	return manualIndent.ReplaceAllStringFunc(long, func(list string) string {
		var b strings.Builder
		for line := range strings.Lines(list) {
			b.WriteString("    " + line)
		}
		return "\n" + strings.TrimRight(b.String(), "\n") + "\n\n"
	})
}
