package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// A run that Append writes is read as it was.
func TestDecodeRun(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z ]{0,8}`), rapid.String())
	number := rapid.Float64Range(-1e300, 1e300)
	testkit.Check(t, func(t *rapid.T) {
		r := result.Run{
			Seq: rapid.Int().Draw(t, "seq"), Block: rapid.Int().Draw(t, "block"), Status: result.Status(text.Draw(t, "status")), Reason: text.Draw(t, "reason"),
			Start: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "start"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC(), Seconds: number.Draw(t, "seconds"),
			Values:   rapid.MapOf(text, number).Draw(t, "values"),
			Before:   rapid.MapOf(text, text).Draw(t, "before"),
			Warnings: rapid.SliceOf(text).Draw(t, "warnings"),
			Latency:  &result.Distribution{Edge: rapid.SliceOf(number).Draw(t, "edges"), Count: rapid.SliceOf(rapid.Int()).Draw(t, "counts")},
			Waits:    &result.Waits{Looks: rapid.Int().Draw(t, "looks"), Events: []result.Wait{{Name: text.Draw(t, "event"), Part: text.Draw(t, "part"), Seconds: number.Draw(t, "waited")}}},
		}
		line := testkit.Must(marshal(r))(t)
		var got result.Run
		testkit.OK(t, json.Unmarshal(line, &got))
		if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
	})
}

// What is short in the file and large in memory is refused before it is, and so are long lines.
func TestLoadHeld(t *testing.T) {
	names := strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&names, `,"v%d":1`, i)
	}
	for want, text := range map[string]string{
		"hold more values": strings.Repeat(`{"values":{"v":1`+names.String()+"}}\n", 900),
		"runs.jsonl:1: the line is longer than 1 MiB": `{"reason":"` + strings.Repeat("x", maxLine) + "\"}\n",
		"hold more values than fit":                   strings.Repeat(`{"waits":{"events":[{}`+strings.Repeat(",{}", 50_000)+"]}}\n", 90),
	} {
		_, dir := create(t, 2)
		testkit.OK(t, os.WriteFile(filepath.Join(dir, runsFile), []byte(text), 0o600))
		testkit.Refused(Load(dir))(t, want)
	}
}

// marshal makes a line as the store writes it.
func marshal(v any) ([]byte, error) {
	line, err := result.RecordJSON(v)
	return append(line, '\n'), err
}

// A name that holds what a terminal obeys is not raw in any file of a record, and is read as it was.
func TestHostileNamesAreEscaped(t *testing.T) {
	const hostile = "f\u009b31m\u202e<&>"
	dir := filepath.Join(t.TempDir(), "record")
	x := sample(1)
	x.Name = hostile
	s := testkit.Must(Create(dir, x, nil))(t)
	run := okRun(0, 0)
	run.Warnings = []string{hostile}
	appendAll(t, s, run)
	testkit.OK(t, errors.Join(s.Journal(Entry{Op: Original, Factor: hostile}), s.End(result.End{Reason: hostile}), s.Close()))
	for _, name := range []string{headFile, runsFile, levelsFile, endFile} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.ContainsAny(text, "\u009b\u202e") {
			t.Errorf("%s: %v, %q", name, err, text)
		}
	}
	r, err := Load(dir)
	if err != nil || r.Experiment.Name != hostile || r.Runs[0].Warnings[0] != hostile || r.Journal[0].Factor != hostile || r.End.Reason != hostile {
		t.Errorf("%v: %+v", err, r)
	}
}
