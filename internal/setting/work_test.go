package setting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// work is what a process does: it sets, an experiment sets other objects and puts back, it sets again, and
// at the end all is put back.
func work(sys *System) error {
	j, err := OpenJournal(sys, "/j")
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			panic(r) // the kernel unlocks
		}
		_ = j.Close()
	}()
	ctx := context.Background()
	set := func(owner string, want ...string) error {
		var list []Assignment
		for _, w := range want {
			name, v, _ := strings.Cut(w, "=")
			name, object, _ := strings.Cut(name, "@")
			list = append(list, Assignment{name, object, v})
		}
		p, err := NewPlan(sys, list)
		if err != nil {
			return err
		}
		_, err = Apply(ctx, sys, j, owner, p, false)
		return err
	}
	revert := func(owner string) error {
		out, err := Revert(ctx, sys, j, owner, ReachOurs)
		for _, o := range out {
			if o.Result == Failed || o.Result == Gone {
				err = errors.Join(err, fmt.Errorf("%s: %s: %s", o.Path, o.Result, o.Reason))
			}
		}
		return err
	}
	for _, f := range []func() error{
		func() error {
			return set("set", "governor=performance", "min_freq=1600000", "max_freq=2000000", "thp=never",
				"dirty_bytes=629145600", "platform_profile=performance")
		},
		func() error { return set("/exp", "io_scheduler=none", "swappiness=10", "smt=off") },
		func() error {
			return set("set", "governor=ondemand", "epp=balance_power", "max_freq=800000", "dirty_ratio=40")
		},
		func() error { return set("/exp", "io_scheduler=mq-deadline", "swappiness=1") },
		func() error { return revert("/exp") },
		func() error { return set("/exp", "swappiness=20") },
		func() error { return set("set", "governor@policy0=performance") },
		func() error { return revert("/exp") },
		func() error { return revert("set") },
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// putBack puts back what a process has left.
func putBack(sys *System) error {
	j, err := OpenJournal(sys, "/j")
	if err != nil {
		return err
	}
	if p := j.Problem(); p != nil {
		return p
	}
	out, err := Revert(context.Background(), sys, j, "", ReachOurs)
	for _, o := range out {
		if o.Result == Failed || o.Result == Gone {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", o.Path, o.Result, o.Reason))
		}
	}
	return errors.Join(err, j.Close())
}

// process runs f until it ends or is killed.
func (m *machine) process(at fate, f func(*System) error) (died bool, err error) {
	sys := m.system()
	m.fate = at
	defer func() {
		m.fate = fate{}
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			died = true
		}
	}()
	return false, f(sys)
}

func TestWorkPutsBack(t *testing.T) {
	m := newMachine(1)
	was := m.values()
	testkit.Must(m.process(fate{}, work))(t)
	testkit.Same(t, was, m.values())
	if len(m.writes) < 30 {
		t.Errorf("only %d writes: %q", len(m.writes), m.writes)
	}
	testkit.Is(t, 0, len(m.disk), "the journal is still there", m.disk)
	t.Logf("%d calls, %d writes", m.calls, len(m.writes))
}
