package proc

import (
	"context"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// Our own work is not others'.
func TestOthersLeaveOutOurselves(t *testing.T) {
	n := Watch([]int{0, 1})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	<-ctx.Done()
	ours := family() - n.own
	share, ok := n.Share()
	if !ok {
		t.Fatal("cannot tell on Linux")
	}
	// Whatever else runs here, what we used is not in it.
	if most := 1 - ours/(2*time.Since(n.began).Seconds()) + 0.1; share > most {
		t.Errorf("others took %.2f of two CPUs, of which we used %.2f s", share, ours)
	}
}

// A child that still runs is ours, and so is a process of a name that was given;
// one of another name is not.
func TestTakenKnowsWhatIsOurs(t *testing.T) {
	n := Watch(nil)
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testkit.OK(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	live := 0.0
	for end := testkit.End(t); live < 0.3; live = living(os.Getpid()) {
		if time.Now().After(end) { // a loaded machine gives it a fraction of a CPU
			t.Fatalf("the child that spins has used %.2f s, as far as we see", live)
		}
		time.Sleep(50 * time.Millisecond)
	}
	got, ok := n.Taken()
	if !ok {
		t.Fatal("cannot tell on Linux")
	}
	wall := time.Since(n.began).Seconds()
	cpus := float64(len(n.before))
	if most := 1 - live/(wall*cpus) + 0.1; got.Foreign > most {
		t.Errorf("others took %.2f of %g CPUs, of which our child used %.2f s", got.Foreign, cpus, live)
	}
}

func TestOursByName(t *testing.T) {
	// A process that is not our child: its parent is gone.
	out, err := exec.Command("sh", "-c", `cp "$(command -v sleep)" "$0/hl-database-server" && { "$0/hl-database-server" 30 >/dev/null 2>&1 & echo $!; }`, t.TempDir()).Output()
	if err != nil {
		t.Fatal(err)
	}
	pid := testkit.Must(strconv.Atoi(strings.TrimSpace(string(out))))(t)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	for end := testkit.End(t); ; time.Sleep(10 * time.Millisecond) {
		found := false
		for p := range readOurs([]string{"hl-database-server"}) {
			found = found || p.PID == pid
		}
		if found {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d was not found by its name", pid)
		}
	}
	testkit.Is(t, 0, len(readOurs([]string{"hl-other"})), "found", "under a name that nobody has")
}

func TestOursUntil(t *testing.T) {
	p := func(pid int) Identity { return Identity{pid, int64(100 + pid)} }
	used := func(parent int, own, reaped float64) Stat {
		return Stat{Parent: parent, CPU: time.Duration(own * 1e9), Reaped: time.Duration(reaped * 1e9)}
	}
	before := times{p(1): used(0, 5, 10), p(2): used(1, 3, 0), p(3): used(99, 7, 0)}
	for name, c := range map[string]struct {
		after times
		want  float64
	}{
		"nothing happened":                       {before, 0},
		"a process worked":                       {times{p(1): used(0, 6, 10), p(2): used(1, 3.5, 0), p(3): used(99, 7, 0)}, 1.5},
		"a child was reaped":                     {times{p(1): used(0, 5, 14), p(3): used(99, 7, 0)}, 1},
		"one ended whose parent is not ours":     {times{p(1): used(0, 5, 10), p(2): used(1, 3, 0)}, 0},
		"one began":                              {times{p(1): used(0, 5, 10), p(2): used(1, 3, 0), p(3): used(99, 7, 0), p(4): used(1, 2, 0)}, 2},
		"the number of one was given to another": {times{p(1): used(0, 5, 14), p(3): used(99, 7, 0), {2, 999}: used(1, 0.5, 0)}, 1.5},
	} {
		if got := before.until(c.after); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g s, want %g", name, got, c.want)
		}
	}
}
