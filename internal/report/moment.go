package report

import (
	"errors"
	"fmt"
	"time"
)

var errNoTime = errors.New("expected a time such as 02:14, 2026-03-01 02:14, or 2026-03-01T02:14:00Z")

// ParseAt reads a moment: a time of the day is the last one that has passed before now. Where clocks were changed, a
// time may have come twice, of which a date means the first, or not at all: note says so.
func ParseAt(text string, now time.Time) (at time.Time, note string, err error) {
	for _, form := range []string{"15:04", "15:04:05"} {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		for back := range 2 {
			t = time.Date(now.Year(), now.Month(), now.Day()-back, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
			times := on(t, now.Location())
			for i := len(times) - 1; i >= 0; i-- {
				if !times[i].After(now) {
					return times[i], said(t, times, i), nil
				}
			}
		}
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(form, text); err == nil {
			times := on(t, now.Location())
			return times[0], said(t, times, 0), nil
		}
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, "", errNoTime
	}
	return at, "", nil
}

// on are the moments at which clocks of a place show what t shows, in order; of a time that was left out, the one that
// clocks which had not been changed would show.
func on(t time.Time, place *time.Location) (list []time.Time) {
	date := func(offset int) time.Time { return t.Add(-time.Duration(offset) * time.Second).In(place) }
	_, before := t.AddDate(0, 0, -1).In(place).Zone()
	_, after := t.AddDate(0, 0, 1).In(place).Zone()
	for _, offset := range []int{before, after} {
		at := date(offset)
		if at.Format(wall) == t.Format(wall) && (len(list) == 0 || !at.Equal(list[0])) {
			list = append(list, at)
		}
	}
	if len(list) == 0 {
		list = append(list, date(before))
	}
	return list
}

// wall is what a clock shows.
const wall = "2006-01-02 15:04:05"

// said notes that a time came twice, or not at all; "": it came once.
func said(t time.Time, times []time.Time, taken int) string {
	at := times[taken]
	switch {
	case len(times) > 1:
		which := []string{"first", "second"}
		other := times[1-taken]
		return fmt.Sprintf("On %s, clocks showed %s twice. This is the %s time, in %s; the %s is --at %s.",
			t.Format(time.DateOnly),
			t.Format("15:04"), which[taken], at.Format("MST"), which[1-taken], other.Format(time.RFC3339))
	case at.Format(wall) != t.Format(wall):
		return fmt.Sprintf("On %s, clocks were set forward and never showed %s. This is from %s on.", t.Format(time.DateOnly),
			t.Format("15:04"),
			at.Format("15:04 MST"))
	}
	return ""
}
