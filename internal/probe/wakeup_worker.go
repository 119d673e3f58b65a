package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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
// or run N operations of it (additions, or steps of hot.Mixed).
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
}

// seconds is the time that the work took: that on the CPU where it is known, so
// that a pre-emption is not mistaken for a slow processor.
func (s wakeSample) seconds() float64 {
	if s.HasCPU {
		return s.CPU
	}
	return s.Wall
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
	for i, step := range req.Steps {
		if step.Sleep > 0 {
			thread.Sleep(time.Duration(step.Sleep * float64(time.Second)))
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
		s := &out[i]
		from, hasCPU := thread.CPUTime()
		start := hot.Ticks()
		if step.Spin > 0 {
			for begin := time.Now(); time.Since(begin).Seconds() < step.Spin; {
				s.N += run(chunk)
			}
		} else {
			s.N = run(max(step.N, 1))
		}
		ticks[i] = hot.Ticks() - start
		to, _ := thread.CPUTime()
		s.CPU, s.HasCPU = (to - from).Seconds(), hasCPU
	}
	rate := w.clock.rate()
	for i := range out {
		out[i].Wall = float64(ticks[i]) / rate
	}
	return out, nil
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
