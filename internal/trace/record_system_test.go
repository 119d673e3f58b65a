//go:build linux && system

package trace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// until tries again where the machine was too busy for what a try wants to see. Problems are by what
// was to be seen: each must be absent once.
func until(t *testing.T, try func() (problems map[string]string)) {
	t.Helper()
	var left map[string]string
	for range 8 {
		problems := try()
		if left == nil {
			left = problems
		}
		for what := range left {
			if left[what] = problems[what]; left[what] == "" {
				delete(left, what)
			}
		}
		if len(left) == 0 {
			return
		}
		t.Log(left)
	}
	t.Error(left)
}

// What a process burns and waits is what the kernel's own count says, and its bursts are as long as
// it made them.
func TestRunTimeAndBursts(t *testing.T) {
	testkit.Root(t)
	until(t, func() map[string]string {
		p := play(t, "burn", "TRACE_ROUNDS=60")
		var run0, queue0, run1, queue1 float64
		windows := 0
		r := testkit.Must(Record(context.Background(), Config{Target: p.target(), For: 6 * time.Second, Budget: always,
			Progress: func(time.Duration) {
				if windows++; windows == 1 {
					run0, queue0 = p.schedstat(t)
					_, _ = p.in.Write([]byte("\n"))
				}
			}}))(t)
		run1, queue1 = p.schedstat(t)
		run, queue := r.Run.Value*r.Seen, r.Queue.Value*r.Seen
		t.Logf("ran %.4f s, the kernel counts %.4f; waited %.4f s, the kernel %.4f; seen %.3f; %d switches unseen; %+v",
			run, run1-run0, queue, queue1-queue0, r.SeenShare(), r.Unseen, r.Cost)
		bad := map[string]string{}
		testkit.Is(t, r.Windows, len(r.Series), "windows and", "in the series")
		if r.SeenShare() < 0.98 {
			bad["seen"] = fmt.Sprintf("only %.2f of the time was seen", r.SeenShare())
		}
		if unseen := 1 - r.SeenShare(); math.Abs(run/(run1-run0)-1) > 0.02+unseen {
			bad["run"] = fmt.Sprintf("ran %.4f s, and the kernel counts %.4f", run, run1-run0)
		}
		if math.Abs(queue-(queue1-queue0)) > 0.05*(queue1-queue0)+0.02 {
			bad["queue"] = fmt.Sprintf("waited %.4f s, and the kernel counts %.4f", queue, queue1-queue0)
		}
		var mine []float64
		for _, b := range r.Bursts {
			if b.Service > 0.9 && b.Busy > 0.015 {
				mine = append(mine, b.Busy)
			}
		}
		// Where other tasks keep the CPUs busy, no burst is the service's alone.
		if m := stats.Median(mine); r.Busy.Value < 0.6*float64(len(r.CPUs)) && (len(mine) < 5 || math.Abs(m/0.020-1) > 0.05) {
			bad["bursts"] = fmt.Sprintf("%d of 60 bursts of 20 ms are the service's alone, and last %.4f s", len(mine), m)
		}
		return bad
	})
}

// Where programs are attached in windows alone, what they count is the same.
func TestDetachedBetweenWindows(t *testing.T) {
	testkit.Root(t)
	until(t, func() map[string]string {
		p := play(t, "burn", "TRACE_ROUNDS=1000")
		_, _ = p.in.Write([]byte("\n"))
		run0, queue0 := p.schedstat(t)
		began := time.Now()
		r := testkit.Must(Record(context.Background(), Config{Target: p.target(), For: 6 * time.Second, Budget: always, detach: true}))(t)
		run1, queue1 := p.schedstat(t)
		took := time.Since(began).Seconds()
		run, queue := (run1-run0)/took, (queue1-queue0)/took
		t.Logf("runs for %.4f s a second, the kernel counts %.4f; waits %.4f s, the kernel %.4f; seen %.3f in %d windows; %d switches unseen; busy %.3f", r.Run.Value, run, r.Queue.Value, queue, r.SeenShare(), r.Windows, r.Unseen, r.Busy.Value)
		bad := map[string]string{}
		if math.Abs(r.Run.Value/run-1) > 0.1 {
			bad["run"] = fmt.Sprintf("runs for %.4f s, and the kernel counts %.4f", r.Run.Value, run)
		}
		if math.Abs(r.Queue.Value-queue) > 0.1*queue+0.02 {
			bad["queue"] = fmt.Sprintf("waits for %.4f s, and the kernel counts %.4f", r.Queue.Value, queue)
		}
		return bad
	})
}

// Programs that stay loaded know nothing of the recording before: one of a process that sleeps, between two of one that
// computes, which runs for no longer in windows than in all.
func TestProgramsAnew(t *testing.T) {
	testkit.Root(t)
	var programs Programs
	defer programs.Close()
	busy, idle := play(t, "burn", "TRACE_ROUNDS=1000"), play(t, "burn", "TRACE_ROUNDS=1000")
	_, _ = busy.in.Write([]byte("\n"))
	var loaded *session
	for i, p := range []*player{busy, idle, busy} {
		run0, _ := p.schedstat(t)
		r := testkit.Must(programs.Record(context.Background(), Config{Target: p.target(), For: 2 * time.Second, Budget: always,
			Chains: true}))(t)
		run1, _ := p.schedstat(t)
		run := r.Run.Value * r.Seen
		t.Logf("ran for %.4f s in windows, %.4f s in all; seen %.3f of %.3f s; busy %.3f", run, run1-run0, r.Seen, r.Length, r.Busy.Value)
		if run > 1.01*(run1-run0)+0.001 || p == busy && run <= 0 {
			t.Errorf("recording %d: it ran for %.4f s in windows, and for %.4f s in all", i, run, run1-run0)
		}
		if r.Seen > r.Length || r.Busy.Value > 1.01*float64(len(r.CPUs)) {
			t.Errorf("recording %d: %.3f of %.3f s were seen, in which %.3f of %d CPUs were busy", i, r.Seen, r.Length, r.Busy.Value,
				len(r.CPUs))
		}
		if loaded != nil && loaded != programs.s {
			t.Error("the programs were loaded anew")
		}
		loaded = programs.s
	}
}

// Latencies are a little shorter than the process itself can see: it reads its clock before it
// writes, and after it has returned from reading.
func TestLatencies(t *testing.T) {
	testkit.Root(t)
	until(t, func() map[string]string {
		p := play(t, "wake", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=4")
		windows := 0
		r := testkit.Must(Record(context.Background(), Config{Target: p.target(), For: 4 * time.Second, Budget: always,
			Progress: func(time.Duration) {
				if windows++; windows == 1 {
					_, _ = p.in.Write([]byte("\n"))
				}
			}}))(t)
		var own []float64
		for line, err := p.out.ReadString('\n'); line != "end\n"; line, err = p.out.ReadString('\n') {
			ns, bad := strconv.ParseFloat(strings.TrimSpace(line), 64)
			if err != nil || bad != nil {
				t.Fatal(err, bad)
			}
			own = append(own, ns/1e9)
		}
		all := Latency{}
		for _, l := range []*Latency{&r.OnIdle, &r.OnBusy} {
			all.N += l.N
			all.Sum += l.Sum
			for b := range l.hist {
				all.hist[b] += l.hist[b]
			}
		}
		t.Logf("own median %.1f us, seen %.1f us (%d on idle CPUs %.1f us, %d on busy ones %.1f us)",
			1e6*stats.Median(own), 1e6*all.Quantile(0.5),
			r.OnIdle.N, 1e6*r.OnIdle.Quantile(0.5), r.OnBusy.N, 1e6*r.OnBusy.Quantile(0.5))
		if float64(all.N) < 0.5*2*rounds {
			return map[string]string{"n": fmt.Sprintf("%d wake-ups of %d", all.N, 2*rounds)}
		}
		// A byte that was there before its reader looked woke nobody: those are the shortest.
		slices.Sort(own)
		own = own[max(0, len(own)-int(all.N)):]
		if more := stats.Median(own) - all.Quantile(0.5); more < -1e-6 || more > 20e-6 {
			return map[string]string{"median": fmt.Sprintf("that of its own is %.1f us longer", more*1e6)}
		}
		return nil
	})
}

// A service that ends keeps what was seen.
func TestServiceEnds(t *testing.T) {
	testkit.Root(t)
	p := play(t, "burn", "TRACE_ROUNDS=10")
	windows := 0
	r, err := Record(context.Background(), Config{Target: p.target(), For: 20 * time.Second,
		Progress: func(time.Duration) {
			switch windows++; windows {
			case 1:
				_, _ = p.in.Write([]byte("\n\n"))
				go func() { _ = p.Wait() }() // else it stays a zombie, which is no process of the service
			}
		}})
	if err != nil || r.Ended != "the service ended" || r.Run.Value <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Children of a process belong to it, those that were there and those that come.
func TestChildrenBelong(t *testing.T) {
	testkit.Root(t)
	sh := exec.Command("sh", "-c", `(while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.01; done) & wait`)
	sh.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	testkit.OK(t, sh.Start())
	t.Cleanup(func() { _ = unix.Kill(-sh.Process.Pid, unix.SIGKILL); _ = sh.Wait() })
	r, err := Record(context.Background(), Config{Target: Target{PIDs: []int{sh.Process.Pid}}, For: 2 * time.Second,
		Budget: always})
	if err != nil || r.Run.Value <= 0 || r.OnIdle.N+r.OnBusy.N < 20 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A cgroup is a service, with those below it.
func TestCgroup(t *testing.T) {
	testkit.Root(t)
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"} {
		if _, err := os.Stat(root + "/cgroup.procs"); err != nil {
			continue
		}
		t.Run(root, func(t *testing.T) {
			dir := fmt.Sprintf("%s/hostlab-test-%d", root, os.Getpid())
			testkit.OK(t, os.MkdirAll(dir+"/below", 0o755))
			p := play(t, "burn", "TRACE_ROUNDS=1000")
			t.Cleanup(func() {
				_ = p.Process.Kill()
				_, _ = p.Process.Wait()
				_ = os.Remove(dir + "/below")
				_ = os.Remove(dir)
			})
			testkit.OK(t, os.WriteFile(dir+"/below/cgroup.procs", []byte(strconv.Itoa(p.Process.Pid)), 0))
			_, _ = p.in.Write([]byte("\n"))
			r, err := Record(context.Background(), Config{Target: Target{Cgroups: []string{dir}}, For: 2 * time.Second,
				Budget: always})
			if err != nil || r.Run.Value < 0.01 || r.OnIdle.N+r.OnBusy.N < 10 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// attached are the programs of ours that the kernel has.
func attached(t *testing.T) (ids []ebpf.ProgramID) {
	t.Helper()
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return ids
		}
		testkit.OK(t, err)
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // it has just gone
		}
		if info, err := p.Info(); err == nil && info.Name == "on_waking" {
			ids = append(ids, id)
		}
		_ = p.Close()
	}
}

// Nothing stays in the kernel when the recorder is killed.
func TestKilledLeavesNothing(t *testing.T) {
	testkit.Root(t)
	service := play(t, "burn", "TRACE_ROUNDS=1000")
	before := attached(t)
	p := play(t, "record", fmt.Sprintf("TRACE_PID=%d", service.Process.Pid))
	var during []ebpf.ProgramID
	for range 100 {
		if during = attached(t); len(during) > len(before) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	during = slices.DeleteFunc(during, func(id ebpf.ProgramID) bool { return slices.Contains(before, id) })
	if len(during) == 0 {
		t.Fatal("it did not attach")
	}
	_ = p.Process.Kill()
	_, _ = p.Process.Wait()
	var left []ebpf.ProgramID
	for range 50 {
		left = slices.DeleteFunc(attached(t), func(id ebpf.ProgramID) bool { return !slices.Contains(during, id) })
		if len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("programs %v are left", left)
}

// The bursts of each CPU add up to the time that it was busy, also beside a thread that never sleeps, and where
// programs are attached in windows alone.
func TestBusyThreads(t *testing.T) {
	testkit.Root(t)
	for _, detach := range []bool{false, true} {
		until(t, func() map[string]string {
			var done atomic.Bool
			ended := make(chan struct{})
			go func() {
				runtime.LockOSThread()
				defer close(ended)
				for !done.Load() { //nolint:revive // it keeps a CPU busy
				}
			}()
			r, err := Record(context.Background(), Config{Target: Target{PIDs: []int{os.Getpid()}}, For: 4 * time.Second,
				Budget: always, detach: detach})
			done.Store(true)
			<-ended
			testkit.OK(t, err)
			bad := map[string]string{}
			for _, c := range r.CPUs {
				sum := 0.0
				for _, b := range r.of(c.Number) {
					sum += b.Busy
				}
				if busy := c.Busy * r.Seen; sum < 0.9*busy-0.1 {
					bad[fmt.Sprint("CPU ", c.Number)] = fmt.Sprintf("was busy for %.3f s, and its bursts last %.3f s (detached %v)",
						busy, sum, detach)
				}
			}
			return bad
		})
	}
}
