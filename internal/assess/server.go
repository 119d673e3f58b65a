package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/chain"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/explain/mariadb"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Server are the findings on settings of the watched server, those first that take most.
func (m *Minute) Server() (list []explain.Finding) {
	list = []explain.Finding{}
	for _, look := range []func() []explain.Finding{m.pooled, m.asking, m.alone, m.garbage, m.untaken, m.anew, m.refused,
		m.confirmed, m.within, m.throttled, m.halted, m.slow, m.turns, m.interrupted, m.pushes, m.queues, m.onFiles, m.ender,
		m.talks, m.extensions, m.shares, m.greedy, m.parents, m.works} {
		for _, f := range look() {
			if f.Elsewhere = true; f.Matters() {
				list = append(list, f)
			}
		}
	}
	if m.Connected {
		list = append(list, m.ofVendor()...)
	}
	slices.SortStableFunc(list, func(a, b explain.Finding) int { return cmp.Compare(weight(b), weight(a)) })
	return list
}

// ofVendor are those of the server's own counters and sessions.
func (m *Minute) ofVendor() (list []explain.Finding) {
	switch m.Report.Vendor {
	case "PostgreSQL":
		list = append(list, postgres.Findings(&m.Report)...)
	case "MariaDB", "MySQL":
		list = append(list, mariadb.Findings(&m.Report)...)
	}
	each := func(f explain.Finding) bool { return f.EachTime && f.Plain }
	if len(m.greedy()) == 0 && !slices.ContainsFunc(list, each) {
		list = append(list, m.heavy()...)
	}
	if m.follows(explain.Locks) { // a holder that waits for a CPU or a device is none that the server's settings move
		still := m.Ends.Share(explain.Locks, func(e chain.End) bool {
			return e.Kind == chain.Asleep || e.Kind == chain.Remote
		})
		list = slices.DeleteFunc(list, func(f explain.Finding) bool {
			return f.Part == explain.Locks && f.Parameter != explain.Keeper && still.High < half
		})
	}
	return list
}

// explains is what a finding is known to take, as a share of active time.
func explains(f explain.Finding) float64 {
	if f.Explains == nil {
		return 0
	}
	return *f.Explains
}

// weight is what a finding is ranked by among others: a counter that says by itself that a setting does not fit counts
// for a quarter of its bound.
func weight(f explain.Finding) float64 {
	if f.Explains == nil && f.Plain && f.AtMost != nil {
		return *f.AtMost / 4
	}
	return explains(f)
}

// touched are the parts that a lever of the platform shortens.
var touched = map[string]explain.PartName{lever.Log: explain.LogWait, lever.Data: explain.DataReads}

// before reports that a setting of the server comes before a lever: it takes more, or its counter says that it makes
// the very waits that the lever would shorten. Needless work, and what a counter says, goes before CPUs are bought for
// it, and what a counter says before what is only possible. CPUs that the host has and the service may not use cost
// nothing. What a program does by its design comes before what is worthwhile only if it takes most of the time.
func (m *Minute) before(f explain.Finding, l *lever.Lever) bool {
	if l != nil && l.Verdict == lever.Worthwhile && f.Parameter == workOfKernel && explains(f) < half {
		return false
	}
	return l == nil || explains(f) >= *l.Estimate || f.Plain && touched[l.Name] == f.Part ||
		weight(f) >= lever.Margin && (*l.Estimate < lever.Margin || l.Verdict != lever.Worthwhile ||
			l.Name == lever.CPUs && !m.Host.Bound() && (f.Plain || f.Part == explain.DatabaseCPU))
}

// foremost is the finding that matters most, and whether it comes before the first lever; nil: none does.
func (m *Minute) foremost(first *lever.Lever) (f explain.Finding, leads bool) {
	list := m.Server()
	for _, f := range list {
		if m.before(f, first) {
			return f, true
		}
	}
	if len(list) > 0 {
		f = list[0]
	}
	return f, false
}

// ofServer says that finding.
func (m *Minute) ofServer(first *lever.Lever) (says []string, leads bool) {
	f, leads := m.foremost(first)
	where := ", in the server: "
	if f.Elsewhere {
		where = ": "
	}
	switch {
	case leads:
		return append(f.Clauses(), "first"+where+f.Step), true
	case f.Text != "":
		return append([]string{"also" + where + f.Text}, f.More...), false
	}
	return nil, false
}

// ran is the statement that had most of a part of the time, for a sentence; "": none stands out.
func (m *Minute) ran(part explain.PartName) string {
	if part == explain.DatabaseCPU && len(m.heavy()) > 0 { // that says it
		return ""
	}
	for _, s := range m.Report.Statements {
		if s.Part == part && s.ID != "" && s.Share.Low >= mostly {
			return fmt.Sprintf("statement %s (%s) has %s of %s", s.ID, strings.ReplaceAll(s.Kind, "_", " "),
				result.Share(s.Share.Value), spent[part])
		}
	}
	return ""
}

// heavily is the CPU time of a transaction, s, from which its plan may matter: one that finds a row by an index takes a
// tenth of it.
const heavily = 1e-3

// heavy is the statement that has most of the time of a server that mostly computes: its plan is what can change.
func (m *Minute) heavy() []explain.Finding {
	r := &m.Report
	computes := m.share(explain.DatabaseCPU)
	if r.Transactions <= 0 || r.Part(explain.DatabaseCPU).Seconds < heavily*float64(r.Transactions) {
		return nil
	}
	for _, s := range r.Statements {
		if s.Part != explain.DatabaseCPU || s.ID == "" || s.Share.Value*computes.Value < half || s.Share.Low < mostly {
			continue
		}
		most := computes.High * s.Share.High
		// what it reads, and the CPUs that it keeps
		for _, p := range []explain.PartName{explain.RunQueue, explain.DataReads} {
			most += m.share(p).High
		}
		return []explain.Finding{{Parameter: "statement " + s.ID, Part: explain.DatabaseCPU, Number: s.Share.Value,
			Unit: "of the time on CPUs", N: int64(s.Share.N), Plain: true,
			AtMost: result.Finite(min(1, most)),
			Text: fmt.Sprintf("statement %s (%s) has %s of the time on CPUs", s.ID, strings.ReplaceAll(s.Kind, "_", " "),
				result.Share(s.Share.Value)),
			Step: "look at its plan (explain analyze) for an index that it lacks, or for what planning takes; hostlab assess --texts --all shows its text"}}
	}
	return nil
}

// spent is the time of a part, in a sentence.
var spent = map[explain.PartName]string{explain.DatabaseCPU: "the time on CPUs",
	explain.RunQueue: "the waits for a CPU", explain.LogWait: "the waits for the log",
	explain.DataReads: "the waits for data", explain.Locks: "the waits for locks", explain.OtherWaits: "the other waits",
	explain.Peers: "the waits for other servers", explain.Application: "the pauses of the application",
	explain.Unexplained: "the time that nothing explains"}

// wide is how far a bound is from what is likely, so that it takes a reason.
const wide = 0.2

// serverSection shows settings of the server that matter.
func (m *Minute) serverSection() document.Section {
	t := &document.Table{Columns: append(document.Headings("setting", "takes", "at most"),
		document.Column{Head: "what shows it"}),
		Lead: "No lever of the platform moves these: they are settings of the server, or what other programs do."}
	share := func(v *float64) document.Cell {
		if v == nil {
			return document.Text("unknown")
		}
		return document.Number(*v, result.Share(*v))
	}
	for _, f := range m.Server() {
		row := t.Add(document.Text(f.Parameter), share(f.Explains), share(f.AtMost), document.Text(f.Says()))
		row.Notes = []document.Line{{Text: lever.Sentence("to change it: " + f.Step), Tone: document.Quiet}}
		if f.Unseen != "" && f.AtMost != nil && *f.AtMost-explains(f) > wide {
			row.Notes = append(row.Notes, document.Line{Text: lever.Sentence("the limit is wide: " + f.Unseen),
				Tone: document.Quiet})
		}
	}
	return document.Titled("What the server itself tells", t)
}

// statements shows which ran most in each part that matters.
func (m *Minute) statements() document.Section {
	t := &document.Table{Columns: append(document.Headings("part", "of the part", "95 % interval"),
		document.Column{Head: "statement"}),
		Lead: "Which statements ran, by looks at the server, one a second. Those that differ in values alone count as one."}
	for _, s := range m.Report.Statements {
		id := s.Kind + " " + s.ID
		if s.ID == "" {
			id = "not shown by the server"
		}
		row := t.Add(document.Text(s.Part.Title()), document.Number(s.Share.Value, result.Share(s.Share.Value)),
			document.Text(s.Share.Percent().Interval()), document.Text(id))
		if s.Text != "" {
			row.Notes = []document.Line{{Text: s.Text, Tone: document.Quiet}}
		}
	}
	if !slices.ContainsFunc(m.Report.Statements, func(s explain.Statement) bool { return s.Text != "" }) {
		t.Lead += " --texts shows them."
	}
	return document.Titled("Statements", t)
}

// blockers shows for whom sessions waited.
func (m *Minute) blockers() document.Section {
	t := &document.Table{Columns: append(document.Headings("what the holder did", "of lock waits", "95 % interval",
		"chain"),
		document.Column{Head: "where, and who"}),
		Lead: "Who held the locks that sessions waited for: the last one of each chain of waits."}
	for _, b := range m.Report.Blockers {
		t.Add(document.Text(cmp.Or(b.Event, b.Part.Title())), document.Number(b.Share.Value, result.Share(b.Share.Value)),
			document.Text(b.Share.Percent().Interval()), document.Number(float64(b.Depth), fmt.Sprint(b.Depth)),
			document.Text(holder(b)))
	}
	return document.Titled("Who held the locks", t)
}

// holder names where a lock was, and who held it.
func holder(b explain.Blocker) string {
	where := "relation not known"
	if b.Relation != "" {
		where = "on " + b.Relation
	}
	if b.PID == 0 {
		return where
	}
	if b.Sessions > 1 {
		return where + fmt.Sprintf(", %s, most often %s (%s)", screen.Count(b.Sessions, "session"), b.Who(),
			result.Share(b.Held))
	}
	return where + ", " + b.Who()
}

// mostly is the share from which one session is named as the holder.
const mostly = 0.5

// held is a clause on who held what the service's sessions waited for; "": that does not show.
func (m *Minute) held() string {
	if len(m.Report.Blockers) == 0 || m.share(explain.Locks).Value < lever.Margin {
		return ""
	}
	b := m.Report.Blockers[0]
	if b.Event == explain.Deadlocked { // a finding says so
		return ""
	}
	both := b.Share.N == 2 && b.Held == 1 // which says who it was then, and nothing of how often
	named := b.PID != 0 && b.Held >= mostly && (both || b.Held*float64(b.Share.N) >= followed)
	if m.follows(explain.Locks) && !named && (b.All() == "" || b.Share.N < followed) {
		return "" // windows show more than looks once a second
	}
	doing := map[explain.PartName]string{explain.DatabaseCPU: "ran, or was ready to",
		explain.LogWait:   "waited for the log",
		explain.DataReads: "read data", explain.Application: "waited for its client within a transaction"}[b.Part]
	doing = cmp.Or(doing, "showed as "+cmp.Or(b.Event, string(b.Part)))
	says := fmt.Sprintf("in %s of lock waits the holder %s", result.Share(b.Share.Value), doing)
	if b.Relation != "" {
		says += ", on " + b.Relation
	}
	if named && both {
		return says + ": at both looks " + b.Who()
	} else if named {
		return says + ": " + b.Who()
	} else if all := b.All(); all != "" {
		return says + ": one of " + all
	}
	return says
}
