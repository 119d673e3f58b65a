package setting

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/screen"
)

// kind is how values of a setting are typed, written and shown: words, quantity, numbers, onOff, and the
// kinds of frequencies, idle states and SMT beside their settings.
type kind interface {
	// levels lists the values that may be written to an object here; nil: any that parse returns.
	levels(sys *System, o Object) ([]string, error)
	// parse turns what a person wrote (2.4GHz, max, never) into what the object will read
	// afterwards. The error names what is expected, or is unsettable.
	parse(sys *System, o Object, v string) (string, error)
	// spell is parse without a host, for profiles that other hosts take: kHz, us, min, max and shares stay.
	spell(v string) (string, error)
	// show returns a value as people see it: kHz as GHz, no_turbo as on and off.
	show(o Object, v string) string
	// describe returns what may be written, for people.
	describe() string
}

// Some kinds have more to say.
type (
	// noter describes an object: its range, or the latency of an idle state.
	noter interface {
		note(sys *System, o Object) string
	}
	// rounder reports how a value lies to what was asked for, such as the step nearest to a share; or "".
	rounder interface {
		rounded(sys *System, o Object, want, to string) string
	}
	// filer is a kind of which a spelled value is another in a file, or none that fits all hosts.
	filer interface {
		inFile(path, v string) (string, error)
	}
	// coder is a kind of file that holds no text.
	coder interface {
		decode(b []byte) string
		encode(v string) []byte
	}
)

// anything holds the defaults: no list of levels, and values that are shown as they are.
type anything struct{}

func (anything) levels(*System, Object) ([]string, error) { return nil, nil }
func (anything) show(_ Object, v string) string           { return v }

// words is one of the words that a file lists, or of those that are known.
type words struct {
	anything
	// the file beside the object's that lists them; ".": the object's own, with the one in force in brackets; "": known
	from  string
	known []string // those of the kernel, of which a host may offer fewer; nil: any word
}

func (w words) levels(sys *System, o Object) ([]string, error) {
	switch w.from {
	case "":
		return w.known, nil
	case ".":
		b, err := sys.FS.ReadFile(o.Path)
		return Choices(b), err
	}
	t, err := sys.text(beside(o, w.from))
	return strings.Fields(t), err
}

func (w words) parse(sys *System, o Object, v string) (string, error) {
	list, err := w.levels(sys, o)
	if err != nil {
		return "", unsettable{fmt.Errorf("what is offered here cannot be read: %w", err)}
	}
	return oneOf(v, list)
}

func (w words) spell(v string) (string, error) {
	if w.known != nil {
		return oneOf(v, w.known)
	}
	if v == "" || len(v) > 40 || strings.Trim(v,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-") != "" {
		return "", fmt.Errorf("%q: expected one word", screen.Short(v))
	}
	return v, nil
}

func (w words) describe() string {
	if n := len(w.known); n > 1 {
		return strings.Join(w.known[:n-1], ", ") + " or " + w.known[n-1]
	}
	return ""
}

// oneOf takes one of the words; the error names what is offered.
func oneOf(v string, words []string) (string, error) {
	switch {
	case slices.Contains(words, v):
		return v, nil
	case len(words) == 0:
		return "", fmt.Errorf("%q: nothing is offered here", screen.Short(v))
	}
	hint := ""
	if near := screen.Meant(v, words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return "", fmt.Errorf("%q: expected %s%s", screen.Short(v), strings.Join(words, ", "), hint)
}

// onOff is a switch that reads 1 and 0.
type onOff struct {
	inverted string // the file in which 1 is off
}

// switches are the words for on and off; 1 is on.
var switches = map[string]string{"on": "1", "1": "1", "yes": "1", "true": "1", "off": "0", "0": "0", "no": "0",
	"false": "0"}

// opposite is the other value of a switch.
var opposite = map[string]string{"1": "0", "0": "1"}

func (onOff) levels(*System, Object) ([]string, error) { return []string{"1", "0"}, nil }

func (k onOff) parse(_ *System, o Object, v string) (string, error) {
	w, err := k.spell(v)
	if err != nil {
		return "", err
	}
	return k.inFile(o.Path, w)
}

func (k onOff) inFile(path, v string) (string, error) {
	if path != "" && path == k.inverted {
		v = opposite[v]
	}
	return v, nil
}

func (onOff) spell(v string) (string, error) {
	if w, ok := switches[strings.ToLower(v)]; ok {
		return w, nil
	}
	return "", fmt.Errorf("%q: expected on or off", screen.Short(v))
}

func (k onOff) show(o Object, v string) string {
	if o.Path != "" && o.Path == k.inverted && opposite[v] != "" {
		v = opposite[v]
	}
	switch v {
	case "1":
		return "on"
	case "0":
		return "off"
	}
	return v
}

func (onOff) describe() string { return "on or off" }

// numbers are the fields of a file that holds several in a row.
type numbers struct {
	anything
	names string // of the fields: "SEMMSL SEMMNS SEMOPM SEMMNI"
}

func (n numbers) parse(_ *System, _ Object, v string) (string, error) { return n.spell(v) }

func (n numbers) spell(v string) (string, error) {
	fields := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	if len(fields) != len(strings.Fields(n.names)) {
		return "", fmt.Errorf("%q: expected %s", screen.Short(v), n.describe())
	}
	for i, f := range fields {
		value, err := strconv.ParseInt(f, 10, 32)
		if err != nil || value < 0 {
			return "", fmt.Errorf("%q: expected a whole number from 0 to %d, found %q", screen.Short(v), math.MaxInt32,
				screen.Short(f))
		}
		fields[i] = strconv.FormatInt(value, 10)
	}
	return strings.Join(fields, " "), nil
}

func (n numbers) describe() string {
	count := []string{"no", "one", "two", "three", "four"}[len(strings.Fields(n.names))]
	return count + " whole numbers, between blanks or commas: " + n.names
}

// unsettable is an error of parse that is not about the value: nothing can be set on the object here.
type unsettable struct{ error }
