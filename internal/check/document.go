package check

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// Schema is the version of the output's form; docs/schema/check.schema.json
// describes it.
const Schema = 1

// Kind tells the document from others.
const Kind = "check"

var tones = map[Severity]document.Tone{High: document.Caution, Medium: document.Notice, Low: "", Info: document.Quiet}

// Document reports results: findings first, the worst on top, then what could not be seen. Without all, it has as many
// commands as fit one screen. all lists information, what is ok and what does not apply too, with all evidence.
// started is when the host was looked at.
func Document(f *host.Facts, role Role, results []Result, all bool, started time.Time) *document.Document {
	d := head(f, role, results, all, started)
	if d.Sections = Sections(results, all, 0); all {
		return d
	}
	return document.Brief(func(most int) *document.Document {
		d := *d
		d.Sections = Sections(results, false, most)
		return &d
	})
}

// head is a document without its sections.
func head(f *host.Facts, role Role, results []Result, all bool, started time.Time) *document.Document {
	name := f.Identity.Hostname.Or("")
	d := &document.Document{Name: "check", Title: cmp.Or(name, "this host") + " as " + string(role), When: started}
	found := ByGain(results, nil) // what is to be changed, whatever is shown
	if len(found) == 0 {
		blind := ""
		if n := len(withStatus(results, Unknown)); n > 0 {
			blind = fmt.Sprintf("; %d could not look", n)
		}
		d.Answer = []document.Line{{Text: fmt.Sprintf("No check found anything to change for a %s%s.", role.Noun(), blind)}}
	} else {
		d.Answer = []document.Line{
			{Text: fmt.Sprintf("%s found something to change for a %s: %s.", screen.Count(len(found), "check"), role.Noun(),
				bySeverity(found))},
			{Text: fmt.Sprintf(`Start with %s; 'hostlab check --explain %[1]s' gives the reason.`, found[0].ID),
				Tone: document.Quiet},
		}
	}
	d.About = []string{cmp.Or(name, "This host") + " is judged as " + string(role) + ". " + purpose(role), judgedFor(f),
		Tally(results) + "." + map[bool]string{false: " --all lists them, with all that was read."}[all]}
	d.Warnings, d.Rows = Lapsed(results), rows(results)
	d.Data = Report{document.Head{Kind: Kind, Schema: Schema}, started.UTC(), name, role, seen(f), results}
	return d
}

// Report is the output as JSON.
type Report struct {
	document.Head
	Started time.Time `json:"started"` // when the host was looked at
	Host    string    `json:"host"`    // its name; "": not known
	Role    Role      `json:"role"`    // what the checks were judged for
	Servers []Server  `json:"servers"` // that were seen and judged
	Results []Result  `json:"results"` // one a check, in a fixed order
}

// Server is a server that was judged.
type Server struct {
	Kind    string `json:"kind"`    // postgresql, oracle, hana, ..., or sap for an application server
	Version string `json:"version"` // "": not known
	PID     int    `json:"pid"`     // 0: installed, not seen running
}

func seen(f *host.Facts) []Server {
	list := []Server{}
	for _, d := range servers(f) {
		list = append(list, Server{d.Kind, d.Version.Or(""), d.PID})
	}
	return list
}

// judgedFor says which servers the checks had before them.
func judgedFor(f *host.Facts) string {
	var names []string
	for _, d := range servers(f) {
		names = append(names, nameOf(d))
	}
	switch n := len(names); {
	case f.Windows != nil:
		return ""
	case n == 0:
		return "No running database server was found: only checks that hold for any server apply."
	case n > mostNamed:
		names = append(names[:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
	}
	return "Servers here: " + inWords(names, "and") + "."
}

// mostNamed is how many servers the head of a report names.
const mostNamed = 4

// Sections holds a section a finding, the worst first, then the other results. A page has more of each than a
// terminal, unless all is asked for: that has so many findings at most with their commands, and names the others.
func Sections(results []Result, all bool, most int) []document.Section {
	var out []document.Section
	var more []string
	for i, r := range Findings(results) { // the worst first
		short, full := finding(r, 1), finding(r, len(r.Evidence))
		if all {
			out = append(out, full)
			continue
		}
		short.Where, full.Where, full.Anchor = document.Terminal, document.Page, r.ID
		full.Blocks = append(full.Blocks, document.Pairs{{Name: "why", Value: r.Why},
			{Name: "source", Value: cmp.Or(r.Source, "none")}, {Name: "sources disagree", Value: cmp.Or(r.Disagree, "no")}})
		switch { // a terminal shows information with all else
		case r.Severity == Info:
		case i < most:
			out = append(out, short)
		default:
			more = append(more, r.ID+" "+r.Severity.String()+": "+r.Title)
		}
		out = append(out, full)
	}
	if more != nil {
		out = append(out, document.Titled("More findings", document.Points(document.AtMost(10+most, more, "finding")...),
			document.Line{Text: "--all prints their commands.", Tone: document.Quiet}).On(document.Terminal))
	}
	blind := document.Titled("Could not look", listed(worstFirst(withStatus(results, Unknown)), false))
	if !all && most < 3 { // the head has their number
		blind.Where = document.Page
	}
	rest := []document.Section{document.Titled("Ok", listed(withStatus(results, OK), true)).Closed(),
		document.Titled("Not applicable", listed(withStatus(results, NotApplicable), true)).Closed()}
	for i := range rest {
		if !all {
			rest[i].Where = document.Page
		}
	}
	return append(append(out, document.Titled(AcceptedTitle, accepted(withStatus(results, Accepted))), blind), rest...)
}

// finding shows one with at most so many of the values that were read, those that are wrong first.
func finding(r Result, values int) document.Section {
	s := document.Titled(fmt.Sprintf("%s %s: %s", r.ID, r.Severity, r.Title),
		document.Line{Text: r.Detail, Tone: tones[r.Severity]},
		document.Quiet.Points(evidence(r.Evidence[:min(values, len(r.Evidence))])...))
	if r.Remedy != "" {
		s.Blocks = append(s.Blocks, document.Commands{{Line: r.Remedy}})
	}
	return s
}

// accepted holds a pair a finding that is accepted: what was found, why it may stay, and until when.
func accepted(results []Result) (pairs document.Pairs) {
	for _, r := range worstFirst(results) {
		pairs = append(pairs, document.Pair{Name: r.ID + " " + r.Severity.String(), Value: r.Title + ": " + r.Detail,
			More: append([]string{"accepted: " + r.Exception.String()}, evidence(r.Evidence)...)})
	}
	return pairs
}

func evidence(rows []Evidence) (list []string) {
	for _, e := range rows {
		list = append(list, e.Path+" = "+e.Value)
	}
	return list
}

// listed holds a pair a result, with what was read where that is asked for.
func listed(results []Result, read bool) (pairs document.Pairs) {
	for _, r := range results {
		p := document.Pair{Name: r.ID, Value: r.Title + ": " + r.Detail}
		if read {
			p.More = evidence(r.Evidence)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// Tally counts the answers: "41 checks: 5 found something, 20 passed, ...".
func Tally(results []Result) string {
	if len(results) == 0 {
		return "no checks ran"
	}
	n := func(s Status) int { return len(withStatus(results, s)) }
	more := ""
	if a := n(Accepted); a > 0 {
		more = fmt.Sprintf(", %d accepted", a)
	}
	change := len(ByGain(results, nil))
	if notes := n(Finding) - change; notes > 0 {
		more = fmt.Sprintf(", %s%s", screen.Count(notes, "note"), more)
	}
	blind := ""
	if u := n(Unknown); u > 0 {
		blind = fmt.Sprintf(", %d could not look", u)
	}
	return fmt.Sprintf("%s: %d found something to change%s, %d passed%s, %d do not apply here",
		screen.Count(len(results), "check"), change, more, n(OK), blind, n(NotApplicable))
}

// bySeverity counts findings: "2 high, 1 low".
func bySeverity(findings []Result) string {
	n := map[Severity]int{}
	for _, r := range findings {
		n[r.Severity]++
	}
	var parts []string
	for s := High; s >= Info; s-- {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

// Noun names a machine of a role in a sentence.
func (r Role) Noun() string {
	switch r {
	case ProductionDB:
		return "production database server"
	case ProductionApp:
		return "production application server"
	}
	return "development system"
}

// purpose says what a role puts first.
func purpose(r Role) string {
	switch r {
	case ProductionDB:
		return "Predictable response times come before energy; commits must be fast and durable."
	case ProductionApp:
		return "Predictable response times come before energy."
	}
	return "Energy comes first; response times may vary."
}

func rows(results []Result) *document.Table {
	t := &document.Table{Columns: []document.Column{{Head: "check"}, {Head: "status"}, {Head: "severity"}, {Head: "title"},
		{Head: "detail"}}}
	for _, r := range results {
		t.Add(document.Texts(r.ID, string(r.Status), r.Severity.String(), r.Title, r.Detail)...)
	}
	return t
}

// Elsewhere takes the numbers of processes out of the commands for another host: they were those of the moment when it
// was recorded.
func Elsewhere(f *host.Facts, results []Result) {
	for _, d := range servers(f) {
		if d.PID == 0 {
			continue
		}
		named := regexp.MustCompile(`(/proc/|taskset -pc )` + strconv.Itoa(d.PID) + `\b`)
		for i := range results {
			r := &results[i]
			if text := named.ReplaceAllString(r.Remedy, "${1}PID"); text != r.Remedy {
				r.Remedy = text + fmt.Sprintf("\n# PID: that of %s, which was %d when this host was recorded", d.Kind, d.PID)
			}
		}
	}
}

// Explained is a check by itself, as JSON.
type Explained struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Why      string            `json:"why"`
	Source   string            `json:"source"`
	Disagree string            `json:"disagree"` // "": the sources do not
	Severity map[Role]Severity `json:"severity"` // in the roles that judge it
}

func explained(c Check) Explained {
	return Explained{c.ID, c.Title, c.Why, c.Source, c.Disagree, c.Severity}
}

// Explain is the long text of one check: why it matters, who says so, who disagrees, and how
// much it weighs in each role.
func Explain(c Check) *document.Document {
	var weights document.Pairs
	for _, r := range Roles {
		weights = append(weights, document.Pair{Name: string(r), Value: weight(c, r, "not judged")})
	}
	return &document.Document{Name: "check", Title: c.ID, Answer: []document.Line{{Text: c.ID + ": " + c.Title}},
		Data: struct {
			document.Head
			Explained
		}{document.Head{Kind: "check-explanation", Schema: Schema}, explained(c)},
		Sections: []document.Section{
			document.Titled("Why", document.Line{Text: c.Why}),
			document.Titled("Who recommends it", document.Line{Text: c.Source}),
			document.Titled("Where the sources disagree", document.Line{Text: cmp.Or(c.Disagree, "They do not.")}),
			document.Titled("Severity by role", weights),
		}, Rows: severities([]Check{c})}
}

// severities has a row for each check: what it looks for, and how much it weighs in each role.
func severities(checks []Check) *document.Table {
	t := &document.Table{Columns: []document.Column{{Head: "ID"}, {Head: "what it looks for"}}}
	for _, head := range []string{"db", "app", "dev"} {
		t.Columns = append(t.Columns, document.Column{Head: head})
	}
	for _, c := range checks {
		row := []string{c.ID, c.Title}
		for _, r := range Roles {
			row = append(row, weight(c, r, "-"))
		}
		t.Add(document.Texts(row...)...)
	}
	return t
}

// List names checks, with what they look for and how much they weigh in each role.
func List(checks []Check) *document.Document {
	data := []Explained{}
	for _, c := range checks {
		data = append(data, explained(c))
	}
	return &document.Document{Name: "check", Title: "Checks", Data: struct {
		document.Head
		Checks []Explained `json:"checks"`
	}{document.Head{Kind: "checks", Schema: Schema}, data},
		Answer:   []document.Line{{Text: screen.Count(len(checks), "check") + " and their severity by role."}},
		Sections: []document.Section{document.Titled("Checks", severities(checks))}}
}

func weight(c Check, r Role, none string) string {
	if s, ok := c.Severity[r]; ok {
		return s.String()
	}
	return none
}
