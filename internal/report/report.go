// Package report makes a document of an assessment, with its pictures.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/check"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/trace"
	"hostlab/internal/watch"
)

// Schema is the version of the JSON document; docs/schema/assess.schema.json
// describes it. It rises when a key changes its meaning or goes.
const Schema = 4

// Kind tells the document from others.
const Kind = "assess"

// Assessment is everything that one run of `hostlab assess` learned.
type Assessment struct {
	Kind    string    `json:"kind"`
	Schema  int       `json:"schema"`
	Tool    string    `json:"version"` // of hostlab
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // the whole run took
	Host    string    `json:"host"`
	// keyed hash of the machine's id; "" unknown, or a recording's
	Machine   string               `json:"machine,omitempty"`
	Role      check.Role           `json:"role"`
	LogDir    string               `json:"log_dir"`     // where commits were timed; "" nowhere
	LogDirWhy string               `json:"log_dir_why"` // why there, as in "the log directory of PostgreSQL (process 812)"
	Facts     *host.Facts          `json:"facts"`
	Results   []check.Result       `json:"results"`
	Probes    []result.Measurement `json:"probes"` // the numbers of all Runs, flat
	Runs      []probe.Outcome      `json:"probe_runs"`
	// Of the service that was watched; null: none was.
	Service *assess.About `json:"service"`
	Time    *assess.Time  `json:"time"`
	Levers  []lever.Lever `json:"levers"` // on it, else as far as probes and checks know them
	// Server are findings on settings of the watched server, which no lever of the platform moves.
	Server []explain.Finding `json:"server"`
	// OnlyService is set where the host was left out: Facts is null, and nothing was checked or probed.
	OnlyService bool            `json:"only_service"`
	Scheduler   *trace.Summary  `json:"scheduler"` // what the kernel's did with the service
	Account     *explain.Report `json:"account"`   // all that is known of its time; null: no service was watched
	// Policies are what power policies would cost it.
	Policies []assess.Policy `json:"policies"`
	Verdict  assess.Answer   `json:"verdict"`
	// Others are checks that find something on servers of this host alone that are not watched.
	Others map[string]bool `json:"-"`
	// Minute is what Service, Time and Levers are taken from.
	Minute *assess.Minute `json:"-"`
	// Before is an earlier minute that it is compared with; nil: none.
	Before *assess.Minute `json:"-"`
	// Days is by how much equal times of days differ, as explain.Change has it.
	Days float64 `json:"-"`
	// Change is how the time of a transaction differs from Before; null: nothing was to compare, or not both counted
	// transactions.
	Change *assess.Change `json:"change"`
	// Past is what the time of a ring says as a whole; null: this is now.
	Past *Past `json:"past"`
	// Evenness is how evenly the CPUs were used in a time of a ring; null: this is none, or it has one CPU.
	Evenness *watch.Answer `json:"evenness"`
	Warnings []string      `json:"warnings"`
}

// Broken is the error of probes that failed, other than by finding nothing to measure here; nil: none did.
func (a *Assessment) Broken() error {
	var broken []string
	for _, r := range a.Runs {
		if r.Failed != "" {
			broken = append(broken, r.Probe+": "+r.Failed)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("not everything could be measured: %s", strings.Join(broken, "; "))
}

// WriteBursts writes those of the CPUs that were seen meanwhile.
func (a *Assessment) WriteBursts(w io.Writer) error {
	switch m := a.Minute; {
	case m == nil:
		return errors.New("the bursts are not written: no service was watched")
	case m.Bursts != nil:
		return m.Bursts.WriteBursts(w)
	case m.Sample != nil:
		return m.Sample.Write(w)
	case m.Scheduler != nil:
		return errors.New("the bursts are not written: " + m.Scheduler.Reason)
	}
	return errors.New("the bursts are not written, as nobody recorded them: the service has no process here, or the ring of this time is not root's")
}

// complete copies an assessment so that no null in its JSON goes without its reason.
func complete(a *Assessment) *Assessment {
	c := *a
	if c.Before != nil && c.Minute != nil {
		if x, ok := c.Minute.ChangeOf(c.Before, c.Days); ok {
			c.Change = &x
		}
	}
	c.Kind, c.Schema = Kind, cmp.Or(c.Schema, Schema)
	c.Probes = explained(c.Probes)
	c.Warnings = slices.Concat(BusyWarnings(c.Runs), c.Warnings)
	c.Levers = slices.Clone(c.Levers)
	for i := range c.Levers {
		l := &c.Levers[i]
		l.Evidence = slices.Clone(l.Evidence)
		for j := range l.Evidence {
			if m := l.Evidence[j].Measurement; m != nil {
				l.Evidence[j].Measurement = &explained([]result.Measurement{*m})[0]
			}
		}
	}
	return &c
}

// explained copies measurements: an unknown one is no evidence of any kind, and a value without an interval says
// why it has none.
func explained(ms []result.Measurement) []result.Measurement {
	out := slices.Clone(ms)
	for i := range out {
		m := &out[i]
		switch {
		case !m.Known():
			m.Evidence = ""
		case !m.Estimate.HasInterval() && m.Reason == "" && longest(m.Kind):
			m.Reason = "a maximum has no interval: a longer run can only find a larger one"
		case !m.Estimate.HasInterval() && m.Reason == "":
			m.Reason = "too few independent values for an interval"
		}
	}
	return out
}

func longest(kind result.Kind) bool {
	return slices.ContainsFunc([]probe.CommitFile{probe.NewBlocks, probe.Recycled, probe.InMemory},
		func(f probe.CommitFile) bool { return kind == f.Of(probe.Longest) })
}

// BusyWarnings says in plain words where other load is part of the figures: what
// disturbed measurements, and which probes did not run alone. They stand under
// the verdict, so that nobody reads it without them. Empty on a quiet host.
func BusyWarnings(runs []probe.Outcome) []string {
	var out []string
	for i := range runs {
		o := &runs[i]
		title := cmp.Or(o.Title, o.Probe)
		var why []string // each reason once, with its number of figures
		figures := map[string]int{}
		for _, m := range o.Measurements {
			if d := m.Labels.Disturbed; d != "" {
				if figures[d]++; figures[d] == 1 {
					why = append(why, d)
				}
			}
		}
		slices.SortStableFunc(why, func(a, b string) int { return cmp.Compare(figures[b], figures[a]) })
		if len(why) > 0 {
			s := fmt.Sprintf("%s: %s (%s)", title, why[0], screen.Count(figures[why[0]], "figure"))
			if len(why) > 1 {
				more := 0
				for _, d := range why[1:] {
					more += figures[d]
				}
				s += fmt.Sprintf("; disturbed likewise: %s", screen.Count(more, "more figure"))
			}
			out = append(out, s)
		}
		if o.Busy > 0 {
			out = append(out, fmt.Sprintf("%s: other work took %.0f %% of these CPUs' time", title, 100*o.Busy))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{"This host was busy: the figures of the probes include the load of other work."}, out...)
}
