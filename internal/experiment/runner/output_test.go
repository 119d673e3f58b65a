package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// A command that floods its output and fails again and again fills no disk.
func TestOutputIsBounded(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+nullWorkload)
	s := testkit.Must(begin(t.Context(), Config{Study: b.study, Dir: b.cfg.Dir, sys: b.cfg.sys}))(t)
	defer s.store.Close()
	flood := append(append([]byte("begins"), make([]byte, 8<<20)...), "ends"...)
	var names []string
	for i := range keptFiles + 5 {
		r := &result.Run{Slot: i % 3, Start: time.Unix(1e9+int64(i), 0)}
		names = append(names, s.keepOutput(r, fmt.Errorf("failed: %w",
			&workload.Failure{Err: errors.New("x"), Stdout: flood, Stderr: flood}), i%4 == 0))
	}
	for i, name := range names {
		data, err := os.ReadFile(name)
		testkit.Is(t, (err != nil), i < len(names)-keptFiles, "attempt", i, len(names), err)
		if err == nil && (len(data) > 4*keptOfCommand+500 || bytes.Count(data, []byte("begins")) != 2 ||
			bytes.Count(data, []byte("ends")) != 2) {
			t.Errorf("attempt %d has %d bytes", i, len(data))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(names[0]), "*")); len(left) != keptFiles {
		t.Errorf("%d files", len(left))
	}
}

// A timeout is told in words for people, and stays what it is for programs.
func TestLate(t *testing.T) {
	for text, cause := range map[string]error{
		"it took longer than the timeout of 1s and was ended":                          context.DeadlineExceeded,
		"it took longer than the timeout of 1s and was ended: sh was stopped after 1s": fmt.Errorf("sh was stopped after 1s"),
	} {
		err := error(&late{time.Second, cause})
		if err.Error() != text || !errors.Is(err, cause) || strings.Contains(err.Error(), "deadline") {
			t.Errorf("%q, want %q", err, text)
		}
	}
}
