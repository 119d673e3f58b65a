package model

// Time is a moment or a length in nanoseconds. Sums of them are exact and do not depend on
// their order, an hour-long run resolves as finely at its end as at its start, and 292 years
// fit. Rounding the end of a slice errs by less than 1e-6 of the shortest that makes sense (1 ms).
type Time = int64

// Second is a second of Time.
const Second Time = 1e9

// Seconds converts to seconds.
func Seconds(t Time) float64 { return float64(t) / 1e9 }

// Nanoseconds converts seconds to Time, rounded to the nearest.
func Nanoseconds(s float64) Time { return Time(s*1e9 + 0.5) }

// Event is something that happens at a time. Kind is the caller's type of event;
// Slot says to whom it happens.
type Event struct {
	At   Time
	Slot int32
	Kind int32
}

func (e Event) before(f Event) bool { return e.At < f.At || e.At == f.At && e.Slot < f.Slot }

// Queue holds at most one event per slot, so its memory grows with the number of
// things that can have an event pending, never with the number of events. Moving
// an event replaces it in place: a change of frequency leaves no stale completion
// behind. Events live in one slice as a 4-ary heap (children share a cache line);
// nothing is allocated per event. Events at one time come out by slot, so that their
// order does not depend on what else is pending.
type Queue struct {
	heap []Event
	pos  []int32 // index into heap by slot; -1 when the slot has no event
}

// NewQueue returns an empty queue for slots 0 to n-1.
func NewQueue(n int) *Queue {
	q := &Queue{heap: make([]Event, 0, n)}
	q.Grow(n)
	return q
}

// Grow makes slots up to n-1 usable.
func (q *Queue) Grow(n int) {
	for len(q.pos) < n {
		q.pos = append(q.pos, -1)
	}
}

// Pending reports whether the slot has an event.
func (q *Queue) Pending(slot int32) bool { return q.pos[slot] >= 0 }

// Set puts the slot's event at a time that is not before the last event handed
// out, replacing the one that it had.
func (q *Queue) Set(slot, kind int32, at Time) {
	i := int(q.pos[slot])
	if i < 0 {
		i = len(q.heap)
		q.heap = append(q.heap, Event{})
	}
	q.put(i, Event{at, slot, kind})
}

// Cancel removes the slot's event if it has one.
func (q *Queue) Cancel(slot int32) {
	i := int(q.pos[slot])
	if i < 0 {
		return
	}
	q.pos[slot] = -1
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap = q.heap[:last]
	if i < last {
		q.put(i, e)
	}
}

// Next removes and returns the earliest event; ok is false when there is none.
func (q *Queue) Next() (e Event, ok bool) {
	if len(q.heap) == 0 {
		return Event{}, false
	}
	e = q.heap[0]
	q.Cancel(e.Slot)
	return e, true
}

// put moves e from i, where there is room for it, to its place.
func (q *Queue) put(i int, e Event) {
	h := q.heap
	for i > 0 && e.before(h[(i-1)/4]) {
		h[i] = h[(i-1)/4]
		q.pos[h[i].Slot] = int32(i)
		i = (i - 1) / 4
	}
	for first := 4*i + 1; first < len(h); first = 4*i + 1 {
		best := first
		for j := first + 1; j < min(first+4, len(h)); j++ {
			if h[j].before(h[best]) {
				best = j
			}
		}
		if e.before(h[best]) {
			break
		}
		h[i] = h[best]
		q.pos[h[i].Slot] = int32(i)
		i = best
	}
	h[i] = e
	q.pos[e.Slot] = int32(i)
}
