package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// ended is a record of four runs that has ended.
func ended(t *testing.T) (dir string, lines [][]byte) {
	t.Helper()
	s, dir := create(t, 2)
	appendAll(t, s, okRun(0, 0), okRun(0, 1), okRun(1, 0), okRun(1, 1))
	testkit.OK(t, s.End(result.End{Reason: "looks", Blocks: 2}))
	s.Close()
	data := testkit.Must(os.ReadFile(filepath.Join(dir, runsFile)))(t)
	return dir, bytes.SplitAfter(data, []byte("\n"))[:4]
}

// Lines that were lost or moved are told, whether the record has ended or not.
func TestLostLines(t *testing.T) {
	for name, c := range map[string]struct {
		keep  []int
		torn  string
		open  string // what is wrong with a record that has not ended; "": nothing that could be seen
		ended string
	}{
		"the first":        {keep: []int{1, 2, 3}, open: "runs.jsonl:1: has run 1 where run 0 should be", ended: "runs.jsonl:1: "},
		"one within":       {keep: []int{0, 2, 3}, open: "runs.jsonl:2: has run 2 where run 1 should be", ended: "runs.jsonl:2: "},
		"two are swapped":  {keep: []int{0, 2, 1, 3}, open: "runs.jsonl:2: has run 2 where run 1 should be", ended: "runs.jsonl:2: "},
		"the last":         {keep: []int{0, 1, 2}, ended: "has 3 whole lines, and ended.json counts 4"},
		"all":              {ended: "has 0 whole lines, and ended.json counts 4"},
		"all but a piece":  {torn: "{", ended: "has 0 whole lines, and ended.json counts 4"},
		"two, and a piece": {keep: []int{0, 1}, torn: `{"seq":2`, ended: "has 2 whole lines, and ended.json counts 4"},
		"a torn last one":  {keep: []int{0, 1, 2}, torn: `{"seq":3,"block`, ended: "has 3 whole lines, and ended.json counts 4"},
		"a piece too many": {keep: []int{0, 1, 2, 3}, torn: "{"},
		"none":             {keep: []int{0, 1, 2, 3}},
	} {
		for _, over := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", over), func(t *testing.T) {
				dir, lines := ended(t)
				var data []byte
				for _, i := range c.keep {
					data = append(data, lines[i]...)
				}
				testkit.OK(t, os.WriteFile(filepath.Join(dir, runsFile), append(data, c.torn...), 0o600))
				want := c.ended
				if !over {
					want = c.open
					testkit.OK(t, os.Remove(filepath.Join(dir, endFile)))
				}
				r, err := Load(dir)
				if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir)) {
					t.Fatalf("%v, want %q", err, want)
				}
				if err != nil {
					return
				}
				testkit.Is(t, over, r.End != nil, "ended")
			})
		}
	}
}
