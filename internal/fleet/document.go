// Package fleet reads the documents that hostlab's commands write on many hosts, and answers what one host cannot:
// which hosts differ, since when, and where a change would pay most. Documents are the interface: their bytes are
// kept as they came, and everything else can be made of them again.
package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/host"
	"hostlab/internal/lazyre"
	"hostlab/internal/lever"
	"hostlab/internal/report"
	"hostlab/internal/report/effects"
	"hostlab/internal/watch"
)

// Kind is what wrote a document.
type Kind string

// The kinds.
const (
	Assessment Kind = "assess"
	Checked    Kind = "check"
	FactsOnly  Kind = "facts"
	Verified   Kind = "verify"
	Effects    Kind = "report" // of experiments
	Watched    Kind = "watch"  // --analyze
	Planned    Kind = rollout.Kind
)

// MaxBody is the largest document that is read, in bytes. An assessment of 512 CPUs has some 2 MB.
const MaxBody = 16 << 20

// future is how far a host's clock may be ahead.
const future = 10 * time.Minute

// earliest is the year from which on documents are: clocks that were never set say 1970, and years before 1678 have no ns.
const earliest = 2000

// Document is one that a host has written, or a plan of a roll-out.
type Document struct {
	Kind    Kind
	Schema  int
	Version string // of the hostlab that wrote it
	Host    string
	Machine string // keyed hash of the machine's id; "" unknown
	Role    check.Role
	Started time.Time
	Hash    string // SHA-256 of Body, in hex
	Body    []byte
	Packed  []byte // Body as stores keep it; nil: not packed yet

	Facts    map[string]Value // by path; nil: it says nothing of facts
	Stratum  string           // of its facts; "": not known
	Findings []Finding        // of Role; nil: it says nothing of checks
	Measured []Measurement
	Levers   []Lever
	Effects  []Effect
	Verdict  string
	Service  string
	Plan     *rollout.Plan // of a roll-out, which is of no host; nil: it is another document
}

// newest are the schemas that are read, by kind. Older ones differ in keys that are not read here.
var newest = map[Kind]int{Assessment: report.Schema, Checked: check.Schema, FactsOnly: host.Schema, Verified: 1,
	Effects: effects.Schema, Watched: 1, Planned: rollout.Schema}

// Refused is the error of a document that cannot be kept, in one line.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// name is what a host may be called: as inventories do, and harmless as a file's name.
var name = lazyre.New(`^[A-Za-z0-9_]([A-Za-z0-9._:-]{0,252}[A-Za-z0-9_])?$`)

// envelope holds the keys that tell kinds apart, and those that all have.
type envelope struct {
	Schema  *int           `json:"schema"`
	Version string         `json:"version"`
	Started time.Time      `json:"started"`
	Host    string         `json:"host"`
	Machine string         `json:"machine"`
	Role    check.Role     `json:"role"`
	Facts   map[string]any `json:"facts"`
	Results []Finding      `json:"results"`
	Probes  []Measurement  `json:"probes"`
	Levers  []Lever        `json:"levers"`
	Time    *struct {
		Wall   float64 `json:"wall"`
		Active float64 `json:"active"`
	} `json:"time"`
	Service *struct {
		Name string `json:"name"`
	} `json:"service"`
	Verdict  *words          `json:"verdict"`
	Identity json.RawMessage `json:"identity"`
	Topology json.RawMessage `json:"topology"`
	others
}

// words are a verdict, which some documents have as a text and others as an object with one.
type words string

// UnmarshalJSON reads both.
func (w *words) UnmarshalJSON(data []byte) error {
	var object struct {
		Text string `json:"text"`
	}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(w))
	}
	err := json.Unmarshal(data, &object)
	*w = words(object.Text)
	return err
}

func (e *envelope) kind() (Kind, error) {
	switch {
	case e.Schema == nil:
		return "", refuse("not a document of hostlab: it has no schema")
	case e.Probes != nil && e.Facts != nil && e.Verdict != nil:
		return Assessment, nil
	case e.Results != nil && e.Role != "":
		return Checked, nil
	case e.Identity != nil && e.Topology != nil:
		return FactsOnly, nil
	case e.Action == "verify" && e.Outcomes != nil:
		return Verified, nil
	case e.Kind == rollout.Kind:
		return Planned, nil
	case e.Kind == watch.AnalysisKind:
		return Watched, nil
	case e.Experiments != nil && e.Effects != nil:
		return Effects, nil
	}
	return "", refuse("the fleet does not store this kind of document; it stores those of assess, check, facts, verify, " +
		"report, watch --analyze and fleet rollout plan")
}

// Read reads a document. as is the host's name in the inventory; "" takes the document's own. now is when it was
// received. Errors: *Refused.
func Read(body []byte, as string, now time.Time) (*Document, error) {
	var e envelope
	if err := decode(body, &e); err != nil {
		if len(body) > 0 && body[0] >= 0xef { // Windows' programs
			return nil, refuse("not JSON: it is UTF-16, or begins with a byte order mark; write it as UTF-8 without one")
		}
		return nil, refuse("%s", plainly(err))
	}
	kind, err := e.kind()
	if err != nil {
		return nil, err
	}
	if *e.Schema > newest[kind] {
		return nil, refuse("%s of schema %d, but this hostlab reads up to %d; use the version that wrote it (%s) or a newer "+
			"one",
			kind, *e.Schema, newest[kind], known(e.Version))
	}
	switch {
	case kind == Planned && as != "": // a host's folder in a spool has what that host says
		return nil, refuse("a roll-out plan belongs to no host: move it out of the hosts' folders, and leave --host out")
	case kind == Planned:
		return readPlan(body, now)
	}
	d := &Document{Kind: kind, Schema: *e.Schema, Version: e.Version, Host: e.Host, Machine: e.Machine, Role: e.Role,
		Started: e.Started, Hash: Hash(body), Body: body, Findings: e.Results, Measured: e.Probes, Levers: e.Levers}
	d.fromOthers(&e)
	facts := e.Facts
	if kind == FactsOnly {
		if err := decode(body, &facts); err != nil {
			return nil, refuse("its facts cannot be read: %s", plainly(err))
		}
	}
	if facts != nil {
		d.readFacts(facts)
		d.Stratum = Stratum(d.Facts)
	}
	if as != "" {
		d.Host = as
	}
	for i := range d.Measured {
		// A document has it in the measurement's unit; of a ratio it is a share already.
		if m := &d.Measured[i]; m.Noise != nil && m.Value != nil && m.Unit != "ratio" && *m.Value != 0 {
			share := math.Abs(*m.Noise / *m.Value)
			m.Noise = &share
		}
	}
	if e.Verdict != nil {
		d.Verdict = string(*e.Verdict)
	}
	for i := range d.Levers {
		d.Levers[i].Likely, d.Levers[i].AtMost = asShare(d.Levers[i].Likely), asShare(d.Levers[i].AtMost)
	}
	if e.Service != nil && e.Time != nil && e.Time.Wall > 0 {
		d.Service = e.Service.Name
		for i := range d.Levers {
			d.Levers[i].SecondsPerDay = perDay(d.Levers[i], e.Time.Active/e.Time.Wall)
		}
	}
	switch {
	case !name.MatchString(d.Host):
		if d.Host == "" {
			return nil, refuse("it does not name its host: put it into a folder of the host's name, or use --host")
		}
		return nil, refuse("%q is not a host name", d.Host)
	case d.Started.IsZero():
		return nil, refuse("it does not say when it was written: take one of a newer hostlab, written with --format json")
	case d.Started.After(now.Add(future)):
		return nil, refuse("it is from the future: written at %s; set the clock of %s", d.Started.UTC().Format(time.DateTime),
			d.Host)
	case d.Started.Year() < earliest:
		return nil, refuse("it is from before hostlab: written at %s; set the clock of %s", d.Started.UTC().Format(time.DateTime),
			d.Host)
	}
	return d, nil
}

// asShare is a share that a document tells; nil: not known, as one that is none.
func asShare(v *float64) *float64 {
	if v == nil || *v < 0 || *v > 1 {
		return nil
	}
	return v
}

// readPlan reads a plan. It is of no host, so that no token of a host may send it.
func readPlan(body []byte, now time.Time) (*Document, error) {
	p, err := rollout.Read(body)
	switch {
	case err != nil:
		return nil, refuse("%v", err)
	case p.Created.After(now.Add(future)), p.Created.Year() < earliest:
		return nil, refuse("it is from the future, or from before hostlab: planned at %s", p.Created.UTC().Format(time.DateTime))
	}
	return &Document{Kind: Planned, Schema: p.Schema, Version: p.Version, Started: p.Created, Hash: Hash(body), Body: body,
		Plan: p}, nil
}

// decode reads one JSON value and nothing after it. Numbers of facts stay as they are written. PostgreSQL keeps no NUL in a
// text, so that another character stands for it; the document's bytes stay.
func decode(body []byte, into any) error {
	if nul := []byte(`\u0000`); bytes.Contains(body, nul) {
		body = bytes.ReplaceAll(body, nul, []byte(`\ufffd`))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF { //nolint:errorlint // as Token returns it
		return &json.SyntaxError{Offset: dec.InputOffset()}
	}
	return nil
}

func known(version string) string {
	if version == "" {
		return "not named in it"
	}
	return version
}

// plainly shortens what encoding/json says, which may quote a document.
func plainly(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not JSON: syntax error at byte %d", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		a := "a"
		if strings.ContainsAny(kind.Value[:1], "ao") { // array, object
			a = "an"
		}
		return fmt.Sprintf("not a document of hostlab: %s is %s %s", cmp.Or(kind.Field, "it"), a, kind.Value)
	}
	return "not JSON: it is cut short"
}

// Finding is a check's answer, as check prints it.
type Finding struct {
	Check    string       `json:"id"`
	Title    string       `json:"title"`
	Severity string       `json:"severity"`
	Status   check.Status `json:"status"`
	Detail   string       `json:"detail"`
	Remedy   string       `json:"remedy"`
	// Exception is the one by which the host itself accepted it.
	Exception *check.Exception `json:"exception"`
}

// Measurement is one of assess' probes, in base units.
type Measurement struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Value    *float64 `json:"value"` // nil: not known
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	N        int      `json:"n"`
	Noise    *float64 `json:"noise_floor"` // as a share of Value
	Unit     string   `json:"unit"`
	Evidence string   `json:"evidence"`
}

// Lever is one of a host's.
type Lever struct {
	lever.Lever
	// SecondsPerDay of active time that it would likely save; nil: not known.
	SecondsPerDay *float64 `json:"-"`
}

// perDay is what a lever would likely save, at the load that was watched: active seconds in each second.
func perDay(l Lever, active float64) *float64 {
	if l.Likely == nil {
		return nil
	}
	s := *l.Likely * active * (24 * time.Hour).Seconds()
	return &s
}

// ADay says seconds that a change would save in each day, summed over sessions: they may be more than a day has.
func ADay(seconds float64) string {
	switch hours := seconds / 3600; {
	case hours >= 99.5:
		return fmt.Sprintf("%.0f h a day", hours)
	case hours >= 2:
		return fmt.Sprintf("%.3g h a day", hours)
	case seconds >= 120:
		return fmt.Sprintf("%.0f min a day", seconds/60)
	}
	return fmt.Sprintf("%.2g s a day", seconds)
}
