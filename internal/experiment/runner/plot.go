package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// Waiting is the error of an experiment that goes on after a reboot or after a
// person has changed something. Text says what to do.
type Waiting struct{ Text string }

func (w *Waiting) Error() string { return w.Text }

// preparePlot sees to it that the factors of whole plots are at the plot's levels.
// Every plot needs a boot, or a person's work, of its own, also where the level is
// that of the plot before: what they disturb has to be the same for all.
func (s *session) preparePlot(ctx context.Context, block, plot int) error {
	var todo []string
	var settle time.Duration
	prepared := false
	want := s.x.Cells[s.x.Blocks[block].Plots[plot][0]].Levels
	for _, l := range s.levels.levers {
		if !l.Change.WholePlot() {
			continue
		}
		prepared = true
		settle = max(settle, l.Settle)
		prepare := s.prepareReboot
		if l.Kind == experiment.KindManual {
			prepare = s.prepareManual
		}
		wait, err := prepare(ctx, l, want[l.Name], block, plot)
		if err != nil {
			return err
		}
		if wait != "" {
			todo = append(todo, wait)
		}
	}
	if len(todo) > 0 {
		return &Waiting{strings.Join(todo, " ")}
	}
	if !prepared {
		return nil
	}
	return s.sleep(ctx, settle, "settling")
}

// prepareReboot applies a level that the next boot brings about, and returns what
// to do until it is in force.
func (s *session) prepareReboot(ctx context.Context, l *lever, level string, block, plot int) (string, error) {
	reboot := fmt.Sprintf("Factor %s was set to %s: reboot this host.", l.Name, level)
	pending := s.pending(l, level, block, plot)
	switch {
	case pending != nil && pending.Boot == s.boot && pending.Applied:
		return reboot, nil
	case pending != nil && pending.Boot == s.boot:
		// We were killed before the command had ended, perhaps before it was started.
	case pending != nil && !pending.Applied && l.Read == nil:
		return "", fmt.Errorf(
			"factor %s: the host went down before the command that sets it to %s had ended, and without a read "+
				"nobody knows whether it did; to set it again: hostlab run --resume --out %s (a command that reboots by itself needs a read)",
			l.Name, level, screen.Operand(s.cfg.Dir))
	case pending != nil, s.ranHere(block, plot):
		return "", s.inForce(ctx, l, level, "after the reboot")
	}
	// Journal first: a command that reboots the host by itself never returns.
	if err := s.wait(l, level, block, plot, false); err != nil {
		return "", err
	}
	if err := s.levels.apply(ctx, l, level); err != nil {
		return "", err
	}
	return reboot, s.wait(l, level, block, plot, true)
}

// prepareManual asks a person for a level, and returns what to do if there is
// nobody to ask.
func (s *session) prepareManual(ctx context.Context, l *lever, level string, block, plot int) (string, error) {
	prompt := fmt.Sprintf("Factor %s has to be %s now: %s", l.Name, level,
		strings.Join(s.levels.fill([]string{l.Manual}, l, level), ""))
	pending := s.pending(l, level, block, plot)
	if pending == nil {
		if err := s.wait(l, level, block, plot, false); err != nil {
			return "", err
		}
		if l.Read != nil && s.inForce(ctx, l, level, "") == nil {
			// Otherwise the prompt would ask for what is there already.
			prompt = fmt.Sprintf(
				"Factor %s is %s already, and stays so for the next runs. Each group of runs needs the change made "+
					"anew, so that what it disturbs is the same for all: %s",
				l.Name, level, strings.Join(s.levels.fill([]string{l.Manual}, l, level), ""))
		}
		if s.levels.confirm == nil {
			return prompt, nil
		}
	}
	// It was asked for before: a resume says that it was done, unless one can see, or
	// ask, that it was not.
	if pending != nil && l.Read != nil && s.inForce(ctx, l, level, "") == nil {
		return "", nil
	}
	if pending != nil && l.Change == result.Reboot && pending.Boot == s.boot { // nobody has booted since
		return prompt, nil
	}
	if s.levels.confirm != nil {
		s.progress(Progress{Stage: "waiting for you"})
		if s.levels.confirm(prompt) != nil { // not done yet: the experiment waits
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			return prompt, nil
		}
	}
	if err := s.inForce(ctx, l, level, "now"); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return prompt + " (" + err.Error() + ")", nil
	}
	return "", nil
}

// wait journals a level that waits for a boot or a person.
func (s *session) wait(l *lever, level string, block, plot int, applied bool) error {
	return s.store.Journal(store.Entry{Op: store.Pending, At: s.sys.now(), Boot: s.boot, Factor: l.Name, Value: level,
		Block: block, Plot: plot, Applied: applied})
}

// pending returns the journal's entry of a plot's level.
func (s *session) pending(l *lever, level string, block, plot int) *store.Entry {
	waiting := s.store.Record().Waiting()
	i := slices.IndexFunc(waiting, func(e store.Entry) bool {
		return e.Factor == l.Name && e.Value == level && e.Block == block && e.Plot == plot
	})
	if i < 0 {
		return nil
	}
	return &waiting[i]
}

// ranHere reports whether the plot has runs of this boot already.
func (s *session) ranHere(block, plot int) bool {
	return s.boot != "" && slices.ContainsFunc(s.store.Record().Runs, func(r result.Run) bool {
		return r.Block == block && r.Plot == plot && r.Boot == s.boot
	})
}

func (s *session) inForce(ctx context.Context, l *lever, level, when string) error {
	if l.Read == nil {
		return nil
	}
	v, err := s.levels.read(ctx, l)
	if err == nil && v != level {
		err = fmt.Errorf("factor %s reads %q %s and should be %q", l.Name, v, when, level)
	}
	return err
}
