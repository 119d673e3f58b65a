package scanlock

import "time"

// loopName is what the threads of a cell are called in the system's lists, by which the
// parent tells them from those of the worker that answer it.
const loopName = "scanlock-loop"

// A worker that does not answer is hung, unless its answering threads wait for a CPU
// that others have: then it is left time.
const (
	steps    = 6                      // looks at a silent worker within patience
	starving = 20 * time.Second       // that a worker may wait for a CPU before it is given up
	enough   = 300 * time.Millisecond // of CPU time, in which a healthy worker answers whatever it is asked
)

// use is what one thread of the worker has had since it started.
type use struct {
	ran    time.Duration // on a CPU
	waited time.Duration // ready while others had the CPU, without the wait that lasts
	ready  bool          // on a CPU or waiting for one, at this moment
}

// hunger watches whether the threads that answer wait for a CPU.
type hunger struct {
	read  func() map[int]use // by thread; nil where the system does not tell
	first map[int]use        // at the question
	last  map[int]use
	at    time.Time // of last
	sated bool      // they had enough CPU since the question: an answer does not fail for want of it
}

func newHunger(read func() map[int]use) *hunger {
	now := read()
	return &hunger{read: read, first: now, last: now, at: time.Now()}
}

// grew looks again and reports whether the threads spent at least half of the time
// since the last look waiting for a CPU, without having had enough of it since the
// question. A thread that waits all the time has neither run nor, as the kernel counts
// a wait when it ends, waited.
func (h *hunger) grew() bool {
	now, at := h.read(), time.Now()
	var ran, waited time.Duration
	for id, u := range now {
		ran += u.ran - h.first[id].ran // of a new thread, all
		before, known := h.last[id]
		switch {
		case known && u.ready && before.ready && u.ran == before.ran && u.waited == before.waited:
			waited += at.Sub(h.at)
		default:
			waited += u.waited - before.waited
		}
	}
	h.sated = h.sated || ran >= enough
	yes := !h.sated && waited >= at.Sub(h.at)/2
	h.last, h.at = now, at
	return yes
}

// silence is how a wait for an answer ended.
type silence int

const (
	answered silence = iota
	hung
	starved
)

// within waits for an answer in short steps, each of which begins after the one
// before: of a pause that stopped this process too, such as one of the whole guest,
// only one of them is lost. Steps in which the other side waited for a CPU do not
// count against patience, but there is an end to them.
func within[T any](answer <-chan T, h *hunger) (v T, how silence) {
	begin, silent := time.Now(), 0
	for step := 1; ; step++ {
		select {
		case v = <-answer:
			return v, answered
		case <-time.After(patience / steps):
		}
		hungry := h.grew()
		switch {
		case h.sated:
			silent = step
		case !hungry:
			silent++
		}
		if silent < steps && time.Since(begin) < starving {
			continue
		}
		select {
		case v = <-answer:
			return v, answered
		default:
		}
		if hungry {
			return v, starved
		}
		return v, hung
	}
}
