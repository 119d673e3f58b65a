package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"hostlab/internal/testkit"
)

// printed runs a command line in a directory of its own.
func printed(t *testing.T, line string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), strings.Fields(line), streams{strings.NewReader(""), &o, &e})
	return status, o.String(), e.String()
}

// A page of what was looked at or simulated at some time has that time in its title line.
func TestPagesSayWhen(t *testing.T) {
	for _, line := range []string{"predict --workload sap-dialog --host olontsev --policy ondemand --load 50% --replications 2",
		"workload null --runs 3"} {
		_, page, errs := printed(t, line+" --format html")
		if title, _, _ := strings.Cut(page, "</title>"); !strings.Contains(title, " UTC · ") {
			t.Errorf("%s: %s%s", line, title[max(0, len(title)-100):], errs)
		}
	}
}

// head is what JSON begins with, so that a reader knows a document by its first bytes.
var head = regexp.MustCompile(`^{\s*"kind": "[a-z-]+",\s*"schema": [1-9]`)

// Every command that prints a document prints it in each of its forms, where it is asked to. JSON says what it is.
func TestForms(t *testing.T) {
	machine := testkit.Must(filepath.Abs("../../internal/host/testdata/smt-off.txtar"))(t)
	tree, _ := recordedTree(t, "intel-core-cst")
	t.Chdir(t.TempDir())
	t.Setenv(storeVariable, "sqlite:"+filepath.Join(t.TempDir(), "fleet.db"))
	testkit.OK(t, os.Mkdir("spool", 0o700))
	if status, _, errs := printed(t, "fleet ingest spool"); status != exitOK {
		t.Fatal(errs)
	}
	for _, command := range []string{"version", "study list", "workload list", "workload show dialog", "settings --root " + machine,
		"settings governor --root " + machine, "check --root " + machine, "check --explain PWR-001", "check --explain list",
		"facts --root " + machine, "fleet status", "fleet hosts", "fleet changes", "fleet report", "workload null --runs 1",
		"study check null gzip-level", "study show null", "set swappiness=10 --dry-run --root " + tree, "verify --root " + tree,
		"revert --dry-run --root " + tree,
		"predict --workload sap-dialog --host olontsev --policy ondemand --users 1 --replications 2"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			cmd, _, err := newRoot(streams{}).Find(strings.Fields(command))
			testkit.OK(t, err)
			_, list, _ := strings.Cut(cmd.Flag("format").Usage, ": ")
			forms := strings.Split(list, ", ")
			if len(forms) < 2 || forms[0] != "text" || forms[1] != "json" {
				t.Fatalf("forms %q", forms)
			}
			for _, form := range forms {
				status, out, errs := printed(t, command+" --format "+form)
				if status != exitOK || out == "" {
					t.Errorf("%s: status %d, %s", form, status, errs)
				}
				if form != "json" {
					continue
				}
				var data map[string]any
				if err := json.Unmarshal([]byte(out), &data); err != nil || !head.MatchString(out) {
					t.Errorf("%v: begins with %.80q", err, out)
				}
				file := filepath.Join(t.TempDir(), "it.json")
				if status, screen, errs := printed(t, command+" --out "+file+" --out -"); status != exitOK || screen == "" {
					t.Errorf("status %d, %s", status, errs)
				}
				if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "{") {
					t.Errorf("%v, %.60s", err, text)
				}
			}
			for _, bad := range []string{"--format yaml", "--out x.html.csv.xml --format xml", "--out a.json --out ./a.json"} {
				if status, out, errs := printed(t, command+" "+bad); status != exitUsage || out != "" || strings.Count(errs, "\n") != 1 {
					t.Errorf("%s: status %d, %s%s", bad, status, out, errs)
				}
			}
		})
	}
}

// A file's ending names the form, unless --format does; what a command has no form for is refused before it begins.
func TestFormOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		flags, form, problem string
	}{
		{"", "text", ""}, {"--out x", "text", ""}, {"--out x.txt", "text", ""}, {"--out x.JSON", "json", ""},
		{"--out x.html", "html", ""}, {"--out x.md", "markdown", ""}, {"--out x.html --format json", "json", ""},
		{"--out x.csv", "", "--out x.csv: this command prints text, json, html, markdown"},
		{"--out nowhere/x.json", "", "no such file"}, {"--out .", "", "is a directory"},
	} {
		p, cmd := printing{}, &cobra.Command{SilenceErrors: true, SilenceUsage: true}
		p.flags(cmd, streams{nil, io.Discard, io.Discard}, documentForms)
		got := ""
		cmd.RunE = func(*cobra.Command, []string) error { got = p.form(p.places()[0]); return nil }
		cmd.SetArgs(strings.Fields(c.flags))
		err := cmd.Execute()
		if got != c.form || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %v", c.flags, got, err)
		}
	}
}

// Notes beside the answer are silent where that is asked for.
func TestQuiet(t *testing.T) {
	root, _ := recordedTree(t, "intel-core-cst")
	if status, _, errs := printed(t, "set swappiness=10 --yes --root "+root); status != exitOK {
		t.Fatal(errs)
	}
	for line, noted := range map[string]bool{"settings": true, "settings --quiet": false, "set thp=always --dry-run": true,
		"-q set thp=always --dry-run": false} {
		status, out, errs := printed(t, line+" --root "+root)
		if status != exitOK || out == "" || strings.Contains(errs, "still in force") != noted || !noted && errs != "" {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}
