package connect

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/lazyre"
)

// Parameter is one of a running server's that is changed for a while and put back. A session is
// opened when it is needed, and anew where the server was restarted. Errors are one line without
// a password. No two calls at a time.
type Parameter interface {
	// Name is how the server writes it.
	Name() string
	// Cautions are what a change does not reach, a phrase each.
	Cautions() []string
	// Level is how the server shows a level in force, or what is wrong with it.
	Level(text string) (string, error)
	// Save returns what there is to go back to. It refuses where the way back would change more
	// than the parameter.
	Save(ctx context.Context) (Saved, error)
	// Read returns what is in force.
	Read(ctx context.Context) (string, error)
	// Set brings a level into force, or with "" what was. missed are sessions that go on with
	// what they had.
	Set(ctx context.Context, level string, was Saved) (missed int, err error)
	// Back puts back what was, also what a killed process left. levels are ours: what is none
	// of them nor what was is left, with an error, unless by force. It touches no other server.
	Back(ctx context.Context, was Saved, levels []string, force bool) error
	Close() error
}

// Saved is what a parameter was before it was changed.
type Saved struct {
	Value string  // in force
	Disk  *string // in the file of the server's own changes; nil: nothing
	Of    string  // which server; "": not known
}

// OpenParameter finds a parameter of the server that a DSN names. It changes nothing. What cannot be
// changed while the server runs, or not by this user, is an error.
func OpenParameter(ctx context.Context, d *DSN, name string) (Parameter, error) {
	open := d.Vendor.parameter
	if open == nil {
		return nil, fmt.Errorf("parameters of %s cannot be varied; those of %s and %s can", d.Vendor.Product,
			Postgres.Product,
			MariaDB.Product)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return open(ctx, d, name)
}

// Another reports a server that is not the one that was changed, as where several run on a host and now another one is
// the busiest.
func Another(name, now, was string) error {
	if now == "" || was == "" || now == was {
		return nil
	}
	return fmt.Errorf(
		"found the server (%s), but the experiment changes %s of another one (%s); start that one, or name it as "+
			"at the beginning ($HOSTLAB_DSN)", now, name, was)
}

// Foreign says that another program has set a parameter meanwhile, and that it was left so.
type Foreign struct{ text string }

func (f *Foreign) Error() string { return f.text }

// asLong gives the end of a change a time of its own: it has to happen also when ctx is cancelled.
func asLong(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// kind is what values a parameter takes, in PostgreSQL's words.
type kind struct {
	vartype, unit string // bool, enum, integer, real or string
	least, most   string
	words         []string
}

// number is one with a unit, as guc-file.l takes it.
var number = lazyre.New(`^([-+]?(?:0[xX][0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?))\s*([A-Za-z]*)$`)

// units are those of time in us and of memory in bytes (convert_to_base_unit in guc.c).
var units = map[string]float64{"us": 1, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9, "d": 8.64e10, "B": 1,
	"kB": 1 << 10,
	"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}

var booleans = map[string]string{"on": "on", "true": "on", "yes": "on", "1": "on", "off": "off", "false": "off",
	"no": "off",
	"0":  "off"}

// canonical is how the server shows a value in force.
func (k kind) canonical(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch k.vartype {
	case "bool":
		if v, ok := booleans[strings.ToLower(text)]; ok {
			return v, nil
		}
		return "", fmt.Errorf("%q is neither on nor off", text)
	case "enum":
		for _, w := range k.words {
			if strings.EqualFold(w, text) {
				return w, nil
			}
		}
		return "", fmt.Errorf("%q is none of %s", text, strings.Join(k.words, ", "))
	case "integer", "real":
		return k.number(text)
	}
	if strings.ContainsAny(text, "\n\r\x00") {
		return "", fmt.Errorf("%q has more than one line", text)
	}
	return text, nil
}

func (k kind) number(text string) (string, error) {
	m := number.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%q is no number", text)
	}
	// larger ones than a float64 holds
	if n, whole := new(big.Int).SetString(m[1], 0); whole && m[2] == "" && k.vartype == "integer" {
		least, lok := new(big.Int).SetString(k.least, 10)
		most, mok := new(big.Int).SetString(k.most, 10)
		if lok && mok && (n.Cmp(least) < 0 || n.Cmp(most) > 0) {
			return "", k.outside(text)
		}
		return n.String(), nil
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if n, whole := strconv.ParseInt(m[1], 0, 64); whole == nil { // octal and hexadecimal too
		v, err = float64(n), nil
	}
	if err != nil {
		return "", fmt.Errorf("%q is no number", text)
	}
	if m[2] != "" {
		given, base, ok := units[m[2]], 0.0, false
		if digits := strings.TrimRight(k.unit, "kMGTBusmind"); digits != k.unit { // 8kB is a unit
			base, ok = units[strings.TrimPrefix(k.unit, digits)]
			if n, err := strconv.ParseFloat(digits, 64); err == nil {
				base *= n
			}
		}
		memory := strings.HasSuffix(k.unit, "B")
		if !ok || given == 0 || memory != strings.HasSuffix(m[2], "B") {
			return "", fmt.Errorf("%q: the unit of this parameter is %s", text, orNone(k.unit))
		}
		v *= given / base
	}
	if k.vartype == "integer" {
		v = math.RoundToEven(v)
	}
	least, lerr := strconv.ParseFloat(k.least, 64)
	most, merr := strconv.ParseFloat(k.most, 64)
	if lerr == nil && merr == nil && (v < least || v > most) {
		return "", k.outside(text)
	}
	return strconv.FormatFloat(v, 'f', -1, 64), nil
}

func (k kind) outside(text string) error {
	return fmt.Errorf("%q is outside of %s to %s", text, k.least, strings.TrimSpace(k.most+" "+k.unit))
}

func orNone(unit string) string {
	if unit == "" {
		return "none"
	}
	return unit
}

// soon waits until done, looking every few milliseconds.
func soon(ctx context.Context, most time.Duration, done func() (bool, error)) (bool, error) {
	for end := time.Now().Add(most); ; {
		ok, err := done()
		if ok || err != nil || time.Now().After(end) {
			return ok, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
