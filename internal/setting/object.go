package setting

import (
	"errors"
	"slices"
	"time"
)

// object is what the journal knows of one object that we have changed. It has one owner.
type object struct {
	ID      int    `json:"id"`
	Setting string `json:"setting"`
	Name    string `json:"name,omitempty"`
	Path    string `json:"path"`
	Lasting bool   `json:"lasting,omitempty"`

	// Set, Owner and At are of its first change, and Boot of its last.
	Set   int       `json:"set"`
	Owner string    `json:"owner"`
	At    time.Time `json:"at"`
	Boot  string    `json:"boot"`
	// Original is what it read before, and is to read again.
	Original string `json:"original"`
	Side     string `json:"side,omitempty"` // not set itself: this setting changes it too

	// Ours is what it read after the last write of ours, or before the first.
	Ours string `json:"ours"`
	// Wrote is what was last written; Done, that it could be read back.
	Wrote string `json:"wrote,omitempty"`
	Done  bool   `json:"done,omitempty"`
	// Maybe are other values that are ours: a write began, and we were killed before
	// we read what it had done. Any: whatever it reads is.
	Maybe []string `json:"maybe,omitempty"`
	Any   bool     `json:"any,omitempty"`
}

// apply takes an object of a journal that was rewritten.
func (o *object) apply(st *state) error {
	if !settable(o.Path) {
		return errors.New("it is no object")
	}
	st.began = true
	st.objects[o.Path] = o
	st.nextID, st.nextSet = max(st.nextID, o.ID+1), max(st.nextSet, o.Set+1)
	return nil
}

// mine reports whether a value is one that we have set. What was last written counts also
// where it has read otherwise since: a minimum that was kept below a lower maximum returns
// when that is raised, and cpufreq does so a moment after the write, from a work queue
// (refresh_frequency_limits, Linux 5.3).
func (o *object) mine(value string) bool {
	return value == o.Ours || o.Wrote != "" && value == o.Wrote || o.Any || slices.Contains(o.Maybe, value)
}

// restorable reports whether a revert may write over a value. The original is one that a revert
// has put back, and could not say so in the journal of a full disk.
func (o *object) restorable(value string) bool { return value == o.Original || o.mine(value) }

// settle records what the object reads after a write.
func (o *object) settle(value string) {
	o.Ours, o.Maybe, o.Any, o.Done = value, nil, false, true
}

// disturbed records that a write to another object may have changed this one.
func (o *object) disturbed(s sideways) {
	o.Any = o.Any || s.Any
	o.Maybe = append(o.Maybe, s.Becomes...)
}

func (o *object) object() Object { return Object{Name: o.Name, Path: o.Path} }

func (o *object) rebooted(boot string) bool { return forgotten(o.Lasting, o.Boot, boot) }

// forgotten reports whether the kernel has started again since an object was written.
// With an unknown boot ID nothing can be said, and values decide.
func forgotten(lasts bool, was, now string) bool {
	return !lasts && was != "" && now != "" && was != now
}
