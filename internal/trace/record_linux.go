package trace

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
)

// Programs are those of the recorder, in the kernel. They stay loaded between recordings, attached to nothing: to load
// them takes as much as ten seconds with them. The zero value has loaded none.
type Programs struct{ s *session }

// Close lets go of them.
func (p *Programs) Close() {
	if p.s != nil {
		p.s.close()
		p.s = nil
	}
}

// Record watches a service for a while. Where the kernel cannot be asked, the error is an
// *Unavailable. A service that ends, or a context, ends it early: what was seen is kept.
func Record(ctx context.Context, cfg Config) (*Result, error) {
	var p Programs
	defer p.Close()
	return p.Record(ctx, cfg)
}

// Record is Record by programs that may be loaded.
func (p *Programs) Record(ctx context.Context, cfg Config) (r *Result, err error) {
	if len(cfg.Target.PIDs) == 0 && len(cfg.Target.Cgroups) == 0 {
		return nil, errors.New("no process and no cgroup is named")
	}
	cfg.Budget = cmp.Or(cfg.Budget, DefaultBudget)
	// The reader's own CPU time is that of its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer prefer()()
	tree := host.Tree{Root: cfg.Root}
	groups, err := p.load(tree, cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil || p.s.stop() != nil {
			p.Close()
		}
	}()
	if err := p.s.start(tree, cfg.Target, groups); err != nil {
		return nil, err
	}
	return newTally(p.s, tree, cfg).run(ctx)
}

// load loads what the target needs, and tells the numbers of its groups.
func (p *Programs) load(tree host.Tree, cfg Config) (groups []uint64, err error) {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); len(cfg.Target.PIDs) > 0 && (err != nil || ns.Ino != initialPIDs) {
		return nil, &Unavailable{"process numbers here are those of a container, and the kernel's are others; run hostlab on the host, or name a cgroup"}
	}
	groups, h, err := cgroupIDs(cfg.Target.Cgroups)
	if err != nil {
		return nil, err
	}
	if p.s != nil && !p.s.fits(tree, h, cfg.Chains) {
		p.Close()
	}
	if p.s == nil {
		s, err := open(tree, h, cfg.Chains)
		if err != nil {
			return nil, err
		}
		p.s = s
	}
	return groups, nil
}

// run opens one window after the other.
func (t *tally) run(ctx context.Context) (*Result, error) {
	deadline := t.began + uint64(t.cfg.For)
	for now := t.began; now < deadline && t.ended == ""; now = monotonic() {
		length, pause := t.budget.next()
		length = min(length, time.Duration(deadline-now))
		if err := t.s.reattach(); err != nil {
			return nil, err
		}
		t.know()
		if err := t.before(); err != nil {
			return nil, err
		}
		if err := t.window(length); err != nil {
			return nil, err
		}
		if err := t.between(); err != nil {
			return nil, err
		}
		if t.budget.detached() {
			if err := t.leave(); err != nil {
				return nil, err
			}
		}
		_ = proc.Sleep(ctx, min(pause, time.Duration(deadline-min(monotonic(), deadline))))
		if err := t.after(length); err != nil {
			return nil, err
		}
		switch {
		case ctx.Err() != nil:
			t.ended = "interrupted"
		case t.s.deserted(t.cfg.Target):
			t.ended = "the service ended"
		}
		if t.cfg.Progress != nil {
			t.cfg.Progress(time.Duration(monotonic() - t.began))
		}
	}
	return t.finish()
}

// window watches for so long. An interruption waits for its end, a third of a second: it counts as
// the time that it was opened for.
func (t *tally) window(length time.Duration) error {
	if err := t.s.begin(length); err != nil {
		return err
	}
	rest(length)
	return t.s.end()
}

// rest sleeps until a window is over on this thread: a timer of Go's would have to wake another one first, which takes
// its turn for a CPU. A pause may end late, and there a timer is cheaper: while a thread sleeps in the kernel, Go's
// monitor looks after it some fifty times.
func rest(d time.Duration) {
	for end := monotonic() + uint64(max(d, 0)); ; {
		left := end - min(monotonic(), end)
		if left == 0 {
			return
		}
		t := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&t, nil) // a signal ends it early
	}
}

// prefer lets this thread run soon where CPUs are in demand, so that windows follow each other, and returns
// what undoes it. It works for some microseconds a window.
func prefer() (undo func()) {
	tid := unix.Gettid()
	before, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, tid, -15) != nil {
		return func() {} // it may not, and windows come later
	}
	// The system call returns 20 - nice (getpriority(2)).
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, tid, 20-before) }
}

func threadCPU() uint64 {
	used, _ := thread.CPUTime() // it cannot fail
	return uint64(used)         //nolint:gosec // it is not negative
}
