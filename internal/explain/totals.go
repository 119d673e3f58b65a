package explain

import (
	"context"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/screen"
)

// Tells is a Source whose server counts what is no session's alone: checkpoints, connections, temporary files. It is
// asked once at either end of a recording.
type Tells interface {
	Tell(ctx context.Context) (Telling, error)
}

// Answered is a Source that keeps its last answer, and when it came.
type Answered interface{ Answered() (Telling, time.Time) }

// recently is how old an answer may be that ends one of many recordings and begins the next.
const recently = time.Second / 2

// Telling is one answer.
type Telling struct {
	Counters
	Settings map[string]string // that such counters speak of, as the server writes them
	// Levels are how many of something there are: what there was at the end counts.
	Levels map[string]int64
}

// Login is what a server's reader adds to its settings: how long hostlab's own login took, s.
const Login = "hostlab's login"

// Totals are what two answers say.
type Totals struct {
	Seconds  float64           `json:"seconds"` // between them
	Grown    map[string]int64  `json:"grown"`   // counters, by their reader's names for them
	Settings map[string]string `json:"settings"`
	Levels   map[string]int64  `json:"levels,omitempty"` // how many there were at the end; of several recordings the most
}

// Whole is what the server said, where a time belongs to it; nil: nothing.
func (r *Report) Whole() *Totals {
	if r.Totals == nil || r.Totals.Seconds <= 0 {
		return nil
	}
	return r.Totals
}

// Has reports whether a counter was there.
func (t *Totals) Has(name string) bool {
	if t == nil {
		return false
	}
	_, ok := t.Grown[name]
	return ok
}

// Get is a counter's growth; 0 where there is none.
func (t *Totals) Get(name string) float64 {
	if t == nil {
		return 0
	}
	return float64(t.Grown[name])
}

// Finding is what a setting of the server takes of its time. No lever of the platform moves it.
type Finding struct {
	Parameter string  `json:"name"`
	Value     string  `json:"value"`  // that it has; "": not known
	Number    float64 `json:"number"` // that speaks of it
	Unit      string  `json:"unit"`
	N         int64   `json:"n"` // events that were counted
	// Explains is the share of active time that it takes, as far as that shows, and AtMost a bound of it; nil: unknown.
	Explains *float64 `json:"estimate"`
	AtMost   *float64 `json:"at_most"`
	// Unseen is why the bound is so far from that: a clause on what does not show; "": there is no more to it.
	Unseen    string   `json:"unseen,omitempty"`
	Part      PartName `json:"part"`  // in which most of it shows
	Plain     bool     `json:"plain"` // the counter says by itself that the setting does not fit
	Text      string   `json:"text"`  // a clause
	More      []string `json:"more,omitempty"`
	Whole     bool     `json:"-"`    // Text says by itself what that part of the service's time goes to
	Step      string   `json:"step"` // what to do; a clause, or an SQL statement
	Elsewhere bool     `json:"-"`    // it is done outside of the server
	EachTime  bool     `json:"-"`    // each statement takes longer by it, so that no plan is why
}

// Clauses are all that it says.
func (f *Finding) Clauses() []string { return append([]string{f.Text}, f.More...) }

// Says is that as one text.
func (f *Finding) Says() string { return strings.Join(f.Clauses(), "; ") }

// FindingFrom is the share of active time from which a finding is shown whose counter alone says nothing.
const FindingFrom = 0.05

// Matters reports that it is worth a sentence.
func (f *Finding) Matters() bool { return f.Plain || f.Explains != nil && *f.Explains >= FindingFrom }

// Plain writes a number with two or three digits.
func Plain(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// begin is an answer for the beginning: of many recordings, the one before may have ended just now.
func (r *recorder) begin(ctx context.Context) *Telling {
	if t, ok := r.src.(Answered); ok && r.Rarely > 1 {
		if last, at := t.Answered(); time.Since(at) < recently {
			return &last
		}
	}
	return r.tell(ctx)
}

// tell asks the server for what it counts as a whole; nil: it tells nothing, or refuses, which no other question
// suffers for.
func (r *recorder) tell(ctx context.Context) *Telling {
	src, ok := r.src.(Tells)
	if !ok || r.untold != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := src.Tell(ctx)
	if err != nil {
		r.untold = screen.Cut(err.Error(), 2*longest)
		return nil
	}
	return &t
}

// TotalsOf compares the answers of both ends. A server that was restarted or reset meanwhile has none.
func TotalsOf(first, last *Telling, seconds float64) *Totals {
	if first == nil || last == nil || first.Epoch != last.Epoch || seconds <= 0 {
		return nil
	}
	t := &Totals{Seconds: seconds, Grown: map[string]int64{}, Settings: map[string]string{}, Levels: last.Levels}
	for name, v := range last.Values {
		old, ok := first.Values[name]
		switch {
		case ok && v < old:
			return nil
		case ok:
			t.Grown[name] = v - old
		}
	}
	for name, v := range last.Settings {
		if first.Settings[name] == v { // of one that changed meanwhile, no counter speaks
			t.Settings[name] = screen.Cut(v, longest)
		}
	}
	return t
}

// TellingOf reads rows of a kind, a name and a value: counters, settings, and what the epoch is made of.
func TellingOf(rows []Row) Telling {
	t := Telling{Counters: Counters{Values: map[string]int64{}}, Settings: map[string]string{}}
	for _, r := range rows {
		if r.Null(2) || len(t.Values)+len(t.Settings) >= mostCounters {
			continue
		}
		switch name := screen.Cut(r.Text(1), longest); r.Text(0) {
		case "counter":
			t.Values[name] = r.Int(2)
		case "setting":
			t.Settings[name] = screen.Cut(r.Text(2), longest)
		case "epoch":
			t.Epoch += screen.Cut(r.Text(2), longest) + " "
		}
	}
	return t
}
