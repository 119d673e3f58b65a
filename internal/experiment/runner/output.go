package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

// keptFiles is how many of the newest files are kept of what failing commands printed.
const keptFiles = 10

// late is a run that its timeout has ended.
type late struct {
	timeout time.Duration
	err     error
}

func (l *late) Error() string {
	text := fmt.Sprintf("it took longer than the timeout of %s and was ended", l.timeout)
	// which says it again, to programmers
	if more := l.err.Error(); !strings.Contains(more, context.DeadlineExceeded.Error()) {
		text += ": " + more
	}
	return text
}

func (l *late) Unwrap() error { return l.err }

// keepOutput writes down what a failing command printed, and returns the file.
func (s *session) keepOutput(r *result.Run, err error, warmUp bool) string {
	f, ok := errors.AsType[*workload.Failure](err)
	if !ok || len(f.Stderr)+len(f.Stdout) == 0 {
		return ""
	}
	out := slices.Concat([]byte("--- stderr ---\n"), ends(f.Stderr), []byte("\n--- stdout ---\n"), ends(f.Stdout),
		[]byte("\n"))
	dir, err := s.store.Output()
	if err != nil {
		return ""
	}
	defer dir.Close()
	kind := "run"
	if warmUp {
		kind = "warm-up"
	}
	name := fmt.Sprintf("%s-%d-%d-%d-%s.txt", kind, r.Block, r.Plot, r.Slot, r.Start.UTC().Format(outputTime))
	if dir.WriteFile(name, out, 0o644) != nil {
		return "" // the reason has its first line
	}
	forget(dir)
	return filepath.Join(s.cfg.Dir, filepath.Base(dir.Name()), name)
}

const outputTime = "20060102T150405.000"

// ends are the beginning and the end of a text. Of one that command has cut, they are all, with its mark.
func ends(b []byte) []byte {
	kept := trust.Ends{Keep: keptOfCommand + 64}
	_, _ = kept.Write(b) // never fails
	return kept.Kept().Bytes()
}

// forget removes all but the newest outputs.
func forget(dir *os.Root) {
	list, err := fs.Glob(dir.FS(), "*.txt")
	if err != nil {
		return
	}
	began := func(name string) string { return name[max(0, len(name)-len(outputTime)-len(".txt")):] }
	slices.SortStableFunc(list, func(a, b string) int { return strings.Compare(began(b), began(a)) })
	for _, name := range list[min(keptFiles, len(list)):] {
		_ = dir.Remove(name) // at worst there is one more
	}
}
