package probe

import (
	"fmt"
	"math/rand/v2"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

// burstJob is the name of the worker that answers a burstRequest with a burstReply.
const burstJob = "burst"

// The kernels: what a slice consists of.
const (
	kernelALU   = "alu"   // dependent additions in registers: sees the clock only
	kernelMixed = "mixed" // dependent loads over a working set, and additions: sees cold caches too
)

// burstRequest asks for steps, one after the other, on a thread pinned to CPU.
type burstRequest struct {
	CPU        int
	WorkingSet int         // bytes that the mixed kernel walks over
	Seed       uint64      // of the order in which it does
	Steps      []burstStep // none: make the working set ready, and begin at its start
}

// burstStep is one step: sleep for Sleep seconds, or run Kernel for Spin seconds,
// or run N operations of it (additions, or steps of hot.Mixed). A spin reads the
// clock alone for its last part, to be on time.
type burstStep struct {
	Kernel string  `json:",omitempty"`
	Sleep  float64 `json:",omitempty"`
	Spin   float64 `json:",omitempty"`
	N      uint64  `json:",omitempty"`
}

type burstReply struct {
	Samples []burstSample
	At      uint64 // where the walk over the working set arrived
}

// burstSample is how long a step took, in seconds.
type burstSample struct {
	N      uint64 // operations done
	Wall   float64
	CPU    float64 // time on the CPU, where HasCPU
	HasCPU bool

	Late    float64 // how much later than asked for a sleep or a spin ended, where HasLate
	HasLate bool
	Queued  float64 // of Late after a sleep, for how long another thread had the CPU; 0 where that is not known

	// Foreign is how long others had the CPU from a sleep's begin to the end of the
	// step after it, beside what that step was kept waiting; where HasForeign. It is
	// counted in clock ticks and may come out below 0.
	Foreign    float64
	HasForeign bool
}

// Seconds is the time that the work took: that on the CPU where it is known, so
// that a pre-emption is not mistaken for a slow processor.
func (s burstSample) Seconds() float64 {
	if s.HasCPU {
		return s.CPU
	}
	return s.Wall
}

// burstServer is the state of a worker process between requests.
type burstServer struct {
	clock hot.Clock
	rings map[int]*burstRing // by CPU, written by a thread on it: its NUMA node, its caches
}

type burstRing struct {
	buf  []uint64
	size int // asked for
	seed uint64
	at   uint64
}

func newBurstServer() worker.Func {
	w := &burstServer{clock: hot.StartClock(), rings: map[int]*burstRing{}}
	return worker.Handle(func(req burstRequest) (burstReply, error) {
		if req.WorkingSet < hot.LineSize || req.WorkingSet > 1<<30 {
			return burstReply{}, fmt.Errorf("a working set of %d bytes", req.WorkingSet)
		}
		var reply burstReply
		err := <-thread.On(req.CPU, func() (err error) {
			reply.Samples, reply.At, err = w.steps(req)
			if err == nil && !thread.Pinned(req.CPU) {
				return fmt.Errorf("CPU %d went offline: %w", req.CPU, thread.ErrNoCPU)
			}
			return err
		})
		return reply, err
	})
}

func (w *burstServer) steps(req burstRequest) (samples []burstSample, at uint64, err error) {
	around := w.rings[req.CPU]
	fresh := around == nil || around.size != req.WorkingSet
	if fresh {
		around = &burstRing{buf: hot.Buffer(req.WorkingSet), size: req.WorkingSet, seed: req.Seed}
		w.rings[req.CPU] = around
	}
	if fresh || around.seed != req.Seed {
		hot.Ring(around.buf, rand.New(rand.NewPCG(req.Seed, uint64(req.CPU))).IntN)
		around.seed, around.at = req.Seed, 0
	}
	if len(req.Steps) == 0 {
		around.at = 0
	}
	ticks := make([]uint64, len(req.Steps))
	out := make([]burstSample, len(req.Steps))
	pause := -1 // the sleep whose end is awaited
	var before proc.Load
	var waited thread.Usage
	var known bool
	for i, step := range req.Steps {
		s := &out[i]
		if step.Sleep > 0 {
			pause = i
			before, known = proc.LoadOf(req.CPU)
			waited = thread.Read()
			late, ok := thread.Sleep(time.Duration(step.Sleep * float64(time.Second)))
			s.Late, s.HasLate = late.Seconds(), ok
			continue
		}
		run, chunk := hot.Adds, uint64(1<<17)
		switch step.Kernel {
		case kernelALU:
		case kernelMixed:
			run, chunk = func(n uint64) uint64 {
				around.at = hot.Mixed(&around.buf[0], around.at, n)
				return n
			}, 1<<12
		default:
			return nil, 0, fmt.Errorf("unknown kernel %q", step.Kernel)
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
			sleep := &out[pause]
			if u := thread.Read().Sub(waited); u.HasWaited {
				sleep.Queued = u.Waited.Seconds()
			}
			after, ok := proc.LoadOf(req.CPU)
			sleep.Foreign, sleep.HasForeign = after.Busy+after.Steal-before.Busy-before.Steal, ok
		}
	}
	rate := w.clock.Rate()
	for i := range out {
		out[i].Wall = float64(ticks[i]) / rate
		if i > 0 && out[i-1].HasForeign {
			// The slice was on the CPU, or waited for it.
			out[i-1].Foreign -= out[i].Wall
			out[i-1].Queued = max(0, out[i-1].Queued-max(0, out[i].Wall-out[i].CPU))
		}
	}
	return out, around.at, nil
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
