package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hostlab/internal/neighbours"
	"hostlab/internal/workload/hot"
	"hostlab/internal/workload/thread"
	"hostlab/internal/workload/worker"
)

const wakeupJob = "wakeup"

// The kernels of the wake-up probe: what a slice consists of.
const (
	kernelALU   = "alu"   // dependent additions in registers: sees the clock only
	kernelMixed = "mixed" // dependent loads over a working set of about L2, and additions: sees cold caches too
)

// wakeRequest asks for steps, one after the other, on a thread pinned to CPU.
type wakeRequest struct {
	CPU        int
	WorkingSet int // bytes that the mixed kernel walks over
	Steps      []wakeStep
}

// wakeStep is one step: sleep for Sleep seconds, or run Kernel for Spin seconds,
// or run N operations of it (additions, or steps of hot.Mixed). A spin reads the
// clock alone for its last part, to be on time.
type wakeStep struct {
	Kernel string  `json:",omitempty"`
	Sleep  float64 `json:",omitempty"`
	Spin   float64 `json:",omitempty"`
	N      uint64  `json:",omitempty"`
}

// wakeReply has one sample a step, or Gone where the CPU could not be used.
type wakeReply struct {
	Gone    string `json:",omitempty"`
	Samples []wakeSample
}

// wakeSample is how long a step took, in seconds.
type wakeSample struct {
	N      uint64 // operations done
	Wall   float64
	CPU    float64 // time on the CPU, where HasCPU
	HasCPU bool

	Late    float64 // how much later than asked for a sleep or a spin ended, where HasLate
	HasLate bool

	// Foreign is how long others had the CPU from a sleep's begin to the end of the
	// step after it, beside what that step was kept waiting; where HasForeign. It is
	// counted in clock ticks and may come out below 0.
	Foreign    float64
	HasForeign bool
}

// seconds is the time that the work took: that on the CPU where it is known, so
// that a pre-emption is not mistaken for a slow processor.
func (s wakeSample) seconds() float64 {
	if s.HasCPU {
		return s.CPU
	}
	return s.Wall
}

// idle reports whether the CPU was idle in a sleep of so many seconds, as far as
// is known. A sleep of 100 ms is ten clock ticks long: one of them may be chance.
func (s wakeSample) idle(sleep float64) bool {
	return !s.HasForeign || s.Foreign-neighbours.Tick <= disturbedShare*sleep
}

// disturbed reports whether the thread was off its CPU for more than it may be.
func (s wakeSample) disturbed() bool {
	return s.HasCPU && s.Wall-s.CPU > disturbedShare*s.Wall
}

// wakeWorker is the state of a worker process between requests.
type wakeWorker struct {
	clock tickClock
	rings map[int]*wakeRing // by CPU, written by a thread on it: its NUMA node, its caches
}

type wakeRing struct {
	buf []uint64
	at  uint64
}

func newWakeWorker() worker.Func {
	w := &wakeWorker{clock: startClock(), rings: map[int]*wakeRing{}}
	return worker.Handle(func(req wakeRequest) (wakeReply, error) {
		if req.WorkingSet < hot.LineSize || req.WorkingSet > 1<<30 {
			return wakeReply{}, fmt.Errorf("a working set of %d bytes", req.WorkingSet)
		}
		var reply wakeReply
		err := <-thread.On(req.CPU, func() (err error) {
			reply.Samples, err = w.steps(req)
			if err == nil && !thread.Pinned(req.CPU) {
				return fmt.Errorf("CPU %d went offline: %w", req.CPU, thread.ErrNoCPU)
			}
			return err
		})
		if errors.Is(err, thread.ErrNoCPU) {
			return wakeReply{Gone: err.Error()}, nil
		}
		return reply, err
	})
}

func (w *wakeWorker) steps(req wakeRequest) ([]wakeSample, error) {
	ring := w.rings[req.CPU]
	if ring == nil {
		ring = &wakeRing{buf: hot.Buffer(req.WorkingSet)}
		hot.Ring(ring.buf, rand.New(rand.NewPCG(1, uint64(req.CPU))).IntN)
		w.rings[req.CPU] = ring
	}
	ticks := make([]uint64, len(req.Steps))
	out := make([]wakeSample, len(req.Steps))
	pause := -1 // the sleep whose end is awaited
	var before neighbours.Load
	var known bool
	for i, step := range req.Steps {
		s := &out[i]
		if step.Sleep > 0 {
			pause = i
			before, known = neighbours.Of(req.CPU)
			late, ok := thread.Sleep(time.Duration(step.Sleep * float64(time.Second)))
			s.Late, s.HasLate = late.Seconds(), ok
			continue
		}
		run, chunk := hot.Adds, uint64(1<<17)
		switch step.Kernel {
		case kernelALU:
		case kernelMixed:
			run, chunk = ring.walk, 1<<12
		default:
			return nil, fmt.Errorf("unknown kernel %q", step.Kernel)
		}
		from, hasCPU := thread.CPUTime()
		begin, start := time.Now(), hot.Ticks()
		if step.Spin > 0 {
			for time.Since(begin).Seconds() < step.Spin-spinTail {
				s.N += run(chunk)
			}
			ticks[i] = hot.Ticks() - start
		} else {
			s.N = run(max(step.N, 1))
			ticks[i] = hot.Ticks() - start
		}
		to, _ := thread.CPUTime()
		s.CPU, s.HasCPU = (to - from).Seconds(), hasCPU
		if step.Spin > 0 {
			s.Late, s.HasLate = spinUntil(begin.Add(time.Duration(step.Spin*float64(time.Second)))).Seconds(), true
		}
		if pause == i-1 && i > 0 && known {
			// Read only now: reading it earlier would wake the CPU before the slice.
			after, ok := neighbours.Of(req.CPU)
			sleep := &out[pause]
			sleep.Foreign, sleep.HasForeign = after.Busy+after.Steal-before.Busy-before.Steal, ok
		}
	}
	rate := w.clock.rate()
	for i := range out {
		out[i].Wall = float64(ticks[i]) / rate
		if i > 0 && out[i-1].HasForeign {
			// The slice was on the CPU, or waited for it and then counts as disturbed.
			out[i-1].Foreign -= out[i].Wall
		}
	}
	return out, nil
}

// spinTail is the part of a spin that only reads the clock, in seconds: longer
// than a chunk of any kernel.
const spinTail = 0.001

// spinUntil reads the clock until it is due, and returns how late that was seen.
func spinUntil(due time.Time) time.Duration {
	for {
		if late := time.Since(due); late >= 0 {
			return late
		}
	}
}

func (r *wakeRing) walk(n uint64) uint64 {
	r.at = hot.Mixed(&r.buf[0], r.at, n)
	return n
}

// tickClock turns ticks of the time stamp counter into seconds. It compares the
// two over the whole life of the process, since Windows' clock moves in steps of
// half a millisecond and more.
type tickClock struct {
	ticks uint64
	at    time.Time
}

func startClock() tickClock { return tickClock{hot.Ticks(), time.Now()} }

// rate returns ticks per second; call it some 100 ms after startClock at the earliest.
func (c tickClock) rate() float64 {
	return float64(hot.Ticks()-c.ticks) / time.Since(c.at).Seconds()
}
