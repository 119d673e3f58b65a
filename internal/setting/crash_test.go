package setting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// work is what a process does: it sets, an experiment sets over it and puts back, and
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
		out, err := Revert(ctx, sys, j, owner, false)
		for _, o := range out {
			if o.Result == Failed || o.Result == Gone {
				err = errors.Join(err, fmt.Errorf("%s: %s: %s", o.Object.Path, o.Result, o.Reason))
			}
		}
		return err
	}
	for _, f := range []func() error{
		func() error {
			return set("set", "governor=performance", "min_freq=1600000", "max_freq=2000000", "thp=never", "dirty_bytes=629145600", "platform_profile=performance")
		},
		func() error {
			return set("/exp", "governor=ondemand", "epp=balance_power", "max_freq=800000", "io_scheduler=none", "swappiness=10", "smt=off", "dirty_ratio=40")
		},
		func() error { return set("/exp", "governor@policy0=performance", "swappiness=1") },
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
	out, err := Revert(context.Background(), sys, j, "", false)
	for _, o := range out {
		if o.Result == Failed || o.Result == Gone {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", o.Object.Path, o.Result, o.Reason))
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
	if _, err := m.process(fate{}, work); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, m.values()); diff != "" {
		t.Error(diff)
	}
	if len(m.writes) < 30 {
		t.Errorf("only %d writes: %q", len(m.writes), m.writes)
	}
	if len(m.disk) != 0 {
		t.Errorf("the journal is still there: %v", m.disk)
	}
	t.Logf("%d calls, %d writes", m.calls, len(m.writes))
}

// Every call of the process is its last one, once before and once after it took effect, by
// a kill and by a power cut; the process that puts back is killed as well.
func TestKillAtEveryCall(t *testing.T) {
	t.Parallel()
	m := newMachine(1)
	if _, err := m.process(fate{}, work); err != nil {
		t.Fatal(err)
	}
	calls := m.calls
	kills, cuts, again := 0, 0, 0
	for call := 1; call <= calls; call++ {
		for variant := range 4 {
			at := fate{call: call, after: variant&1 != 0, cut: variant&2 != 0}
			m := newMachine(uint64(call*4 + variant))
			was := m.values()
			died, err := m.process(at, work)
			if !died {
				t.Fatalf("%+v: it lived: %v", at, err)
			}
			if at.cut {
				cuts++
				was = m.reboot().values("balanced")
			} else {
				kills++
			}
			died, err = m.process(fate{call: 1 + m.rand.IntN(120), after: variant&1 != 0}, putBack)
			if died {
				again++
			} else if err != nil {
				t.Fatalf("%+v: %v", at, err)
			}
			if _, err := m.process(fate{}, putBack); err != nil {
				t.Fatalf("%+v: %v", at, err)
			}
			if diff := cmp.Diff(was, m.values()); diff != "" {
				t.Fatalf("%+v: left changed:\n%s", at, diff)
			}
			if _, open := m.disk["/j/"+journalFile]; open {
				t.Fatalf("%+v: the journal is still there", at)
			}
		}
	}
	t.Logf("%d kills, %d power cuts, %d kills while putting back, at each of %d calls: 0 objects left changed", kills, cuts, again, calls)
}

func (m *kernel) values(profile string) map[string]string {
	w := &machine{kernel: m}
	m.files["/sys/firmware/acpi/platform_profile"] = profile
	return w.values()
}

// Every call fails once, with one errno or another; what the process cannot put back itself, the next does.
func TestErrorAtEveryCall(t *testing.T) {
	t.Parallel()
	m := newMachine(1)
	if _, err := m.process(fate{}, work); err != nil {
		t.Fatal(err)
	}
	calls, failed, left := m.calls, 0, 0
	errnos := []error{syscall.EIO, syscall.ENOSPC, syscall.EPERM, syscall.EBUSY, syscall.EACCES, syscall.EINVAL, syscall.EROFS}
	for call := 1; call <= calls; call++ {
		errno := errnos[call%len(errnos)]
		m := newMachine(uint64(call))
		was := m.values()
		if _, err := m.process(fate{call: call, err: errno}, work); err != nil {
			failed++
		}
		if cmp.Diff(was, m.values()) != "" {
			left++
		}
		if _, err := m.process(fate{}, putBack); err != nil {
			t.Fatalf("call %d, %v: %v", call, errno, err)
		}
		if diff := cmp.Diff(was, m.values()); diff != "" {
			t.Fatalf("call %d, %v: left changed:\n%s", call, errno, diff)
		}
	}
	t.Logf("an error at each of %d calls: %d processes failed, %d of them left changes to the next: 0 left after it", calls, failed, left)
}

// Somebody else changes an object at any moment: before, between and after our writes, and
// while a killed process waits to be put back. That value is never overwritten, but for one
// that falls between the last look at the object, the write to it, and reading it back.
func TestForeignAtEveryCall(t *testing.T) {
	t.Parallel()
	m := newMachine(1)
	if _, err := m.process(fate{}, work); err != nil {
		t.Fatal(err)
	}
	calls, kept, raced, killedToo := m.calls, 0, 0, 0
	others := []struct{ path, value string }{
		{policyDir(0) + "scaling_governor", "schedutil"},
		{policyDir(2) + "scaling_governor", "schedutil"},
		{"/sys/kernel/mm/transparent_hugepage/enabled", "always"},
		{"/proc/sys/vm/swappiness", "77"},
		{"/sys/firmware/acpi/platform_profile", "low-power"},
	}
	for call := 1; call <= calls; call += 2 {
		other := others[call/2%len(others)]
		for _, at := range []fate{{}, {call: call + 1}, {call: call + 1 + call%7, after: true}} {
			m := newMachine(uint64(call))
			was := m.values()
			changed, race, last := false, false, ""
			m.before = func(op, path string) {
				if m.calls == call && !changed {
					// Just before our write, or between it and reading it back: what is
					// read then is taken for what the kernel has made of our value.
					changed, race = true, op+path == "write"+other.path || last == "write"+other.path
					if err := m.store(other.path, other.value); err != nil {
						t.Fatal(err)
					}
				}
				last = op + path
			}
			died, _ := m.process(at, work)
			m.before = nil
			if !changed {
				t.Fatal("nobody changed anything")
			}
			if died {
				killedToo++
			}
			// What is foreign stays in the journal and is reported, again and again.
			for range 2 {
				if _, err := m.process(fate{}, putBack); err != nil {
					t.Fatalf("call %d, %+v: %v", call, at, err)
				}
			}
			now := m.values()
			if race {
				raced++
				continue
			}
			kept++
			was[other.path] = other.value
			if strings.Contains(other.path, "hugepage") {
				was[other.path] = "[always] madvise never"
				was[minFree], now[minFree] = "", "" // their write has raised it, and so may it be or not
			}
			if diff := cmp.Diff(was, now); diff != "" {
				t.Fatalf("call %d, %+v, %v:\n%s", call, at, other, diff)
			}
		}
	}
	t.Logf("%d foreign changes, %d of them with a kill: all kept, nothing else left changed; %d more fell between look, write and look", kept, killedToo, raced)
}
