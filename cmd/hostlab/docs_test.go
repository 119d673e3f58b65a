package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"hostlab/internal/testkit"
)

// Commands stand in blocks: by themselves, behind a pipe, through ssh or in a container; and in sentences.
var (
	indented = regexp.MustCompile(`(?m)^ {4,}.*$`)
	inBlock  = regexp.MustCompile(`(?:^ +|[|;&] |/usr/bin/|ssh \S+ )(?:sudo )?hostlab ([^|]*)|hostlab:VERSION ([a-z][^|]*)`)
	inText   = regexp.MustCompile("`(?:sudo )?hostlab ([^`]*)`")
)

// documented are the commands of a page.
func documented(page string) (lines []string) {
	matches := inText.FindAllStringSubmatch(page, -1)
	for _, line := range indented.FindAllString(page, -1) {
		matches = append(matches, inBlock.FindAllStringSubmatch(line, -1)...)
	}
	for _, m := range matches {
		line := strings.Join(m[1:], "")
		if !strings.HasPrefix(line, "watch  ") { // a picture of its screen
			lines = append(lines, line)
		}
	}
	return lines
}

// Each command in README and docs is one that the program takes as it stands there: its commands, flags and arguments.
func TestDocumentedCommands(t *testing.T) {
	files := testkit.Must(filepath.Glob("../../docs/*.md"))(t)
	n := 0
	for _, f := range append(files, "../../README.md") {
		b := testkit.Must(os.ReadFile(f))(t)
		for _, line := range documented(string(b)) {
			args, err := asTyped(line)
			if err == nil {
				err = taken(args)
			}
			if n++; err != nil {
				t.Errorf("%s: hostlab %s: %v", filepath.Base(f), line, err)
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d commands were found", n)
	}
}

// taken parses a command and its flags, and does nothing.
func taken(args []string) error {
	root := newRoot(streams{})
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return errors.New("no such command")
	}
	if err := c.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if rest := c.Flags().Args(); len(rest) > 0 { // in a text, a command may stand without its arguments
		return c.ValidateArgs(rest)
	}
	return nil
}

// asTyped splits a line as a shell does, up to a comment, a pipe or the next command.
func asTyped(line string) (args []string, err error) {
	var word strings.Builder
	quote, some := rune(0), false
	end := func() {
		if some {
			args = append(args, word.String())
		}
		word.Reset()
		some = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, some = r, true
		case r == ' ' || r == '\n':
			end()
		case strings.ContainsRune("|;&<>", r) || r == '#' && !some:
			end()
			return args, nil
		default:
			word.WriteRune(r)
			some = true
		}
	}
	end()
	if quote != 0 {
		err = errors.New("a quote is not closed")
	}
	return args, err
}

// Units that work on their own have a limit of memory, few rights, and see no device but those that they name.
func TestUnitsAreBounded(t *testing.T) {
	units, err := filepath.Glob("../../deploy/systemd/hostlab-*.service")
	if err != nil || len(units) < 4 {
		t.Fatal(units, err)
	}
	for _, name := range units {
		text := testkit.Must(os.ReadFile(name))(t)
		if strings.HasSuffix(name, "-restore.service") { // puts back what may be anywhere
			continue
		}
		for _, want := range []string{"MemoryMax=", "TasksMax=", "CapabilityBoundingSet=", "NoNewPrivileges=yes", "ProtectSystem=", "ProtectHome=", "SystemCallFilter="} {
			if !strings.Contains(string(text), "\n"+want) {
				t.Errorf("%s has no %s", filepath.Base(name), want)
			}
		}
		if !strings.Contains(string(text), "\nPrivateDevices=yes") && !strings.Contains(string(text), "\nDevicePolicy=closed") {
			t.Errorf("%s sees all devices", filepath.Base(name))
		}
	}
}
