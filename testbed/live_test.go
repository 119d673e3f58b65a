//go:build linux && amd64 && system

package testbed

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// powerCut is one that falls into a live experiment.
type powerCut struct {
	study string // as trial takes it
	plug  string // who pulls it
}

// liveCuts counts what the next boots have shown.
type liveCuts struct {
	mu                        sync.Mutex
	cuts, inForce, left, back int
	held                      []int // ms that the file had the level before a cut, at the longest
}

// TestLivePowerCut pulls the plug of guests in the middle of live experiments on PostgreSQL, while the level is in
// force, and boots again on the same disk: what was is there by itself, no run is lost that was shown to be recorded,
// and the experiment goes on to its end. Where the level was in the file of ALTER SYSTEM, the boot itself removes it:
// the guest runs what deploy/systemd/hostlab-restore.service runs, once the server answers.
func TestLivePowerCut(t *testing.T) {
	t.Parallel()
	rounds := 1
	if *full {
		rounds = 4
	}
	image := liveImage(t)
	var seen liveCuts
	t.Run("rounds", func(t *testing.T) { // returns when all have ended
		for i := range rounds {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				if *full {
					t.Parallel()
				}
				copied := filepath.Join(t.TempDir(), "live.img")
				said(t, exec.Command("cp", "--sparse=always", image, copied))
				kind := i % 2
				if !*full {
					kind = rand.IntN(2)
				}
				l := liveRound{image: copied, original: []string{"", "100"}[kind], budget: "60s", seen: &seen}
				kernel := []string{"thp", "read_ahead"}[kind]
				list := []powerCut{{"server", []string{"host", "file"}[rand.IntN(2)]}, {kernel, "host"}}
				if *full {
					l.budget = "10m" // all pairs
					list = []powerCut{{"server", "host"}, {"server", "host"}, {"server", "file"}, {kernel, "host"}, {kernel, "host"}}
				}
				l.play(t, list)
			})
		}
	})
	if seen.back != seen.cuts {
		t.Errorf("after %d of %d power cuts, the next boot had what was before, in force and in the file", seen.back, seen.cuts)
	}
	slices.Sort(seen.held)
	t.Logf("%d power cuts, %d of them with the level in force; after %d the file of ALTER SYSTEM had the level; after %d the boot put back what was",
		seen.cuts, seen.inForce, seen.left, seen.back)
	t.Logf("before a cut, it had the level for at most %v ms", seen.held)
}

// liveRound is a disk with its records, one of the server's parameter and one of a setting of the kernel.
type liveRound struct {
	image    string
	original string // of the parameter in the file of ALTER SYSTEM; "": none
	budget   string // of an experiment
	seen     *liveCuts
}

func (l *liveRound) experiment(study, plug string) string {
	return strings.Join([]string{study, l.budget, plug, l.original}, ":")
}

// play boots once for each cut and once more. An experiment goes on after its cuts to the end.
func (l *liveRound) play(t *testing.T, list []powerCut) {
	t.Helper()
	live := guest{environ: []string{"PROFILE=bare", "MODULES=ext4", "SMP=1",
		"DRIVES=file=" + l.image + ",format=raw,cache=writeback",
		"PRE=mkdir -p /disk /var/lib/hostlab; mount -t ext4 /dev/vda /disk; mount -o bind /disk/hostlab /var/lib/hostlab",
		"QEMU_EXTRA=-device isa-debug-exit,iobase=0xf4,iosize=1"}}
	var last *boot // that was cut
	for i := 0; i <= len(list); i++ {
		var args []string
		if i > 0 && (i == len(list) || list[i].study != list[i-1].study) {
			args = append(args, l.experiment(list[i-1].study, "none"))
		}
		if i < len(list) {
			args = append(args, l.experiment(list[i].study, list[i].plug))
		}
		b := live.start(t, nil, append([]string{"live"}, args...)...)
		switch {
		case i == len(list):
			b.wait(t)
		case list[i].plug == "host":
			b.untilLevel(t, list[i].study)
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			b.pull(t)
		default:
			b.ended(t)
		}
		for _, f := range b.lines(t, "FAIL") {
			t.Errorf("boot %d: %s", i, strings.Join(f, ": "))
		}
		if last != nil {
			l.seen.judge(t, last, b, list[i-1].plug)
		}
		if t.Failed() {
			t.FailNow()
		}
		last = b
	}
}

// untilLevel waits until the guest says that the level of an experiment has come into force.
func (b *boot) untilLevel(t *testing.T, experiment string) {
	t.Helper()
	for {
		before := "true" // a cut may have left it there
		for _, f := range b.lines(t, "at") {
			if f[0] != experiment {
				continue
			}
			if f[2] == "true" && before == "false" {
				return
			}
			before = f[2]
		}
		select {
		case err := <-b.done:
			b.done <- err
			t.Fatalf("it ended before the level was in force: %v %s %v", err, b.stderr.String(),
				append(b.lines(t, "FAIL"), b.lines(t, "note")...))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// judge compares what a guest has said before its plug was pulled with what the next boot has found.
func (s *liveCuts) judge(t *testing.T, cut, next *boot, plug string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts++
	found := next.lines(t, "left")
	if len(found) != 1 {
		t.Fatalf("the next boot says nothing: %v %s", next.lines(t, "note"), next.stderr.String())
	}
	experiment, left := found[0][0], found[0][1] == "level"
	shown, runs := 0, number(t, found[0][2])
	for _, f := range cut.lines(t, "shown") {
		if f[0] == experiment {
			shown = number(t, f[1])
		}
	}
	if len(cut.lines(t, "end")) > 0 && cut.lines(t, "end")[0][0] == experiment {
		t.Errorf("%s had ended before the plug was pulled", experiment)
	}
	if runs < shown {
		t.Errorf("%d runs of %s were shown to be recorded, and %d are", shown, experiment, runs)
	}
	at := slices.DeleteFunc(cut.lines(t, "at"), func(f []string) bool { return f[0] != experiment })
	end, seen := at[len(at)-1], -1 // when the file was last seen with the level
	since, held := -1, 0           // since when it was, for how long at most; a level that the cut before has left does not count
	for i, f := range at {
		if f[3] != "true" {
			since = -1
			continue
		}
		seen = number(t, f[1])
		if i > 0 && at[i-1][3] != "true" {
			since = seen
		}
		if since >= 0 {
			held = max(held, seen-since)
		}
	}
	if held > 0 {
		s.held = append(s.held, held)
	}
	inForce := end[2] == "true"
	if inForce {
		s.inForce++
	}
	if left {
		s.left++
		// hostlab writes back what was as soon as it can. The next file may need a moment to be on the disk.
		if ago := number(t, end[1]) - seen; seen < 0 || ago > 2000 {
			t.Errorf("the file has the level, and was last seen with it %d ms before the cut", ago)
		}
	}
	if len(next.lines(t, "back")) > 0 {
		s.back++
	}
	kernel := next.lines(t, "verified")
	if !strings.HasPrefix(experiment, "server") && inForce {
		if len(kernel) == 0 || len(next.lines(t, "had")) == 0 {
			t.Errorf("the level of %s was in force, and the journal of the settings names nothing", experiment)
		}
	}
	if len(next.lines(t, "original")) == 0 {
		t.Errorf("the record of %s does not name what was changed", experiment)
	}
	t.Logf("%s, cut by %s: in force %s, in the file %s, for %d ms at most; at the next boot the file has %s; %d runs shown, %d recorded; %v",
		experiment, plug, end[2], end[3], held, found[0][1], shown, runs, kernel)
	for _, f := range next.lines(t, "note") {
		t.Log(f)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	return testkit.Must(strconv.Atoi(text))(t)
}
