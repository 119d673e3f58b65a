package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/lockfile"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// takeOver looks, before a resume does anything, after what a session that was
// killed has left: levels that another program has changed since, and processes.
func (s *session) takeOver(ctx context.Context) error {
	if !s.cfg.Resume || s.store.Record().End != nil {
		return nil
	}
	if s.live != nil {
		// What was is saved anew, since the service was not alone meanwhile.
		if err := s.levels.restore(ctx, false); isForeign(err) {
			return notBack(err, s.cfg.Dir)
		} else if err != nil {
			return err
		}
	}
	if err := s.levels.untouched(ctx, s.cfg.Dir); err != nil {
		return err
	}
	names, err := endLeftoversOf(s.cfg.Dir)
	if len(names) > 0 {
		s.note("the session that was killed had left %s running, which was ended", strings.Join(names, ", "))
	}
	return err
}

// EndLeftovers ends what the workload of a killed session of a record has left running,
// and returns the names of what it ended. It leaves a session that runs alone: its lock
// gives *lockfile.Busy.
func EndLeftovers(dir string) (names []string, err error) {
	st, err := store.Open(dir)
	if err != nil {
		return nil, &Refused{err}
	}
	defer st.Close() //nolint:errcheck // nothing was written
	return endLeftoversOf(dir)
}

func endLeftoversOf(dir string) ([]string, error) {
	work, err := filepath.Abs(filepath.Join(dir, store.WorkDir))
	if err != nil {
		return nil, err
	}
	return endLeftovers(work)
}

// untouched reports a level that another program has changed since a session was killed:
// what is neither a level of ours nor the original was put there by another who has
// a reason for it, and to go on would overwrite it. A level that a boot or a person
// was asked for is judged where it has to be in force.
func (ls *levels) untouched(ctx context.Context, dir string) error {
	for _, l := range ls.levers {
		if !l.changed || l.Read == nil || l.Kind != experiment.KindCommands || ls.asked(l) {
			continue
		}
		v, err := ls.read(ctx, l)
		if err != nil || v == "" { // reported, with what to do, where the level is set
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		if v != l.original && !slices.Contains(l.Levels, v) {
			return fmt.Errorf(
				"%s, so nothing was done; set it to %q or to a level of the study and resume, or put the original back "+
					"with: hostlab run --restore --yes --out %s",
				ls.foreign(l, v), l.original, screen.Operand(dir))
		}
	}
	return nil
}

// foreign says that a factor is not as we left it.
func (ls *levels) foreign(l *lever, current string) string {
	return fmt.Sprintf(
		"factor %s reads %q, which is neither a level of the study nor the original %q: another program changed it",
		l.Name, current, l.original)
}

// stopPatience is how long a session may take to put everything back when it is asked to end.
const stopPatience = 2 * time.Minute

// Stop asks the session that runs in a record's directory to end, and waits until it has put everything
// back. asking is called with its process before. It does nothing where none runs.
func Stop(ctx context.Context, dir string, asking func(pid int)) error {
	asked := false
	for began := time.Now(); ; {
		st, err := store.Open(dir)
		if err == nil {
			return st.Close()
		}
		busy, ok := errors.AsType[*lockfile.Busy](err)
		switch {
		case !ok || busy.PID == 0:
			return err
		case !asked && !lockfile.Opened(busy.PID, filepath.Join(dir, store.LockFile)):
			return fmt.Errorf("%w; process %d does not hold it, so nothing was stopped", err, busy.PID)
		case !asked:
			asked = true
			asking(busy.PID)
			p, err := os.FindProcess(busy.PID)
			if err == nil {
				err = p.Signal(syscall.SIGTERM)
			}
			if err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("process %d cannot be asked to end: %w", busy.PID, err)
			}
		case time.Since(began) > stopPatience:
			return fmt.Errorf("process %d did not end within %s; end it with kill -9, and its guard puts the baseline back",
				busy.PID, screen.Brief(stopPatience))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
