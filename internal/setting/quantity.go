package setting

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/screen"
)

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
