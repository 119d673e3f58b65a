package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// Schema is the version of the fleet's own JSON; docs/schema/fleet.schema.json describes it.
const Schema = 1

// HeadOf is that of a form of the fleet's JSON.
func HeadOf(form string) document.Head { return document.Head{Kind: "fleet-" + form, Schema: Schema} }

// Summary is the fleet in one answer.
type Summary struct {
	document.Head
	Hosts     int         `json:"hosts"`
	Documents int         `json:"documents"`
	Worst     *Worst      `json:"worst"`    // null: no host that is known stands out
	Findings  []Tally     `json:"findings"` // by check, those on most hosts of the worst severity first
	Levers    []LeverSum  `json:"levers"`   // those first that would save most
	Stale     []StaleHost `json:"stale"`
	// Accepted are findings that are accepted; Expired, exceptions whose last day has passed while the finding is still
	// there.
	Accepted []AcceptedSum `json:"accepted"`
	Expired  []AcceptedSum `json:"expired"`
	Twice    []Twice       `json:"twice"` // machines with several names
	newest   time.Duration // the age of the newest document
	limit    time.Duration
	store    string // as a person named it; "": the usual one
}

// Tally is a check that finds something.
type Tally struct {
	Check    string `json:"check"`
	Severity string `json:"severity"`
	Hosts    int    `json:"hosts"`
}

// LeverSum is a lever over all hosts that are known.
type LeverSum struct {
	Name          string  `json:"name"`
	Hosts         int     `json:"hosts"`           // on which it is worthwhile
	SecondsPerDay float64 `json:"seconds_per_day"` // of their services' active time that it may save
	Known         int     `json:"known"`           // hosts whose saving is known
	Pays          []Pay   `json:"pays"`            // where it would save most, at most ten hosts
}

// Pay is what a lever would give one host's service.
type Pay struct {
	Host          string   `json:"host"`
	Service       string   `json:"service"`
	SecondsPerDay *float64 `json:"seconds_per_day"` // an estimate, of active time; null: not known
	AtMost        *float64 `json:"at_most"`         // share of active time
	Command       string   `json:"command"`
}

// mostPays are how many hosts of a lever are named.
const mostPays = 10

// Twice is a machine that wrote under several names.
type Twice struct {
	Names []string `json:"names"` // the one heard of last comes last
	// clone: more than one still writes; renamed: only the last
	Kind string `json:"kind" jsonschema:"enum=clone,enum=renamed"`
}

// StaleHost is one that wrote nothing for too long.
type StaleHost struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // since its last document
}

func (h *StaleHost) age() time.Duration { return time.Duration(h.Seconds * float64(time.Second)) }

// Status sums hosts up. Those that are not known any more count as such alone.
func Status(hosts []*Host, documents int, now time.Time, limit time.Duration) *Summary {
	s := &Summary{Head: HeadOf("status"), Hosts: len(hosts), Documents: documents, Findings: []Tally{},
		Levers: []LeverSum{}, Stale: silent(hosts, now, limit), limit: limit}
	s.Twice = twice(hosts, now, limit)
	known := slices.DeleteFunc(slices.Clone(hosts), func(h *Host) bool { return h.Stale(now, limit) })
	s.Worst = worst(known)
	s.Accepted = sums(known, func(h *Host) []Held { return h.Accepted })
	s.Expired = sums(known, func(h *Host) []Held { return h.Findings })
	found := map[string]*Tally{}
	levers := map[string]*LeverSum{}
	for i, h := range hosts {
		if age := max(now.Sub(h.Last), 0); i == 0 || age < s.newest {
			s.newest = age
		}
		if h.Stale(now, limit) {
			continue
		}
		seen := map[string]bool{}
		for _, f := range h.Findings {
			t := found[f.Check]
			if t == nil {
				t = &Tally{Check: f.Check}
				found[f.Check] = t
			}
			if rank(f.Severity) > rank(t.Severity) {
				t.Severity = f.Severity
			}
			if !seen[f.Check] {
				t.Hosts++
			}
			seen[f.Check] = true
		}
		for _, l := range h.Levers {
			if l.Verdict != lever.Worthwhile {
				continue
			}
			sum := levers[l.Name]
			if sum == nil {
				sum = &LeverSum{Name: l.Name}
				levers[l.Name] = sum
			}
			sum.Hosts++
			sum.Pays = append(sum.Pays, Pay{h.Name, h.Service, l.SecondsPerDay, l.AtMost, l.Next.Command})
			if l.SecondsPerDay != nil {
				sum.Known++
				sum.SecondsPerDay += *l.SecondsPerDay
			}
		}
	}
	for _, t := range found {
		s.Findings = append(s.Findings, *t)
	}
	slices.SortStableFunc(s.Findings, func(a, b Tally) int {
		return cmp.Or(rank(b.Severity)-rank(a.Severity), b.Hosts-a.Hosts, strings.Compare(a.Check, b.Check))
	})
	for _, l := range levers {
		slices.SortStableFunc(l.Pays, func(a, b Pay) int { return cmp.Compare(seconds(b), seconds(a)) })
		l.Pays = l.Pays[:min(len(l.Pays), mostPays)]
		s.Levers = append(s.Levers, *l)
	}
	slices.SortStableFunc(s.Levers, func(a, b LeverSum) int {
		return cmp.Or(cmp.Compare(b.SecondsPerDay, a.SecondsPerDay), b.Hosts-a.Hosts, strings.Compare(a.Name, b.Name))
	})
	return s
}

// silent are the hosts that are not known any more, those first that have been silent for longest.
func silent(hosts []*Host, now time.Time, limit time.Duration) []StaleHost {
	out := []StaleHost{}
	for _, h := range hosts {
		if h.Stale(now, limit) {
			out = append(out, StaleHost{h.Name, now.Sub(h.Last).Seconds()})
		}
	}
	slices.SortStableFunc(out, func(a, b StaleHost) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return out
}

// heard says which hosts have sent nothing for too long.
func heard(stale []StaleHost, limit time.Duration) string {
	switch len(stale) {
	case 0:
		return "each sent a document in the last " + ago(limit)
	case 1:
		return stale[0].Name + " has sent nothing for " + ago(stale[0].age())
	}
	return fmt.Sprintf("%s and %s have sent nothing for over %s", stale[0].Name, screen.Count(len(stale)-1, "other"),
		ago(limit))
}

func seconds(p Pay) float64 {
	if p.SecondsPerDay == nil {
		return -1
	}
	return *p.SecondsPerDay
}

// twice finds machines with several names. The id of a machine is copied with its disk: a clone has it too.
func twice(hosts []*Host, now time.Time, limit time.Duration) []Twice {
	by, out := map[string][]*Host{}, []Twice{}
	for _, h := range hosts {
		if h.Machine != "" {
			by[h.Machine] = append(by[h.Machine], h)
		}
	}
	for _, list := range by {
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b *Host) int {
			return cmp.Or(a.Last.Compare(b.Last), strings.Compare(a.Name, b.Name))
		})
		t, writing := Twice{Kind: "renamed"}, 0
		for i, h := range list {
			t.Names = append(t.Names, h.Name)
			if !h.Stale(now, limit) || i > 0 && h.First.Before(list[i-1].Last) {
				writing++
			}
		}
		if writing > 1 {
			t.Kind = "clone"
		}
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b Twice) int { return slices.Compare(a.Names, b.Names) })
	return out
}

func rank(severity string) int {
	for i, s := range check.Severities {
		if s == severity {
			return i + 1
		}
	}
	return 0
}

// In has commands name the store that a person named.
func (s *Summary) In(store string) *Summary {
	s.store = store
	if w := s.Worst; w != nil && w.Here {
		w.Type = screen.With(w.Type, "--store", store)
	}
	return s
}

// Document reports the sum; a terminal has as many rows of it as fit one screen.
func (s *Summary) Document() *document.Document {
	d := &document.Document{Name: "fleet", Title: "Fleet of " + screen.Count(s.Hosts, "host"), Data: s}
	answer := fmt.Sprintf("%s; %s.", screen.Count(s.Hosts, "host"), heard(s.Stale, s.limit))
	switch {
	case s.Hosts == 0:
		answer = "The store holds no document yet. Begin with '" + screen.With("hostlab fleet ingest SPOOL", "--store", s.store) + "'."
	case s.Worst != nil: // one host, one step
		who := s.Worst.Host + " is worst off:"
		if s.Worst.Others > 0 { // which may have something else
			who = fmt.Sprintf("%s and %s are equally badly off. On %[1]s:", s.Worst.Host, screen.Count(s.Worst.Others, "other"))
		}
		answer = fmt.Sprintf("%s %s. Begin there. %s", who, s.Worst.Why, answer)
	case len(s.Findings) > 0:
		f := s.Findings[0]
		answer += fmt.Sprintf(" Begin with %s (%s): %s on %s.", f.Check, CheckTitle(f.Check), f.Severity,
			screen.Count(f.Hosts, "host"))
	case len(s.Stale) < s.Hosts:
		answer += " No check found anything to change."
	}
	d.Answer = []document.Line{{Text: answer}}
	if d.About = []string{screen.Count(s.Documents, "document")}; s.Hosts > 0 {
		d.About[0] += "; the newest was written " + ago(s.newest) + " ago"
	}
	findings := &document.Table{Columns: document.Headings("check").Names("problem",
		"severity").Figures("hosts")}
	for _, f := range s.Findings {
		findings.Row(f.Check, CheckTitle(f.Check), f.Severity, f.Hosts)
	}
	levers := &document.Table{Columns: document.Headings("lever", "worthwhile on", "may save").Names("most of it on"),
		Lead: "Savings are in active time of the services, at the load that hostlab watched."}
	levers.Columns[1].Unit, levers.Columns[2].Unit = "hosts", "s a day"
	for _, l := range s.Levers {
		var first []string
		for _, p := range l.Pays[:min(len(l.Pays), 3)] {
			first = append(first, p.Host)
		}
		saves := "unknown"
		if l.Known > 0 {
			saves = ADay(l.SecondsPerDay)
		}
		levers.Row(lever.Title(l.Name), document.Number(float64(l.Hosts), screen.Count(l.Hosts, "host")),
			document.Number(l.SecondsPerDay, saves), strings.Join(first, ", "))
	}
	for _, t := range s.Twice {
		if t.Kind == "clone" {
			d.Warnings = append(d.Warnings,
				fmt.Sprintf("%s have the same machine-id, as clones have: remove /etc/machine-id on all but one, and run systemd-machine-id-setup there",
					strings.Join(t.Names, " and ")))
		} else {
			d.Warnings = append(d.Warnings,
				fmt.Sprintf("%s is now called %s: both have one machine-id, and only the new name still sends documents",
					t.Names[0], t.Names[len(t.Names)-1]))
		}
	}
	stale := &document.Table{Columns: document.Headings("host", "last document")}
	stale.Columns[1].Unit = "s ago"
	for _, h := range s.Stale {
		stale.Row(h.Name, document.Number(h.Seconds, ago(h.age())+" ago"))
	}
	first := document.Commands{}
	if w := s.Worst; w != nil && w.Type != "" {
		first = append(first, document.Command{Why: w.What, Line: w.Type})
	}
	d.Sections = []document.Section{document.Titled(Begin, first), document.Titled("Findings", findings),
		document.Titled("Levers", levers),
		document.Titled("State unknown", stale), document.Titled("Accepted", acceptedTable(s.Accepted)),
		document.Titled("Exceptions that have expired", acceptedTable(s.Expired))}
	return document.Brief(func(most int) *document.Document {
		for _, section := range d.Sections {
			if t, is := section.Blocks[0].(*document.Table); is {
				t.Most = 2 + 3*most
			}
		}
		return d
	})
}

// Begin is the title of the section that names one step.
const Begin = "Where to begin"

// otherTitles are of what other commands than check find.
var otherTitles = map[string]string{"watch": "CPUs slow or uneven after a quiet time",
	"journal": "Settings that could not be verified"}

// setTitle is that of an object of a setting, as governor/policy0.
const setTitle = "Setting that is not as hostlab set it"

// CheckTitle names the problem that a check finds.
func CheckTitle(id string) string {
	if c, err := check.Find(id); err == nil {
		return c.Title
	}
	if title, ok := otherTitles[id]; ok {
		return title
	}
	if strings.HasPrefix(id, Slower) {
		return "A service takes longer than on other days"
	}
	if strings.Contains(id, "/") {
		return setTitle
	}
	return "unknown to this version"
}

// ago is a span of time in days and hours.
func ago(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return screen.Count(int(d/(24*time.Hour)), "day")
	case d >= time.Hour:
		return screen.Count(int(d/time.Hour), "hour")
	case d < time.Minute:
		return "less than a minute"
	}
	return screen.Count(int(d/time.Minute), "minute")
}

// Named is the host of a name; nil: none.
func Named(hosts []*Host, name string) *Host {
	i := slices.IndexFunc(hosts, func(h *Host) bool { return h.Name == name })
	if i < 0 {
		return nil
	}
	return hosts[i]
}
