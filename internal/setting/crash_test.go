//go:build system

package setting

import (
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
