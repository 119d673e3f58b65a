package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Accepted is the answer of a check that found something which is accepted, for a reason and until a day.
const Accepted Status = "accepted"

// AcceptedTitle is the section of such findings.
const AcceptedTitle = "Accepted"

// Exception says that a finding is accepted. It holds through the day Until.
type Exception struct {
	Check  string `json:"check"`
	Host   string `json:"host"` // a pattern of host names, as path.Match has it
	Reason string `json:"reason"`
	Until  string `json:"until"` // 2027-03-31
	By     string `json:"by,omitempty"`
}

// day is the form of Until.
const day = time.DateOnly

// expired reports that the last day has passed where the time is now.
func (e Exception) expired(now time.Time) bool { return now.Format(day) > e.Until }

// holds reports that an exception is about a finding of a host.
func (e Exception) holds(id, host string) bool {
	match, _ := path.Match(strings.ToLower(e.Host), strings.ToLower(host))
	return e.Check == id && match
}

// String is what an exception says of itself: reason, last day and who.
func (e Exception) String() string {
	s := strings.TrimSuffix(e.Reason, ".") + "; until " + e.Until
	if e.By != "" {
		s += ", by " + e.By
	}
	return s
}

// OnHost are the exceptions about a host, whatever its name is called later: a record of it has another.
func OnHost(list []Exception, host string) (here []Exception) {
	for _, e := range list {
		if e.holds(e.Check, host) {
			e.Host = "*"
			here = append(here, e)
		}
	}
	return here
}

// Accept turns findings of a host that are accepted into accepted ones. A finding whose exceptions have all expired
// stays one, and keeps the last of them, so that it can be said.
func Accept(results []Result, list []Exception, host string, now time.Time) []Result {
	out := slices.Clone(results)
	for i := range out {
		r := &out[i]
		r.Status, r.Exception = Decide(r.ID, r.Status, r.Exception, list, host, now)
	}
	return out
}

// Decide is Accept of one answer, which may have an exception already.
func Decide(id string, s Status, own *Exception, list []Exception, host string, now time.Time) (Status, *Exception) {
	if s != Finding {
		return s, own
	}
	for _, e := range list {
		if e.holds(id, host) && (own == nil || own.Until < e.Until) {
			own = &e
		}
	}
	if own != nil && !own.expired(now) {
		s = Accepted
	}
	return s, own
}

// Excused are the exceptions in force on a host, by their checks' IDs; of several for one check, the one that holds
// longest.
func Excused(list []Exception, host string, now time.Time) map[string]Exception {
	out := map[string]Exception{}
	for _, e := range list {
		if e.holds(e.Check, host) && !e.expired(now) && out[e.Check].Until < e.Until {
			out[e.Check] = e
		}
	}
	return out
}

// Advises reports whether a check has advice on a setting, on some host and in some role: what excuses the check
// excuses it.
func (c Check) Advises(name string) bool {
	named := func(covered string) bool {
		s, err := setting.Named(covered)
		return err == nil && s.Name == name
	}
	return slices.ContainsFunc(c.Covers, named) || slices.ContainsFunc(Roles, func(r Role) bool {
		return slices.ContainsFunc(c.advised(&host.Facts{}, r), func(a setting.Assignment) bool { return a.Name == name })
	})
}

// Withheld are the lines about what the checks of a role would have set, had an exception not excused it.
func Withheld(f *host.Facts, r Role, excused map[string]Exception) (lines []string) {
	for _, c := range all() {
		if e, is := excused[c.ID]; is && c.speaks(f, r) && len(c.advised(f, r)) > 0 {
			lines = append(lines, e.withheld(c.Title))
		}
	}
	return lines
}

func (e Exception) withheld(title string) string {
	return e.Check + ", " + title + ": accepted: " + e.String()
}

// lapsed says of a finding that its exception has expired; "": it never had one.
func (r Result) lapsed() string {
	if r.Status != Finding || r.Exception == nil {
		return ""
	}
	return fmt.Sprintf("%s was accepted until %s (%s), and is a finding again", r.ID, r.Exception.Until,
		strings.TrimSuffix(r.Exception.Reason, "."))
}

// Lapsed are the lines about findings whose exceptions have expired.
func Lapsed(results []Result) (lines []string) {
	for _, r := range results {
		if l := r.lapsed(); l != "" {
			lines = append(lines, l+".")
		}
	}
	return lines
}

// problem says what is wrong with an exception; "": nothing. It spells the check's ID.
func (e *Exception) problem() string {
	c, err := Find(e.Check)
	e.Host = cmp.Or(e.Host, "*")
	switch {
	case e.Check == "":
		return "check is missing: write it as check = \"MEM-001\""
	case err != nil:
		return err.Error()
	case strings.TrimSpace(e.Reason) == "":
		return "reason is missing: say why " + c.ID + " is accepted"
	case e.Until == "":
		return "until is missing: write the last day as until = 2027-03-31"
	}
	if _, err := path.Match(e.Host, ""); err != nil {
		return fmt.Sprintf("host = %q: expected a pattern of names, such as \"db*\"", e.Host)
	}
	e.Check = c.ID
	return ""
}

// ReadExceptions reads a TOML file of exceptions, whose tables are named accept. The error is a line: what is wrong,
// and where.
func ReadExceptions(data []byte) ([]Exception, error) {
	var file struct {
		Accept []struct {
			Check, Host, Reason, By string
			Until                   toml.LocalDate
		}
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, inLine(err)
	}
	var list []Exception
	for i, a := range file.Accept {
		e := Exception{Check: a.Check, Host: a.Host, Reason: a.Reason, By: a.By}
		if a.Until != (toml.LocalDate{}) {
			e.Until = a.Until.String()
		}
		if problem := e.problem(); problem != "" {
			return nil, fmt.Errorf("%s: %s", placeOf(data, i), screen.Clean(problem))
		}
		list = append(list, e)
	}
	return list, nil
}

// inLine makes one line of an error of the TOML reader.
func inLine(err error) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		return fmt.Errorf(
			"line %d: there is no %s; an exception is a table [[accept]] with check, host, reason, until and by", line,
			screen.Short(screen.Clean(strings.Join(strict.Errors[0].Key(), "."))))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		if key := wrong.Key(); len(key) > 0 {
			want := "a text in quotes"
			if key[len(key)-1] == "until" {
				want = "a day without quotes, as 2027-03-31"
			}
			return fmt.Errorf("line %d: %s takes %s", line, screen.Short(screen.Clean(strings.Join(key, "."))), want)
		}
		return fmt.Errorf("line %d: %s", line, screen.Clean(strings.TrimPrefix(wrong.Error(), "toml: ")))
	}
	return errors.New(screen.Clean(err.Error()))
}

// placeOf names the line of the table of an exception, counted from 0; without such lines, which exception it is.
func placeOf(data []byte, n int) string {
	var at []int
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if head, _, _ := bytes.Cut(text, []byte("#")); string(bytes.Join(bytes.Fields(head), nil)) == "[[accept]]" {
			at = append(at, line)
		}
	}
	if n < len(at) {
		return fmt.Sprintf("line %d", at[n])
	}
	return fmt.Sprintf("exception %d", n+1)
}
