package fleet

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/screen"
)

// Proof is what a check says of a host now, and the documents that say so.
type Proof struct {
	Held
	First string    `json:"first_document"` // SHA-256 of that which said so first; "": its row is gone
	Last  string    `json:"last_document"`  // of the newest in which the check was
	Heard time.Time `json:"heard"`          // when that was written
}

// Report is the fleet for auditors: each answer of each check, with its evidence.
type Report struct {
	document.Head
	Made     string  `json:"made"`
	Hosts    int     `json:"hosts"`
	Stale    int     `json:"stale"`
	Answers  []Proof `json:"answers"` // what passed and what does not apply included
	findings []Proof
	accepted []Proof
	old      []Proof // findings of hosts that are not known any more
}

// NewReport applies exceptions and counts. The rows of hosts that are not known any more stay, with their age.
func NewReport(hosts []*Host, proofs []Proof, list []check.Exception, now time.Time, limit time.Duration) *Report {
	r := &Report{Head: HeadOf("report"), Made: now.UTC().Format(time.RFC3339), Hosts: len(hosts), Answers: proofs}
	stale := map[string]bool{}
	for _, h := range hosts {
		if stale[h.Name] = h.Stale(now, limit); stale[h.Name] {
			r.Stale++
		}
	}
	for i := range r.Answers {
		p := &r.Answers[i]
		accept(&p.Held, list, p.Host, now)
		p.Stale = stale[p.Host]
		switch {
		case p.Stale && p.Status == check.Finding && p.Severity != check.Severities[0]:
			r.old = append(r.old, *p)
		case p.Stale:
		case p.Status == check.Accepted:
			r.accepted = append(r.accepted, *p)
		case p.Status == check.Finding && p.Severity != check.Severities[0]:
			r.findings = append(r.findings, *p)
		}
	}
	for _, list := range [][]Proof{r.findings, r.old} {
		slices.SortStableFunc(list, func(a, b Proof) int { return rank(b.Severity) - rank(a.Severity) })
	}
	return r
}

// Document is the report for people; all answers are in its data.
func (r *Report) Document() *document.Document {
	short := func(hash string) string { return hash[:min(12, len(hash))] }
	table := func(list []Proof, why bool) *document.Table {
		t := &document.Table{Columns: document.Headings("host", "check", "severity", "since", "what was read", "document")}
		for _, p := range list {
			detail := p.Detail
			if why && p.Exception != nil {
				detail = "accepted: " + p.Exception.String()
			}
			t.Row(p.Host, p.Check, p.Severity, p.Since.Format(time.DateOnly), detail, short(p.Last))
		}
		return t
	}
	made, _ := time.Parse(time.RFC3339, r.Made) // written so above
	return &document.Document{Name: "fleet", Title: "Fleet report", When: made,
		Answer: []document.Line{{Text: fmt.Sprintf("%s on %s; %s accepted. The state of %s is unknown.",
			screen.Count(len(r.findings), "finding"), screen.Count(r.Hosts, "host"), screen.Count(len(r.accepted), "finding"),
			screen.Count(r.Stale, "host"))}},
		About: []string{"Made " + r.Made, "A document is named by the first 12 digits of its SHA-256; CSV and JSON have all"},
		Sections: []document.Section{document.Titled("Findings", table(r.findings, false)),
			document.Titled("Accepted", table(r.accepted, true)),
			document.Titled("Last findings of hosts whose state is unknown", table(r.old, false))}, Data: r}
}

// WriteCSV writes all answers (RFC 4180).
func (r *Report) WriteCSV(w io.Writer) error {
	rows := [][]string{{"host", "role", "check", "status", "severity", "since", "detail", "exception", "first_document",
		"last_document", "heard", "stale"}}
	for _, p := range r.Answers {
		exception := ""
		if p.Exception != nil {
			exception = p.Exception.String()
		}
		rows = append(rows, []string{p.Host, string(p.Role), p.Check, string(p.Status), p.Severity,
			p.Since.Format(time.RFC3339), p.Detail, exception, p.First, p.Last,
			p.Heard.Format(time.RFC3339), strconv.FormatBool(p.Stale)})
	}
	return writeCSV(w, rows)
}

func writeCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	for _, row := range rows {
		if err := out.Write(screen.Cells(row)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Point is a measurement of a host at a time.
type Point struct {
	Host string
	At   time.Time
	Measurement
	Hash string // SHA-256 of the document
}

// Span is a time in which a check found something.
type Span struct {
	Check, Severity string
	Since, Until    time.Time
}

// WritePoints writes a row a measurement.
func WritePoints(w io.Writer, points []Point) error {
	rows := [][]string{{"host", "time", "name", "value", "low", "high", "n", "noise_share", "unit", "evidence",
		"document"}}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, p := range points {
		rows = append(rows, []string{p.Host, p.At.UTC().Format(time.RFC3339), p.Name, number(p.Value), number(p.Low),
			number(p.High), strconv.Itoa(p.N), number(p.Noise), p.Unit, p.Evidence, p.Hash})
	}
	return writeCSV(w, rows)
}
