package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/report/effects"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

// record writes a sample as `hostlab run` would have.
func record(t testing.TB, dir string, r effects.Report, journal ...store.Entry) string {
	t.Helper()
	s := testkit.Must(store.Create(dir, r.Analysis.Experiment, r.Study))(t)
	defer s.Close()
	for _, run := range r.Runs {
		testkit.OK(t, s.Append(run))
	}
	for _, e := range journal {
		testkit.OK(t, s.Journal(e))
	}
	if a := r.Analysis; a.Ended != "" {
		testkit.OK(t, s.End(result.End{Reason: a.Ended, Blocks: a.Blocks, At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}))
	}
	return dir
}

// reported runs `hostlab report` and returns its status and streams.
func reported(t testing.TB, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), append([]string{"report", "--exit-status"}, args...), streams{strings.NewReader(""), &o, &e})
	return status, o.String(), e.String()
}

func TestReportStatus(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	kept := record(t, filepath.Join(dir, "hostlab", "kept"), pages.Gzip())
	gzip := record(t, filepath.Join(dir, "gzip"), pages.Gzip())
	null := record(t, filepath.Join(dir, "null"), pages.Null())
	noisy := record(t, filepath.Join(dir, "noisy"), pages.Noisy())
	others := record(t, filepath.Join(dir, "others"), pages.Others())
	open := record(t, filepath.Join(dir, "open"), pages.Running(), store.Entry{Op: store.Original, Factor: "level", Value: "1", At: time.Now()})
	empty := filepath.Join(dir, "empty")
	file := filepath.Join(dir, "file")
	damaged := record(t, filepath.Join(dir, "damaged"), pages.Others())
	for name, content := range map[string]string{file: "x", filepath.Join(damaged, "runs.jsonl"): "{\"block\":0}\nnonsense\n{}\n"} {
		testkit.OK(t, os.WriteFile(name, []byte(content), 0o600))
	}
	testkit.OK(t, os.Mkdir(empty, 0o700))
	for _, tt := range []struct {
		args   []string
		status int
		says   string // on stdout, or on stderr for status 2
	}{
		{[]string{gzip}, 10, "costs more than 1: wall time in a typical run +47."},
		{[]string{null}, 0, "no practical difference"},
		{[]string{noisy}, 11, "inconclusive"},
		{[]string{null, noisy}, 11, "Comparison of 2 experiments"},
		{[]string{gzip, noisy, null}, 10, "Comparison of 3 experiments"},
		{[]string{gzip, others}, 10, "NOT THE SAME IN ALL"},
		{[]string{gzip, others, "--all"}, 10, "host kernel: "},
		{[]string{open}, 11, "hostlab run --restore --out " + open},
		{[]string{gzip, "--format", "markdown"}, 10, "| effect |"},
		{[]string{gzip, "--format", "csv"}, 10, "response.wall.s"},
		{[]string{gzip, "--format", "html"}, 10, "<!DOCTYPE html>"},
		{nil, 2, "needs the directory"},
		{nil, 2, "the latest: hostlab report " + kept},
		{[]string{"kept"}, 10, "costs more than 1: wall time in a typical run +47."},
		{[]string{"kept-not"}, 2, "the latest: hostlab report " + kept},
		{[]string{""}, 2, "is empty"},
		{[]string{gzip, gzip + "/"}, 2, "named twice"},
		{[]string{empty}, 2, "holds no experiment"},
		{[]string{file}, 2, "not a directory"},
		{[]string{filepath.Join(dir, "absent")}, 2, "absent"},
		{[]string{damaged}, 2, "runs.jsonl"},
		{[]string{gzip, "--format", "jsn"}, 2, "did you mean json?"},
		{[]string{gzip, "--out", dir}, 2, "is a directory"},
		{[]string{gzip, "--out", filepath.Join(dir, "no", "such", "f")}, 2, "no such"},
	} {
		status, out, errs := reported(t, tt.args...)
		said := strings.Join(strings.Fields(out), " ")
		if tt.status == 2 {
			said = errs
			if out != "" || strings.Count(errs, "\n") != 1 {
				t.Errorf("%v: stdout %q, stderr %q", tt.args, out, errs)
			}
		} else if errs != "" {
			t.Errorf("%v: stderr %q", tt.args, errs)
		}
		if status != tt.status || !strings.Contains(strings.ReplaceAll(said, " \\ ", " "), tt.says) {
			t.Errorf("%v: status %d, want %d; does not say %q:\n%s%s", tt.args, status, tt.status, tt.says, out, errs)
		}
	}
}

// A file is written whole, or not at all, and stdout stays empty.
func TestReportOut(t *testing.T) {
	dir := t.TempDir()
	gzip := record(t, filepath.Join(dir, "gzip"), pages.Gzip())
	name := filepath.Join(dir, "report.json")
	if status, out, errs := reported(t, gzip, "--out", name); status != 10 || out != "" || errs != "" {
		t.Fatalf("status %d, stdout %q, stderr %q", status, out, errs)
	}
	b := testkit.Must(os.ReadFile(name))(t)
	var doc struct{ Effects []struct{ Verdict string } }
	if err := json.Unmarshal(b, &doc); err != nil || len(doc.Effects) != 2 || doc.Effects[0].Verdict != "costs_more" {
		t.Errorf("%v %+v", err, doc)
	}
	if _, _, errs := reported(t, filepath.Join(dir, "absent"), "--out", filepath.Join(dir, "nothing")); errs == "" {
		t.Error("no error")
	}
	testkit.Refused(os.Stat(filepath.Join(dir, "nothing")))(t, "", "a file was left behind")
}

// BenchmarkReport is the promise that a record of 100,000 runs reports in under 2 s:
// reading, analysis and writing.
func BenchmarkReport(b *testing.B) {
	r := pages.Large(100_000)
	dir := b.TempDir()
	runs := r.Runs
	r.Runs = nil
	dir = record(b, filepath.Join(dir, "large"), r)
	var lines bytes.Buffer // not through the store, which syncs each
	enc := json.NewEncoder(&lines)
	for i := range runs {
		runs[i].Seq = i
		testkit.OK(b, enc.Encode(&runs[i]))
	}
	testkit.OK(b, os.WriteFile(filepath.Join(dir, "runs.jsonl"), lines.Bytes(), 0o600))
	end := testkit.Must(json.Marshal(result.End{Reason: "looks", Blocks: len(r.Analysis.Experiment.Blocks), Runs: len(runs)}))(b)
	testkit.OK(b, os.WriteFile(filepath.Join(dir, "ended.json"), end, 0o600))
	for _, format := range []string{"text", "html", "json", "markdown", "csv"} {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				if status, _, errs := reported(b, dir, "--format", format); status != exitFound {
					b.Fatalf("status %d: %s", status, errs)
				}
			}
		})
	}
}

// The versions that a build names are those of the schemas, where there is one.
func TestVersionsOfDocuments(t *testing.T) {
	seen := 0
	for _, s := range schemas {
		text, err := os.ReadFile("../../docs/schema/" + s.command + ".schema.json")
		switch s.command {
		case "facts", "fleet", "settings", "check": // none, one for several documents, or made of the version
			continue
		}
		testkit.OK(t, err)
		var form struct {
			Definitions map[string]struct {
				Properties struct {
					Schema struct{ Const int }
				}
			} `json:"$defs"`
		}
		testkit.OK(t, json.Unmarshal(text, &form))
		says := 0
		for _, d := range form.Definitions {
			says = max(says, d.Properties.Schema.Const)
		}
		testkit.Is(t, s.version, says, s.command, "version says", "and the schema")
		seen++
	}
	testkit.Is(t, 4, seen, "compared")
}
