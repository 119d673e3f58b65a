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

// The last line may be cut anywhere, as by a power cut, and all lines before it
// stay; appending goes on after them.
func TestTornLastLine(t *testing.T) {
	s, dir := create(t, 3)
	runs := []result.Run{okRun(0, 0), okRun(0, 1), okRun(1, 0)}
	appendAll(t, s, runs...)
	for i := range runs {
		runs[i].Seq = i
	}
	s.Close()
	name := filepath.Join(dir, runsFile)
	whole := testkit.Must(os.ReadFile(name))(t)
	start := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := start; cut < len(whole); cut++ {
		for _, zeroes := range []int{0, 1, len(whole) - cut} { // blocks that were allocated and never written
			torn := append(bytes.Clone(whole[:cut]), make([]byte, zeroes)...)
			if zeroes == len(whole)-cut && zeroes > 1 {
				torn[len(torn)-1] = '\n'
			}
			testkit.OK(t, os.WriteFile(name, torn, 0o600))
			r := mustLoad(t, dir)
			warned := len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], name+":3")
			if len(torn) == start {
				warned = len(r.Warnings) == 0
			}
			if diff := cmp.Diff(runs[:2], r.Runs); diff != "" || !warned {
				t.Fatalf("cut at %d of %d, %d zero bytes: warnings %q, runs %s", cut, len(whole), zeroes, r.Warnings, diff)
			}
			if got, _ := os.ReadFile(name); !bytes.Equal(got, torn) {
				t.Fatal("reading changed the file")
			}
			s := testkit.Must(Open(dir))(t)
			appendAll(t, s, runs[2])
			s.Close()
			if got, _ := os.ReadFile(name); !bytes.Equal(got, whole) {
				t.Fatalf("after cut at %d, appending gave %q", cut, got)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	line := func(r result.Run) string {
		data := testkit.Must(marshal(r))(t)
		return string(data)
	}
	elsewhere := okRun(0, 1)
	elsewhere.Cell = 0
	outside := okRun(0, 1)
	outside.Block = 7
	negative := okRun(0, 1)
	negative.Values = map[string]float64{"t": -1}
	silent := okRun(0, 1)
	silent.Values = nil
	odd := okRun(0, 1)
	odd.Status = "fine"
	second := okRun(0, 1)
	second.Seq = 1
	first := line(okRun(0, 0))
	for name, c := range map[string]struct {
		file, content, want string
	}{
		"a line that is no JSON":      {runsFile, first + "{\"block\":0,\"pl\n" + line(okRun(0, 1)), runsFile + ":2: damaged"},
		"a last line that is no JSON": {runsFile, first + "garbage\n", runsFile + ":2: damaged"},
		"an empty line":               {runsFile, first + "\n" + line(okRun(0, 1)), runsFile + ":2: damaged"},
		"a run twice":                 {runsFile, first + line(second) + first, runsFile + ":3: the run of block 0, plot 0, slot 0 was recorded already"},
		"a cell that is elsewhere":    {runsFile, first + line(elsewhere), runsFile + ":2: the run of block 0, plot 0, slot 1 of cell 0 is not in the plan"},
		"a block that is not planned": {runsFile, first + line(outside), runsFile + ":2: the run of block 7, plot 0, slot 1 of cell 1 is not in the plan"},
		"a value that has no ratio":   {runsFile, first + line(negative), runsFile + ":2: "},
		"a run without its response":  {runsFile, first + line(silent), runsFile + ":2: "},
		"a status of another world":   {runsFile, first + line(odd), runsFile + ":2: "},
		"a journal that is no JSON":   {levelsFile, "{}x\n{}\n", levelsFile + ":1: damaged"},
		"a journal of another world":  {levelsFile, "{\"op\":\"dance\"}\n", levelsFile + ":1: unknown entry"},
		"a head that is cut":          {headFile, "{\n\"schema\": 1,\n\"name\"", headFile + ":3: damaged: it ends too early"},
		"a head with a tail":          {headFile, "{\"schema\":1}\n{}", headFile + ":2: damaged"},
		"a head of a later hostlab":   {headFile, "{\"schema\":3}", "this hostlab reads schema 2"},
		"an empty head":               {headFile, "", headFile + ":1: damaged"},
		"a null head":                 {headFile, "null", "null"},
		"a head with a wild plan":     {headFile, `{"schema":2,"cells":[],"blocks":[{"plots":[[4]]}]}`, "cell 4 of 0"},
		"an end that is cut":          {endFile, "{\"reason\":", endFile + ":1: damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := create(t, 2)
			s.Close()
			testkit.OK(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600))
			before := tree(t, dir)
			for which, open := range map[string]func() error{
				"load": func() error { _, err := Load(dir); return err },
				"open": func() error { _, err := Open(dir); return err },
			} {
				err := open()
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v; want one line with %q and the directory", which, err, c.want)
				}
			}
			testkit.Same(t, before, tree(t, dir), "changed")
		})
	}
}

// What Append refuses is not recorded, and the store goes on.
func TestAppendRefuses(t *testing.T) {
	s, dir := create(t, 2)
	appendAll(t, s, okRun(0, 0))
	bad := okRun(0, 1)
	bad.Cell = 0
	for _, r := range []result.Run{okRun(0, 0), bad} {
		testkit.Fails(t, s.Append(r), "", "recorded", r)
	}
	appendAll(t, s, okRun(0, 1))
	testkit.Is(t, 2, len(mustLoad(t, dir).Runs), "runs")
}

func TestWaitingAndSpent(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1e9+int64(s), 0) }
	r := &Record{
		Journal: []Entry{
			{Op: Started, At: at(0)}, {Op: Original, At: at(1), Factor: "f"}, {Op: Pending, At: at(2), Factor: "f", Value: "b"}, {Op: Stopped, At: at(3)},
			{Op: Started, At: at(1000)},               // killed after its last run
			{Op: Restored, At: at(1900), Factor: "g"}, // by --restore
			{Op: Started, At: at(2000)}, {Op: Stopped, At: at(2010)},
		},
		Runs: []result.Run{{Start: at(1001), Seconds: 4}, {Start: at(1006), Seconds: 2}, {Start: at(2001), Seconds: 3}},
	}
	if got, want := r.Spent(), 21*time.Second; got != want {
		t.Errorf("spent %s, want %s", got, want)
	}
	if w := r.Waiting(); len(w) != 1 || w[0].Value != "b" {
		t.Errorf("waiting: %v", w)
	}
	r.Journal = append(r.Journal, Entry{Op: Restored, Factor: "f"})
	if w, c := r.Waiting(), r.Changed(); len(w) != 0 || len(c) != 0 {
		t.Errorf("after it was restored: waiting %v, changed %v", w, c)
	}
}

// A record of 100,000 runs has to load well within a report's 2 s.
func BenchmarkLoad100k(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "r")
	const blocks = 50_000
	s := testkit.Must(Create(dir, sample(blocks), nil))(b)
	s.Close()
	f := testkit.Must(os.Create(filepath.Join(dir, runsFile)))(b)
	for block := range blocks {
		for slot := range 2 {
			r := okRun(block, slot)
			r.Seq = 2*block + slot
			r.Boot = "3aeacf14-509a-49da-bd6f-ef100b6909ae"
			r.Conditions["steal"] = 0.0012345
			r.Latency = &result.Distribution{Name: "commit", Unit: "s"}
			for i := range 24 {
				r.Latency.Edge = append(r.Latency.Edge, 1e-4*float64(i))
				r.Latency.Count = append(r.Latency.Count, i)
			}
			data := testkit.Must(marshal(r))(b)
			testkit.Must(f.Write(data))(b)
		}
	}
	info, _ := f.Stat()
	b.SetBytes(info.Size())
	f.Close()
	for b.Loop() {
		r, err := Load(dir)
		if err != nil || len(r.Runs) != 2*blocks {
			b.Fatal(err)
		}
	}
}

// Append is what the runner adds to each run, fsync included.
func BenchmarkAppend(b *testing.B) {
	s := testkit.Must(Create(filepath.Join(b.TempDir(), "r"), sample(b.N/2+1), nil))(b)
	defer s.Close()
	b.ResetTimer()
	for i := range b.N {
		testkit.OK(b, s.Append(okRun(i/2, i%2)))
	}
}

// A run that Append writes is read as it was.
func TestDecodeRun(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z ]{0,8}`), rapid.String())
	number := rapid.Float64Range(-1e300, 1e300)
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
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
