package setting

import (
	"slices"
	"time"
)

// object is what the journal knows of one object that we have changed.
type object struct {
	ID      int    `json:"id"`
	Setting string `json:"setting"`
	Name    string `json:"name,omitempty"`
	Path    string `json:"path"`
	Lasting bool   `json:"lasting,omitempty"`
	Boot    string `json:"boot,omitempty"`
	// Ours is what it read after the last write of ours, or before the first.
	Ours string `json:"ours"`
	// Wrote is what was last written; Done, that it could be read back.
	Wrote string `json:"wrote,omitempty"`
	Done  bool   `json:"done,omitempty"`
	// Maybe are other values that are ours: a write began, and we were killed before
	// we read what it had done. Any: whatever it reads is.
	Maybe []string `json:"maybe,omitempty"`
	Any   bool     `json:"any,omitempty"`
	// Doubt: it was intended, and reads otherwise; no line says that its write began.
	Doubt bool `json:"doubt,omitempty"`
	// Layers are those who have changed it, each with what it found; the oldest first.
	Layers []layer `json:"layers"`
}

// layer is one owner's change of an object. Putting it back puts back what it found.
type layer struct {
	ID       int       `json:"id"`
	Set      int       `json:"set"`
	Owner    string    `json:"owner"`
	At       time.Time `json:"at"`
	Original string    `json:"original"`
	Side     string    `json:"side,omitempty"`
}

// mine reports whether a value is one that we have set. What was last written counts also
// where it has read otherwise since: a minimum that was kept below a lower maximum returns
// when that is raised, and cpufreq does so a moment after the write, from a work queue
// (refresh_frequency_limits, Linux 5.3).
func (o *object) mine(value string) bool {
	return value == o.Ours || o.Wrote != "" && value == o.Wrote || o.Any || slices.Contains(o.Maybe, value)
}

// restorable reports whether a revert may write over a value. What a layer has found is
// one that a revert has put back, and could not say so in the journal of a full disk.
func (o *object) restorable(value string) bool {
	return o.mine(value) || slices.ContainsFunc(o.Layers, func(l layer) bool { return value == l.Original })
}

// settle records what the object reads after a write.
func (o *object) settle(value string) {
	o.Ours, o.Maybe, o.Any, o.Done, o.Doubt = value, nil, false, true, false
}

// disturbed records that a write to another object may have changed this one.
func (o *object) disturbed(s sideways) {
	o.Any = o.Any || s.Any
	o.Maybe = append(o.Maybe, s.Becomes...)
}

func (o *object) layer(owner string) *layer {
	for i := range o.Layers {
		if o.Layers[i].Owner == owner {
			return &o.Layers[i]
		}
	}
	return nil
}

// drop removes layers. With pass, what the lowest of them found is what the one above
// puts back.
func (o *object) drop(layers map[int]bool, pass bool) {
	original, passed := "", false
	kept := o.Layers[:0]
	for _, l := range o.Layers {
		if layers[l.ID] {
			if pass && !passed {
				original, passed = l.Original, true
			}
			continue
		}
		if passed {
			l.Original, passed = original, false
		}
		kept = append(kept, l)
	}
	o.Layers = kept
}

func (o *object) object() Object { return Object{Name: o.Name, Path: o.Path} }

func (o *object) rebooted(boot string) bool { return forgotten(o.Lasting, o.Boot, boot) }

// forgotten reports whether the kernel has started again since an object was written.
// With an unknown boot ID nothing can be said, and values decide.
func forgotten(lasts bool, was, now string) bool {
	return !lasts && was != "" && now != "" && was != now
}
