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
	"strings"
	"time"
	"unicode/utf8"

	"hostlab/internal/check"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/host"
	"hostlab/internal/lazyre"
	"hostlab/internal/report"
	"hostlab/internal/report/effects"
	"hostlab/internal/screen"
	"hostlab/internal/watch"
)

// Kind is what wrote a document.
type Kind string

const (
	Assessment Kind = report.Kind
	Checked    Kind = check.Kind
	FactsOnly  Kind = host.Kind
	Verified   Kind = "verify"
	Effects    Kind = effects.Kind // of experiments
	Watched    Kind = watch.AnalysisKind
	Planned    Kind = rollout.Kind
	// Day is an assessment of a time of a ring: it says nothing of the host's checks and probes.
	Day Kind = "day"
)

// MaxBody is the largest document that is read, in bytes. An assessment of 512 CPUs has some 2 MB.
const MaxBody = 16 << 20

// future is how far a host's clock may be ahead.
const future = 10 * time.Minute

// earliest is the year from which on documents are: clocks that were never set say 1970, and years before 1678 have no
// ns.
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

// forms are the documents that are read, by kind.
var forms = map[Kind]struct {
	schema int
	read   func(d *Document, body []byte) error
}{
	Assessment: {report.Schema, (*Document).assessment},
	Checked:    {check.Schema, (*Document).checks},
	FactsOnly:  {host.Schema, (*Document).facts},
	Verified:   {1, (*Document).asSet},
	Effects:    {effects.Schema, (*Document).experiments},
	Watched:    {1, (*Document).afterQuiet},
	Planned:    {rollout.Schema, (*Document).plan},
}

// Refused is the error of a document that cannot be kept, in one line.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// name is what a host may be called: as inventories do, and harmless as a file's name.
var name = lazyre.New(`^[A-Za-z0-9_]([A-Za-z0-9._:-]{0,252}[A-Za-z0-9_])?$`)

// NotHost is why a text is no name of a host; nil: it is one.
func NotHost(text string) error {
	if name.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is not a host name: it has letters, digits, \".\", \"_\", \":\" and \"-\", 254 at most, and begins "+
		"and ends with a letter, a digit or \"_\"", screen.Short(text))
}

// Read reads a document. as is the host's name in the inventory; "" takes the document's own. now is when it was
// received. Errors: *Refused.
func Read(body []byte, as string, now time.Time) (*Document, error) {
	var head struct {
		Kind    Kind       `json:"kind"`
		Schema  int        `json:"schema"`
		Version string     `json:"version"`
		Started time.Time  `json:"started"`
		Host    string     `json:"host"`
		Machine string     `json:"machine"`
		Role    check.Role `json:"role"`
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, refuse("it is empty")
	}
	if err := decode(body, &head); err != nil {
		if len(body) > 0 && body[0] >= 0xef { // Windows' programs
			return nil, refuse("not JSON: it is UTF-16, or begins with a byte order mark; write it as UTF-8 without one")
		}
		first := bytes.TrimSpace(body)[0]
		if utf8.Valid(body) && first >= ' ' && first != '{' && first != '[' { // a page of text may begin with a number
			return nil, refuse("this is text; send JSON: add --format json to the command that made it")
		}
		return nil, refuse("%s", plainly(err))
	}
	form, stored := forms[head.Kind]
	switch {
	case head.Kind == "":
		return nil, refuse("not a document of hostlab: it names no kind")
	case !stored:
		return nil, refuse(
			"the fleet does not store this kind of document; it stores those of assess, check, facts, verify, " +
				"report, watch --from and fleet rollout plan")
	case head.Schema != form.schema:
		return nil, refuse("%s of schema %d, but this hostlab reads %d; use the version that wrote it (%s)", head.Kind,
			head.Schema, form.schema, known(head.Version))
	case head.Kind == Planned && as != "": // a host's folder in a spool has what that host says
		return nil, refuse("a roll-out plan belongs to no host: move it out of the hosts' folders, and leave --host out")
	}
	d := &Document{Kind: head.Kind, Schema: head.Schema, Version: head.Version, Host: head.Host, Machine: head.Machine,
		Role: head.Role, Started: head.Started, Hash: Hash(body), Body: body}
	if err := form.read(d, body); err != nil {
		if refused, ok := errors.AsType[*Refused](err); ok {
			return nil, refused
		}
		return nil, refuse("%s", plainly(err))
	}
	if as != "" {
		d.Host = as
	}
	switch {
	case d.Plan != nil: // is of no host, so that no token of a host may send it
	case d.Host == "":
		return nil, refuse("it does not name its host: put it into a folder of the host's name, or use --host")
	case NotHost(d.Host) != nil:
		return nil, refuse("%s", NotHost(d.Host))
	}
	of := cmp.Or(d.Host, "the host that planned it")
	switch {
	case d.Started.IsZero():
		return nil, refuse("it does not say when it was written: take one of a newer hostlab, written with --format json")
	case d.Started.After(now.Add(future)):
		return nil, refuse("it is from the future: written at %s; set the clock of %s", d.Started.UTC().Format(time.DateTime),
			of)
	case d.Started.Year() < earliest:
		return nil, refuse("it is from before hostlab: written at %s; set the clock of %s",
			d.Started.UTC().Format(time.DateTime), of)
	}
	return d, nil
}

// decode reads one JSON value and nothing after it. Numbers of facts stay as they are written. PostgreSQL keeps no NUL
// in a text, so that another character stands for it; the document's bytes stay.
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
