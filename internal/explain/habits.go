package explain

import (
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Habit is a setting by which each statement takes longer, whatever it does: who looks for something switches it on, and
// forgets it.
type Habit struct {
	Name, Value string
	// Each is what it takes of a statement at least, s; 0: that depends on the statement.
	Each float64
}

// Habits is the finding of those that are on, of so many statements.
func (r *Report) Habits(all []Habit, statements float64) (x Finding) {
	t := r.Whole()
	if t == nil {
		return x
	}
	var on []string
	least, depends := 0.0, false
	for _, h := range all {
		if !strings.EqualFold(t.Settings[h.Name], h.Value) {
			continue
		}
		if on = append(on, h.Name+" = "+h.Value); len(on) == 1 {
			x = Finding{Parameter: h.Name, Value: h.Value, Part: DatabaseCPU, Unit: "statements/s", N: int64(statements), EachTime: true}
		}
		least, depends = least+h.Each*statements, depends || h.Each == 0
	}
	if len(on) == 0 {
		return x
	}
	x.Number, x.Explains = statements/t.Seconds, result.Finite(min(1, least/r.Busy))
	x.Plain = depends && r.Part(DatabaseCPU).Seconds >= r.Busy/2
	x.AtMost = result.Finite(min(1, max(least, r.Highest(DatabaseCPU, RunQueue, OtherWaits, Locks, DataReads))/r.Busy))
	x.Unseen = "it does not show what of a statement's time it takes"
	x.Text = "with " + strings.Join(on, " and ") + " each statement takes longer, " + screen.Count(int(x.Number), "statement") + " a second"
	return x
}
