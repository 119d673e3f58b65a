package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/explain"
	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

type (
	past = report.Past
	part struct {
		Name     explain.PartName `json:"name"`
		Share    float64          `json:"share"`
		Interval *[2]float64      `json:"interval"` // 95 %, by how the kept accounts differ; nil: not known
	}
)

// What a day of a service is kept as: measurements, whose names end with the service's.
const (
	DayTransaction = "day.transaction"
	DayWorst       = "day.worst"
	DayWorking     = "day.working"
	DayPart        = "day.part." // and the part's name
)

// Slower begins the name of the check whether a service takes longer than on other days; the service's name follows.
const Slower = "slower:"

// day makes measurements and a check's answer of a time of a ring. It was written when that was over.
func (d *Document) day(p *past, service string, parts []part) {
	d.Kind, d.Role, d.Started = Day, check.Role("history:"+service), p.To
	d.Facts, d.Stratum, d.Measured = nil, "", nil
	add := func(name, unit string, v float64, interval *[2]float64) {
		m := Measurement{Name: name + "." + service, Value: &v, Unit: unit, Evidence: string(result.Measured)}
		if interval != nil && interval[0] <= v && v <= interval[1] { // a stranger's may be none
			m.Low, m.High = &interval[0], &interval[1]
		}
		d.Measured = append(d.Measured, m)
	}
	if p.Transaction != nil {
		add(DayTransaction, "s", *p.Transaction, p.Interval)
	}
	if p.Worst != nil && p.Worst.Transaction != nil {
		add(DayWorst, "s", *p.Worst.Transaction, p.Worst.Interval)
	}
	add(DayWorking, "", p.Working, nil)
	for _, x := range parts {
		if slices.Contains(explain.PartNames, x.Name) {
			add(DayPart+string(x.Name), "ratio", x.Share, x.Interval)
		}
	}
	f := Finding{Check: Slower + service, Severity: check.Medium.String(), Status: check.Unknown,
		Detail: "too few days are known to compare with"}
	switch {
	case p.Rise != nil:
		f.Status = check.Finding
		f.Detail = fmt.Sprintf("since %s UTC, a transaction takes %s longer than at this time on %s before",
			p.Rise.Since.UTC().Format("2006-01-02 15:04"),
			result.Share(p.Rise.Ratio-1), screen.Count(p.Rise.Days, "day"))
		if slices.Contains(explain.PartNames, p.Rise.Part) {
			f.Detail += "; most of it is " + p.Rise.Part.Title()
		}
	case p.Known:
		f.Status, f.Detail = check.OK, "a transaction takes no longer than at this time on other days"
	}
	d.Findings = []Finding{f}
}

// Slowed is a service that became slower, and what else changed on its host in the day before that was known.
type Slowed struct {
	Host    string    `json:"host"`
	Service string    `json:"service"`
	At      time.Time `json:"at"` // of the first document that says so
	With    []Change  `json:"with"`
}

// SlowedIn finds services that became slower among changes.
func SlowedIn(list []Change) (out []Slowed) {
	out = []Slowed{}
	for _, c := range list {
		service, is := strings.CutPrefix(c.Subject, Slower)
		if !is || c.After != string(check.Finding) {
			continue
		}
		s := Slowed{c.Host, service, c.At, []Change{}}
		for _, o := range list {
			if o.Host == c.Host && !o.At.After(c.At) && c.At.Sub(o.At) <= beforeSlow && !strings.HasPrefix(o.Subject, Slower) {
				s.With = append(s.With, o)
			}
		}
		out = append(out, s)
	}
	return out
}

// beforeSlow is for how long before that a change is set beside it: hosts send a document a day, and a little later now
// and then.
const beforeSlow = 26 * time.Hour

// Text names it, and what may have done it.
func (s *Slowed) Text() string {
	text := fmt.Sprintf("%s on %s became slower than on other days, says its document of %s.", s.Service, s.Host,
		s.At.UTC().Format("2006-01-02 15:04 UTC"))
	if len(s.With) == 0 {
		return text + " Nothing else is known to have changed there in the day before."
	}
	var says []string
	for _, c := range s.With[:min(5, len(s.With))] {
		says = append(says, fmt.Sprintf("%s (%s to %s)", c.Subject, c.Before, c.After))
	}
	if more := len(s.With) - len(says); more > 0 {
		says = append(says, screen.Count(more, "more change"))
	}
	return text + " Changed there in the day before: " + strings.Join(says, ", ") + "."
}
