package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
)

// Sample is a measurement of a host.
type Sample struct {
	At    time.Time
	Value float64
}

// Set is what verify said of an object that hostlab has set.
type Set struct {
	Object string // governor/policy0
	Status check.Status
	Since  time.Time
	Until  time.Time // zero: it holds
}

// Verified is what documents of verify said of a host since the plan was made.
type Verified struct {
	At  []time.Time
	Set []Set
}

// State is where a host of a plan stands.
type State string

const (
	Waiting  State = "waiting"  // it is not known to have the change
	Has      State = "has it"   // verify says that it is as set
	Same     State = "same"     // verify says that there was nothing to set
	Drifted  State = "drifted"  // it was set, and is not so any more
	Reverted State = "reverted" // it was set and taken back
	Had      State = "had it"   // it was set before the plan was made
)

// Host is one of a plan.
type Host struct {
	Name    string     `json:"host"`
	Wave    int        `json:"wave"`
	State   State      `json:"state"`
	Applied *time.Time `json:"applied"` // when a verify first said so; null: not known
	Before  int        `json:"before"`  // measurements before the first wave
	After   int        `json:"after"`   // since its wave
	stratum int
	samples []Sample
}

// mostBefore is on how many earlier values of a host the comparison rests.
const mostBefore = 5

// Course is what has become of a plan.
type Course struct {
	Plan    *Plan
	Hosts   []*Host     // by wave and name
	begun   []time.Time // by wave: when the first host had the change; zero: none has
	reached []time.Time // when the last had
	first   time.Time   // when any host had it, of whichever wave; zero: none has
}

// Follow finds out of documents what has become of a plan.
func Follow(p *Plan, verified map[string]Verified, samples map[string][]Sample) *Course {
	c := &Course{Plan: p, begun: make([]time.Time, len(p.Waves)+1), reached: make([]time.Time, len(p.Waves)+1)}
	wave := p.waveOf()
	for i, s := range p.Strata {
		for _, name := range s.Hosts {
			h := &Host{Name: name, Wave: wave[name], State: Waiting, stratum: i, samples: samples[name]}
			h.look(p, verified[name])
			c.Hosts = append(c.Hosts, h)
		}
	}
	slices.SortStableFunc(c.Hosts, func(a, b *Host) int { return cmp.Or(a.Wave-b.Wave, strings.Compare(a.Name, b.Name)) })
	last := p.Created
	for w := 1; w <= len(p.Waves); w++ {
		for _, h := range c.wave(w) {
			if at := h.Applied; at != nil && (c.begun[w].IsZero() || at.Before(c.begun[w])) {
				c.begun[w] = *at
			}
		}
		if c.begun[w].IsZero() {
			continue
		}
		for _, h := range c.wave(w) {
			h.sameSince(verified[h.Name].At, last)
			if at := h.Applied; at != nil && at.After(c.reached[w]) {
				c.reached[w] = *at
			}
		}
		last = c.reached[w]
	}
	for _, h := range c.Hosts {
		if at := h.Applied; at != nil && (c.first.IsZero() || at.Before(c.first)) {
			c.first = *at
		}
	}
	for _, h := range c.Hosts {
		h.Before = len(c.before(h))
		if h.Applied != nil {
			h.After = len(h.between(c.reached[h.Wave], time.Time{}))
		}
	}
	return c
}

// look finds what verify says of a host's settings.
func (h *Host) look(p *Plan, v Verified) {
	now := State("")
	for _, s := range v.Set {
		if !p.sets(s.Object) {
			continue
		}
		switch {
		case s.Since.Before(p.Created):
			if s.Until.IsZero() && s.Status == check.OK && h.Applied == nil {
				now = Had
			}
			continue
		case h.Applied == nil && s.Status == check.OK:
			at := s.Since
			h.Applied, now = &at, ""
		}
		switch {
		case h.Applied == nil:
		case !s.Until.IsZero():
			now = cmp.Or(now, Reverted)
		case s.Status == check.OK && now != Drifted:
			now = Has
		default:
			now = Drifted
		}
	}
	h.State = cmp.Or(now, Waiting)
}

// sameSince takes a host for done where a verify since a moment has nothing that was set: it had those values already.
func (h *Host) sameSince(verified []time.Time, since time.Time) {
	if h.State != Waiting {
		return
	}
	for _, at := range verified {
		if at.After(since) {
			h.State, h.Applied = Same, &at
			return
		}
	}
}

// sets reports whether an object of verify belongs to a plan's change.
func (p *Plan) sets(object string) bool {
	if object == "journal" {
		return false
	}
	if p.Role != "" {
		return true
	}
	name, _, _ := strings.Cut(object, "/")
	return slices.ContainsFunc(p.Set, func(s string) bool {
		left, _, _ := strings.Cut(s, "=")
		left, _, _ = strings.Cut(left, "@")
		return left == name
	})
}

func (c *Course) wave(w int) (list []*Host) {
	for _, h := range c.Hosts {
		if h.Wave == w {
			list = append(list, h)
		}
	}
	return list
}

// before are the newest values of a host before any host had the change.
func (c *Course) before(h *Host) []Sample {
	list := h.between(time.Time{}, c.first)
	return list[max(0, len(list)-mostBefore):]
}

// between are a host's values from one moment to another; zero moments bound nothing.
func (h *Host) between(from, to time.Time) (list []Sample) {
	for _, s := range h.samples {
		if s.Value > 0 && !s.At.Before(from) && (to.IsZero() || s.At.Before(to)) {
			list = append(list, s)
		}
	}
	return list
}

// window is a period in which the same hosts have the change.
type window struct {
	wave     int
	from, to time.Time
}

// windows are the periods up to a wave in which most hosts were measured. That of the wave itself must be one.
func (c *Course) windows(last int) (list []window) {
	for w := 1; w <= last; w++ {
		if c.reached[w].IsZero() {
			return nil
		}
		n := window{w, c.reached[w], c.end(w)}
		measured := 0
		for _, h := range c.Hosts {
			if len(h.between(n.from, n.to)) > 0 {
				measured++
			}
		}
		switch {
		case 2*measured > len(c.Hosts):
			list = append(list, n)
		case w == last:
			return nil
		}
	}
	return list
}

// end is when a later wave began after a wave; zero: not yet.
func (c *Course) end(wave int) (end time.Time) {
	for _, at := range c.begun[min(wave+1, len(c.begun)):] {
		if !at.IsZero() && (end.IsZero() || at.Before(end)) {
			end = at
		}
	}
	return end
}

// shifted is the number of the first window in which hosts of a wave have the change.
func (c *Course) shifted(wave int, windows []window) int {
	for i, w := range windows {
		if wave <= w.wave {
			return i + 1
		}
	}
	return len(windows) + 1
}
