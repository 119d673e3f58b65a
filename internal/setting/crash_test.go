//go:build system

package setting

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// Every call of the process is its last one, once before and once after it took effect, by
// a kill and by a power cut; the process that puts back is killed as well.
func TestKillAtEveryCall(t *testing.T) {
	t.Parallel()
	m := newMachine(1)
	testkit.Must(m.process(fate{}, work))(t)
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
	t.Logf("%d kills, %d power cuts, %d kills while putting back, at each of %d calls: 0 objects left changed", kills,
		cuts, again, calls)
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
	testkit.Must(m.process(fate{}, work))(t)
	calls, failed, left := m.calls, 0, 0
	errnos := []error{syscall.EIO, syscall.ENOSPC, syscall.EPERM, syscall.EBUSY, syscall.EACCES, syscall.EINVAL,
		syscall.EROFS}
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
	t.Logf("an error at each of %d calls: %d processes failed, %d of them left changes to the next: 0 left after it",
		calls, failed, left)
}

// Somebody else changes an object at any moment: before, between and after our writes, and
// while a killed process waits to be put back. That value is never overwritten, but for one
// that falls between the last look at the object, the write to it, and reading it back.
func TestForeignAtEveryCall(t *testing.T) {
	t.Parallel()
	m := newMachine(1)
	testkit.Must(m.process(fate{}, work))(t)
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
					testkit.OK(t, m.store(other.path, other.value))
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
	t.Logf("%d foreign changes, %d of them with a kill: all kept, nothing else left changed; %d more fell between look, "+
		"write and look", kept, killedToo, raced)
}

// A journal that is cut anywhere but between two of its sets is never taken for one of a host on which nothing
// is changed: each object is put back or named, or lines are known to be missing. What the whole sets before
// the cut have changed is put back always.
func TestCutAnywhere(t *testing.T) {
	swappiness, thp := Assignment{"swappiness", "", "10"}, Assignment{"thp", "", "always"} // which raises min_free_kbytes
	three := func(t *testing.T, m *machine) {
		leave(t, m, swappiness)
		leave(t, m, thp)
		leave(t, m, Assignment{"swappiness", "", "20"})
	}
	for name, history := range map[string]func(*testing.T, *machine){
		"one set":                          func(t *testing.T, m *machine) { leave(t, m, swappiness, thp) },
		"a set of each of three processes": three,
		"rewritten": func(t *testing.T, m *machine) {
			three(t, m)
			j := testkit.Must(OpenJournal(m.system(), "/j"))(t)
			testkit.OK(t, errors.Join(j.rewrite(), j.Close()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(1)
			history(t, m)
			whole := m.disk["/j/"+journalFile].data
			if text, err := troubled(m.system()); err != nil || text != "" {
				t.Fatal(text, err)
			}
			count := map[string]int{}
			for at := range whole {
				m := newMachine(1)
				was := m.values()
				history(t, m)
				m.disk["/j/"+journalFile].data = slices.Clone(whole[:at])
				sys := m.system()
				j := testkit.Must(OpenJournal(sys, "/j"))(t)
				if j.Problem() != nil {
					count["lines known to be missing"]++
					continue
				}
				said := trouble(&j.View) != ""
				if !said && !betweenSets(t, whole[:at]) {
					t.Fatalf("cut at %d: nothing says so", at)
				}
				kept := map[string]bool{}
				for _, e := range j.Entries() {
					kept[e.Object.Path] = true
				}
				out := testkit.Must(Revert(context.Background(), sys, j, "", ReachOurs))(t)
				for _, o := range out {
					if o.Result == Restored {
						continue
					}
					count["objects named"]++
					kept[o.Path] = false
					// A whole set may have ended before another changed it again.
					if o.Reason != incomplete && (said || o.Result != Foreign) {
						t.Errorf("cut at %d: %s: %s", at, o.Path, o.Reason)
					}
				}
				now := m.values()
				for path, v := range was {
					if keep, known := kept[path]; now[path] != v && (keep || !known && name == "one set") {
						t.Errorf("cut at %d: %s is %s, was %s", at, path, now[path], v)
					}
				}
				switch {
				case cmp.Equal(was, now):
					count["all put back"]++
				case !said:
					count["between two sets"]++
				case name == "one set" && len(out) == 0:
					t.Errorf("cut at %d: nothing is named", at)
				}
			}
			if one := name == "one set"; one && count["between two sets"] > 0 || one && count["all put back"] == 0 {
				t.Error(count)
			}
			t.Logf("cut at each of %d bytes: %v", len(whole), count)
		})
	}
}

// TestSpoiledAnywhere: wherever a byte of the journal is spoiled, that is seen, and all that its other lines
// name is put back by force.
func TestSpoiledAnywhere(t *testing.T) {
	m := newMachine(1)
	leave(t, m)
	whole := slices.Clone(leave(t, m, Assignment{"dirty_ratio", "", "15"}))
	for i, was := range whole {
		spoiled := slices.Clone(whole)
		spoiled[i] = 'X'
		m.disk["/j/"+journalFile].data = spoiled
		if text, err := troubled(m.system()); err != nil || was != 'X' && text == "" {
			t.Errorf("byte %d, %q: %v", i, was, err)
		}
	}
}
