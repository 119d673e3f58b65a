package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// A value that a person has set since a session was killed is not overwritten by a
// resume, and nothing happens; levels of the study and the original are ours.
func TestResumeKeepsWhatAPersonSet(t *testing.T) {
	for value, refuses := range map[string]bool{"42": true, "low": false, "high": false, "original": false} {
		b := newBench(t, head(6, "")+levelFactor+nullWorkload)
		s, err := store.Create(b.cfg.Dir, (&session{cfg: Config{Version: "test"}, study: b.study,
			sys: b.cfg.sys}).head(b.host), b.study.Source)
		testkit.OK(t, err)
		for _, e := range []store.Entry{{Op: store.Started}, {Op: store.Original, Factor: "power", Value: "original"}} {
			testkit.OK(t, s.Journal(e))
		}
		s.Close()
		b.write("level", value+"\n")
		b.cfg.Force = false
		journal := testkit.Must(os.ReadFile(filepath.Join(b.cfg.Dir, "levels.jsonl")))(t)
		err = b.run()
		if !refuses {
			if err != nil {
				t.Errorf("%s: %v", value, err)
			}
			b.complete()
			continue
		}
		b.fails(err,
			`factor power reads "42", which is neither a level of the study nor the original "original": another program changed it`, "hostlab run --restore --yes --out "+b.cfg.Dir)
		if no, ok := errors.AsType[*Refused](err); !ok {
			t.Errorf("%v is not refused", no)
		}
		testkit.Is(t, "42", b.level(), "the level is")
		if now, _ := os.ReadFile(filepath.Join(b.cfg.Dir, "levels.jsonl")); string(now) != string(journal) ||
			len(b.record().Runs) > 0 {
			t.Errorf("something was done: %s", strings.TrimPrefix(string(now), string(journal)))
		}
	}
}
