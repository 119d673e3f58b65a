//go:build linux && amd64 && system

package testbed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// TestKills kills hostlab with SIGKILL inside a guest, and puts back.
func TestKills(t *testing.T) {
	t.Parallel()
	n := 2 // at a random moment, and at a system call
	if *full {
		n = 100
	}
	b := guests[0].run(t, nil, "kill", strconv.Itoa(n))
	rows := b.lines(t, "row")
	if len(rows) != 1 {
		t.Fatalf("no result: %v", rows)
	}
	t.Logf("%s rounds, %s killed, %s with somebody else's change: %s objects left changed or overwritten", rows[0][1], rows[0][2], rows[0][3], rows[0][4])
}

// TestPowerCuts ends guests in the middle of a set, at random moments and at system calls, and boots
// again on the same disk. What the kernel was seen to have must be in the journal, with its original.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	n := 2 // at a random moment, and at a system call
	if *full {
		n = 36
	}
	environ := cutDisk(t)
	open := 0
	for i := range n {
		exact := i%2 == 1
		args, how := []string{"cut"}, "at a random moment"
		boot1 := environ
		if exact {
			call := 1 + rand.IntN(400)
			args, how = append(args, strconv.Itoa(call)), fmt.Sprintf("at call %d", call)
			boot1 = append(environ[:2:2], "QEMU_EXTRA=-device isa-debug-exit,iobase=0xf4,iosize=1")
		}
		b := cutGuest.start(t, boot1, args...)
		b.until(t, "note")
		if exact {
			b.ended(t)
		} else {
			b.until(t, "saw") // the first write has been seen
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
			b.pull(t)
		}
		changed := b.changed(t)
		again := cutGuest.run(t, environ, "recover")
		had := map[string]string{}
		for _, f := range again.lines(t, "had") {
			had[f[0]] = f[1]
		}
		if notes := b.lines(t, "note"); len(had) == 0 && notes[len(notes)-1][0] == "revert" {
			changed = nil // all was put back after the last look
		}
		for path, was := range changed {
			if got, there := had[path]; !there || got != was {
				t.Errorf("cut %s: the kernel had another value in %s than %q, and the journal has %q, %v", how, path, was, got, there)
			}
		}
		if len(had) > 0 {
			open++
		}
		t.Logf("cut %s: %d values changed, %d objects in the journal of the next boot", how, len(changed), len(had))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d power cuts, %d of them with an open journal", n, open)
}

// cutGuest is one that a plug is pulled of.
var cutGuest = guest{environ: []string{"SSDT=core-cst", "MODULES=" + drivers + " ext4"}}

// cutDisk is an empty disk at /var/lib/hostlab, which outlives the guests of a test.
func cutDisk(t *testing.T) (environ []string) {
	t.Helper()
	disk := emptyDisk(t, t.TempDir())
	said(t, exec.Command("/sbin/mke2fs", "-q", "-F", "-t", "ext4", disk))
	return []string{"DRIVES=file=" + disk + ",format=raw,cache=writeback", "PRE=mkdir -p /var/lib/hostlab; mount -t ext4 /dev/vda /var/lib/hostlab"}
}

// TestRingPowerCuts pulls the plug while a ring is written: each line that was kept is there at the next boot, none is damaged, and the
// ring goes on.
func TestRingPowerCuts(t *testing.T) {
	t.Parallel()
	n := 1
	if *full {
		n = 10
	}
	for range n {
		environ := cutDisk(t)
		b := cutGuest.start(t, environ, "ring")
		b.until(t, "kept")
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
		b.pull(t)
		kept := b.lines(t, "kept")
		again := cutGuest.run(t, environ, "left")
		left := map[string]bool{}
		for _, f := range again.lines(t, "left") {
			left[f[0]] = true
		}
		const hours = 49 // that it keeps, of six lines each
		for _, f := range kept[max(0, len(kept)-6*(hours-1)):] {
			if !left[f[0]] {
				t.Errorf("line %s was kept, and is not there", f[0])
			}
		}
		damaged := again.lines(t, "damaged")
		if len(damaged) != 1 || damaged[0][0] != "0" {
			t.Errorf("damaged lines: %v", damaged)
		}
		t.Logf("%d lines were kept, %d are there", len(kept), len(left))
	}
}

// until waits for a line of a kind.
func (b *boot) until(t *testing.T, kind string) {
	t.Helper()
	for len(b.lines(t, kind)) == 0 {
		select {
		case err := <-b.done:
			b.done <- err
			t.Fatalf("it ended before the first %q: %v %s", kind, err, b.stderr.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ended waits until the guest has pulled its plug itself, or has set all before the call came: then we do.
func (b *boot) ended(t *testing.T) {
	t.Helper()
	for {
		select {
		case err := <-b.done:
			b.done <- err
			return
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("it did not end")
		}
	}
}

// pull ends QEMU as a power cut does.
func (b *boot) pull(t *testing.T) {
	t.Helper()
	text := testkit.Must(os.ReadFile(b.pidFile))(t)
	testkit.OK(t, syscall.Kill(number(t, strings.TrimSpace(string(text))), syscall.SIGKILL))
	b.ended(t)
}

// changed are the files that were last seen with another value than at first, and that one. Those whose
// last change may be one of putting back are seen with the first value, and are not among them.
func (b *boot) changed(t *testing.T) map[string]string {
	t.Helper()
	was, last := map[string]string{}, map[string]string{}
	for _, f := range b.lines(t, "was") {
		was[f[0]] = f[1]
	}
	for _, f := range b.lines(t, "saw") {
		last[f[0]] = f[1]
	}
	out := map[string]string{}
	for path, v := range last {
		if v != was[path] {
			out[path] = was[path]
		}
	}
	return out
}
