package setting

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
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

// quantity is a whole number of the kernel's unit, from lo to hi. People type it with that unit, with
// another of its kind, or without: 4MiB for 4096 KiB, 0.1ms for 100 us.
type quantity struct {
	anything
	lo, hi uint64
	unit   string            // the kernel's; "" of a count
	names  map[string]string // words that are typed for values
	shown  map[string]string // what values are called
	text   string            // what may be written, for people; "": the bounds and the names
	binary bool              // the file holds the number in four bytes
}

// units are those of times, frequencies and sizes, each in the smallest of its kind. Those of sizes are
// the powers of 1024, by names that are never taken for those of 1000.
var units = []map[string]int64{
	{"us": 1, "µs": 1, "ms": 1e3, "s": 1e6},
	{"khz": 1, "mhz": 1e3, "ghz": 1e6},
	{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
		"T": 1 << 40},
}

// amount reads a number with a unit behind it, or without, exactly; not ok: it is none, or no whole number of unit.
func amount(v, unit string) (n uint64, ok bool) {
	v = strings.Join(strings.Fields(v), "")
	typed := strings.TrimLeft(v, "0123456789.")
	digits := strings.TrimSuffix(v, typed)
	r, ok := new(big.Rat).SetString(digits)
	if !ok || len(digits) > 20 {
		return 0, false
	}
	if typed != "" && typed != unit {
		i := slices.IndexFunc(units, func(kind map[string]int64) bool { return kind[typed] > 0 && kind[unit] > 0 })
		if i < 0 {
			return 0, false
		}
		r.Mul(r, big.NewRat(units[i][typed], units[i][unit]))
	}
	return r.Num().Uint64(), r.IsInt() && r.Num().IsUint64()
}

func (q quantity) parse(_ *System, _ Object, v string) (string, error) { return q.spell(v) }

func (q quantity) spell(v string) (string, error) {
	if named, ok := q.names[v]; ok {
		return named, nil
	}
	typed := v
	if q.unit == "KiB" {
		typed = strings.Replace(v, "kB", "KiB", 1) // as the kernel calls it
	}
	n, ok := amount(typed, q.unit)
	if !ok || n < q.lo || n > q.hi {
		return "", fmt.Errorf("%q: expected %s", screen.Short(v), q.describe())
	}
	return strconv.FormatUint(n, 10), nil
}

func (q quantity) show(_ Object, v string) string {
	if _, err := strconv.ParseFloat(v, 64); err != nil || q.unit == "" || q.shown[v] != "" {
		return cmp.Or(q.shown[v], v)
	}
	return v + " " + q.unit
}

func (q quantity) describe() string {
	text := fmt.Sprintf("a whole number from %d to %d", q.lo, q.hi)
	switch {
	case q.text != "":
		return q.text
	case units[2][q.unit] > 0:
		return text + " " + q.unit + ", or a size such as 600MiB"
	case len(q.names) > 0:
		return text + ", or " + strings.Join(slices.Sorted(maps.Keys(q.names)), ", ")
	}
	return text
}

func (q quantity) decode(b []byte) string {
	if !q.binary {
		return Value(b)
	}
	if len(b) == 5 && b[4] == '\n' {
		b = b[:4] // recordings end each file with a newline
	}
	if len(b) != 4 {
		return ""
	}
	return strconv.FormatInt(int64(int32(binary.LittleEndian.Uint32(b))), 10) //nolint:gosec // the kernel's s32
}

func (q quantity) encode(v string) []byte {
	if !q.binary {
		return []byte(v)
	}
	us, _ := strconv.ParseUint(v, 10, 31)
	return binary.LittleEndian.AppendUint32(nil, uint32(us)) //nolint:gosec // parse has bounded it
}

// Value is what a file of sysfs or sysctl says: one line, fields separated by one
// space, without the newline at its end. Of a list of choices it is the one in
// brackets: "always [madvise] never", "none [mq-deadline]".
func Value(text []byte) string {
	fields := strings.FieldsFunc(string(text), func(r rune) bool { return r <= ' ' })
	chosen := ""
	for _, f := range fields {
		if c, ok := strings.CutPrefix(f, "["); ok {
			if c, ok = strings.CutSuffix(c, "]"); ok && c != "" {
				if chosen != "" {
					return strings.Join(fields, " ")
				}
				chosen = c
			}
		}
	}
	if chosen != "" {
		return chosen
	}
	return strings.Join(fields, " ")
}

// Choices are all values of a list that has one of them in brackets, or of a plain list.
func Choices(text []byte) []string {
	fields := strings.Fields(string(text))
	for i, f := range fields {
		fields[i] = strings.TrimSuffix(strings.TrimPrefix(f, "["), "]")
	}
	return fields
}

// read returns an object's value.
func (s Setting) read(sys *System, o Object) (string, error) {
	b, err := sys.FS.ReadFile(o.Path)
	if err != nil {
		return "", err
	}
	if k, ok := s.Takes.(coder); ok {
		return k.decode(b), nil
	}
	return Value(b), nil
}

// write writes a value as it is written to the object.
func (s Setting) write(sys *System, o Object, value string) error {
	return sys.FS.WriteFile(o.Path, s.bytes(value))
}

func (s Setting) bytes(value string) []byte {
	if k, ok := s.Takes.(coder); ok {
		return k.encode(value)
	}
	return []byte(value)
}
