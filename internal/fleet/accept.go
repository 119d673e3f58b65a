package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/screen"
)

// Accept applies the exceptions of the fleet to hosts: a finding that is accepted stands among Accepted, with its
// reason. One whose exception has expired, be it of this list or of the host's own, is a finding again and keeps the
// exception, so that it can be said.
func Accept(hosts []*Host, list []check.Exception, now time.Time) {
	for _, h := range hosts {
		all := slices.Concat(h.Findings, h.Accepted)
		h.Findings, h.Accepted = nil, nil
		for _, f := range all {
			accept(&f, list, h.Name, now)
			if f.Status == check.Accepted {
				h.Accepted = append(h.Accepted, f)
			} else {
				h.Findings = append(h.Findings, f)
			}
		}
		for _, of := range [][]Held{h.Findings, h.Accepted} {
			slices.SortStableFunc(of, func(a, b Held) int {
				return strings.Compare(string(a.Role)+a.Check, string(b.Role)+b.Check)
			})
		}
	}
}

// accept decides one finding. The host's own exception counts as well.
func accept(f *Held, list []check.Exception, host string, now time.Time) {
	if f.Status != check.Finding && f.Status != check.Accepted {
		return
	}
	f.Status, f.Exception = check.Decide(f.Check, check.Finding, f.Exception, about(f, list), host, now)
}

// about has exceptions speak of a setting that is not as set, too, where they excuse a check that advises it.
func about(f *Held, list []check.Exception) []check.Exception {
	if f.Role != AsSet {
		return list
	}
	name, _, _ := strings.Cut(f.Check, "/")
	out := slices.Clone(list)
	for _, e := range list {
		if c, err := check.Find(e.Check); err == nil && c.Advises(name) {
			e.Check = f.Check
			out = append(out, e)
		}
	}
	return out
}

// AcceptHeld is Accept of what one check says on hosts. It marks hosts that are not known any more, and puts findings
// first.
func AcceptHeld(held []Held, list []check.Exception, hosts []*Host, now time.Time, limit time.Duration) {
	known := map[string]bool{}
	for _, h := range hosts {
		known[h.Name] = !h.Stale(now, limit)
	}
	for i := range held {
		accept(&held[i], list, held[i].Host, now)
		held[i].Stale = !known[held[i].Host]
	}
	sortHeld(held)
}

// AcceptedSum is an exception in force, and on how many hosts.
type AcceptedSum struct {
	Check  string   `json:"check"`
	Reason string   `json:"reason"`
	Until  string   `json:"until"`
	By     string   `json:"by,omitempty"`
	Hosts  []string `json:"hosts"`
}

// sums groups what is accepted, or was, by exception.
func sums(hosts []*Host, of func(*Host) []Held) []AcceptedSum {
	out := []AcceptedSum{}
	for _, h := range hosts {
		for _, f := range of(h) {
			e := f.Exception
			if e == nil {
				continue
			}
			i := slices.IndexFunc(out, func(s AcceptedSum) bool {
				return s.Check == f.Check && s.Reason == e.Reason && s.Until == e.Until && s.By == e.By
			})
			if i < 0 {
				i, out = len(out), append(out, AcceptedSum{Check: f.Check, Reason: e.Reason, Until: e.Until, By: e.By})
			}
			if !slices.Contains(out[i].Hosts, h.Name) {
				out[i].Hosts = append(out[i].Hosts, h.Name)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b AcceptedSum) int { return strings.Compare(a.Check, b.Check) })
	return out
}

// acceptedTable shows exceptions.
func acceptedTable(list []AcceptedSum) *document.Table {
	t := &document.Table{Columns: document.Headings("check").Names("hosts").Wholes("until").Names("reason")}
	for _, s := range list {
		reason := s.Reason
		if s.By != "" {
			reason += " (" + s.By + ")"
		}
		t.Row(s.Check, document.Number(float64(len(s.Hosts)), hostsOf(s.Hosts)), s.Until, reason)
	}
	return t
}

// hostsOf names a few hosts, and counts many.
func hostsOf(names []string) string {
	if len(names) > 3 {
		return screen.Count(len(names), "host")
	}
	return strings.Join(names, ", ")
}

// ExceptionsDocument says what a file of exceptions does to a fleet: which findings each accepts, which have expired,
// and which are about nothing that is found.
func ExceptionsDocument(hosts []*Host, list []check.Exception, now time.Time) *document.Document {
	rows, n := []ExceptionRow{}, map[string]int{}
	t := &document.Table{Columns: document.Headings("check", "host", "until", "state", "findings on", "reason")}
	for _, e := range list {
		r := ExceptionRow{Exception: e, State: "unused", Hosts: []string{}}
		for _, h := range hosts {
			for _, f := range slices.Concat(h.Findings, h.Accepted) {
				status, by := check.Decide(f.Check, check.Finding, nil, about(&f, []check.Exception{e}), h.Name, now)
				if by == nil {
					continue
				}
				r.Hosts = append(r.Hosts, h.Name)
				if r.State = "expired"; status == check.Accepted {
					r.State = "holds"
				}
			}
		}
		if now.Format(time.DateOnly) > e.Until {
			r.State = "expired"
		}
		n[r.State]++
		state := document.Text(r.State)
		if r.State != "holds" {
			state.Tone = document.Caution
		}
		t.Row(e.Check, e.Host, e.Until, state, document.Number(float64(len(r.Hosts)), hostsOf(r.Hosts)), e.Reason)
		rows = append(rows, r)
	}
	return &document.Document{Name: "fleet", Title: "Exceptions",
		Answer: []document.Line{{Text: fmt.Sprintf("%s: %d in force, %d expired, %d about nothing that is found.",
			screen.Count(len(list), "exception"), n["holds"], n["expired"], n["unused"])}},
		Sections: []document.Section{document.Titled("Exceptions", t)}, Data: ExceptionList{HeadOf("exceptions"), rows}}
}

// ExceptionRow is what an exception does to a fleet.
type ExceptionRow struct {
	check.Exception
	State string   `json:"state" jsonschema:"enum=holds,enum=expired,enum=unused"`
	Hosts []string `json:"hosts"` // on which it is about a finding
}

// ExceptionList is what fleet exceptions check says to programs.
type ExceptionList struct {
	document.Head
	Exceptions []ExceptionRow `json:"exceptions"`
}
