package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/result"
)

// decodesAsJSON reports where decodeRun and encoding/json disagree about a line.
func decodesAsJSON(t interface {
	Helper()
	Fatalf(string, ...any)
}, line []byte) {
	t.Helper()
	var want, got result.Run
	wantErr := json.Unmarshal(line, &want)
	gotErr := decodeRun(line, &got, &interner{})
	if (wantErr == nil) != (gotErr == nil) {
		t.Fatalf("%q: %v, encoding/json says %v", line, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
		t.Fatalf("%q: %s", line, diff)
	}
}

func FuzzDecodeRun(f *testing.F) {
	for _, s := range []string{
		`{"seq":7,"block":1,"plot":0,"slot":2,"cell":1,"attempt":1,"status":"ok","start":"2026-11-22T00:30:30.059188931Z","seconds":3.5e-06,"values":{"t":0.98}}` + "\n",
		`{"latency":{"name":"a","title":"","unit":"s","edges":[1,2.5],"counts":[3,4]},"warnings":["x"],"missing":{}}`,
		`{"waits":{"looks":9,"events":[{"name":"IO:WALSync","part":"log_wait","seconds":0.25},{"name":"on CPU","part":"database_cpu","seconds":1}]}}`, `{"waits":{},"waits":{}}`, `{"waits":{"events":[{}],"events":[]}}`, `{"waits":{"events":null}}`,
		`{"block":01}`, `{"block":1.0}`, `{"block":-1}`, `{"seconds":1e999}`, `{"seconds":.5}`, `{"values":{"a":1,"a":2}}`, `{"block":1,"block":2}`,
		`{"Block":3}`, `{"reason":"\u00e4"}`, `{"reason":"ä"}`, `{"values":null}`, ` {"block":1}`, `{"block":1}x`, `{"block":1,}`, `{"start":"x"}`, `null`, `[]`, `{}`, "{}\v",
		`{"status":"ok","status":"void"}`, `{"latency":{},"latency":{}}`, `{"warnings":[]}`, `{"before":{}}`, `{"block":9223372036854775808}`, `{"edges":[1]}`, `{"seq":1,"seq":1}`, `{"seq":1.5}`, `{"block":+1}`, `{"block":1e2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) { decodesAsJSON(t, line) })
}

func TestDecodeRun(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z ]{0,8}`), rapid.String())
	number := rapid.Float64Range(-1e300, 1e300)
	rapid.Check(t, func(t *rapid.T) {
		r := result.Run{
			Seq: rapid.Int().Draw(t, "seq"), Block: rapid.Int().Draw(t, "block"), Status: result.Status(text.Draw(t, "status")), Reason: text.Draw(t, "reason"),
			Start: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "start"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC(), Seconds: number.Draw(t, "seconds"),
			Values:   rapid.MapOf(text, number).Draw(t, "values"),
			Before:   rapid.MapOf(text, text).Draw(t, "before"),
			Warnings: rapid.SliceOf(text).Draw(t, "warnings"),
			Latency:  &result.Distribution{Edge: rapid.SliceOf(number).Draw(t, "edges"), Count: rapid.SliceOf(rapid.Int()).Draw(t, "counts")},
			Waits:    &result.Waits{Looks: rapid.Int().Draw(t, "looks"), Events: []result.Wait{{Name: text.Draw(t, "event"), Part: text.Draw(t, "part"), Seconds: number.Draw(t, "waited")}}},
		}
		line, err := marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		decodesAsJSON(t, line)
	})
}

// What Append writes takes the short way.
func TestDecodeRunIsUsed(t *testing.T) {
	r := okRun(3, 1)
	r.Latency = &result.Distribution{Name: "commit", Unit: "s", Edge: []float64{1e-3}, Count: []int{4}}
	r.Waits = &result.Waits{Looks: 3, Events: []result.Wait{{Name: "IO:WALSync", Part: "log_wait", Seconds: 0.06}}}
	line, err := marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := cursor{rest: line, names: &interner{}}
	var got result.Run
	if !c.run(&got) {
		t.Errorf("left to encoding/json: %s", line)
	}
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
		if err := os.WriteFile(filepath.Join(dir, runsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
