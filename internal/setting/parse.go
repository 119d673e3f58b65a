package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/screen"
	"hostlab/internal/spelling"
)

// text reads a file of the machine, without white space around it.
func (sys *System) text(path string) (string, error) {
	b, err := sys.FS.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// number reads a whole number; ok is false where there is none.
func (sys *System) number(path string) (n int64, ok bool) {
	t, err := sys.text(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(t, 10, 64)
	return n, err == nil
}

// exists reports whether a file is there, also one that may not be read or that fails.
func (sys *System) exists(path string) bool {
	_, err := sys.FS.ReadFile(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// numbered lists the names in a directory that are a prefix and a number, with the number.
func (sys *System) numbered(dir, prefix string) (names []string) {
	all, err := sys.FS.ReadDir(dir)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(name string) bool {
		digits, ok := strings.CutPrefix(name, prefix)
		_, err := strconv.ParseUint(digits, 10, 32)
		return !ok || err != nil
	})
}

// single makes the objects of a setting that has one file.
func single(path, missing string) func(*System) ([]Object, error) {
	return func(sys *System) ([]Object, error) {
		if !sys.exists(path) {
			return nil, errors.New(missing)
		}
		return []Object{{Path: path}}, nil
	}
}

// wordsOf makes levels of a file that lists them between blanks.
func wordsOf(file func(Object) string) func(*System, Object) ([]string, error) {
	return func(sys *System, o Object) ([]string, error) {
		t, err := sys.text(file(o))
		if err != nil {
			return nil, err
		}
		return strings.Fields(t), nil
	}
}

// fixed makes levels that are the same everywhere.
func fixed(words ...string) func(*System, Object) ([]string, error) {
	return func(*System, Object) ([]string, error) { return words, nil }
}

// oneOf takes a word that levels has, or a number where the kernel has one for it.
func oneOf(levels func(*System, Object) ([]string, error)) func(*System, Object, string) (string, error) {
	return func(sys *System, o Object, v string) (string, error) {
		words, err := levels(sys, o)
		if err != nil {
			return "", unsettable{fmt.Errorf("what is offered here cannot be read: %w", err)}
		}
		if slices.Contains(words, v) {
			return v, nil
		}
		return "", unknownWord(v, words)
	}
}

// unknownWord says what is offered in place of v.
func unknownWord(v string, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("%q: nothing is offered here", screen.Short(v))
	}
	hint := ""
	if near := spelling.Meant(v, words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return fmt.Errorf("%q: expected %s%s", screen.Short(v), strings.Join(words, ", "), hint)
}

// choices are the levels of a file that lists them with the one in force in brackets.
func choices(sys *System, o Object) ([]string, error) {
	b, err := sys.FS.ReadFile(o.Path)
	return Choices(b), err
}

// word takes what any kernel might offer.
func word(v string) (string, error) {
	if v == "" || len(v) > 40 || strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-") != "" {
		return "", fmt.Errorf("%q: expected one word", screen.Short(v))
	}
	return v, nil
}

// whole takes a whole number from lo to hi, with one of units behind it if any are given.
func whole(lo, hi uint64, units ...string) func(*System, Object, string) (string, error) {
	return func(_ *System, _ Object, v string) (string, error) {
		digits := strings.TrimSpace(v)
		for _, u := range units {
			if d, ok := strings.CutSuffix(digits, u); ok {
				digits = strings.TrimSpace(d)
				break
			}
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n < lo || n > hi {
			return "", fmt.Errorf("%q: expected a whole number from %d to %d", screen.Short(v), lo, hi)
		}
		return strconv.FormatUint(n, 10), nil
	}
}

// sizeUnits are the powers of 1024 by the names that are never taken for those of 1000. The
// kernel's kB is the first of them.
var sizeUnits = []struct {
	name  string
	shift uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}}

// size takes a size in the kernel's unit, B or KiB (shift 0 or 10), or with its own: 4MiB. It
// must be a whole number of the kernel's unit, from lo to hi of them.
func size(lo, hi uint64, shift uint) func(*System, Object, string) (string, error) {
	unit := map[uint]string{0: "B", 10: "KiB"}[shift]
	return func(sys *System, o Object, v string) (string, error) {
		plain := whole(lo, hi, map[uint][]string{0: {"B"}, 10: {"kB"}}[shift]...)
		for _, u := range sizeUnits {
			digits, ok := strings.CutSuffix(strings.TrimSpace(v), u.name)
			if !ok {
				continue
			}
			n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
			if err != nil || u.shift < shift || n > math.MaxUint64>>(u.shift-shift) {
				break
			}
			if n, err := plain(sys, o, strconv.FormatUint(n<<(u.shift-shift), 10)); err == nil {
				return n, nil
			}
			break
		}
		if n, err := plain(sys, o, v); err == nil {
			return n, nil
		}
		return "", fmt.Errorf("%q: expected a whole number of %s from %d to %d, or one with KiB, MiB or GiB behind it", screen.Short(v), unit, lo, hi)
	}
}

// switches are the words for on and off; 1 is on.
var switches = map[string]string{"on": "1", "1": "1", "yes": "1", "true": "1", "off": "0", "0": "0", "no": "0", "false": "0"}

// onOff takes on or off and writes 1 or 0.
func onOff(v string) (string, error) {
	if w, ok := switches[strings.ToLower(v)]; ok {
		return w, nil
	}
	return "", fmt.Errorf("%q: expected on or off", screen.Short(v))
}

// micros takes a time in microseconds, or with its unit (70us, 0.1ms), from 0 to most.
func micros(v string, most uint64) (uint64, error) {
	bad := fmt.Errorf("%q: expected microseconds, as 70us, from 0 to %d", screen.Short(v), most)
	t := strings.ReplaceAll(v, " ", "")
	if n, err := strconv.ParseUint(t, 10, 64); err == nil {
		t = strconv.FormatUint(n, 10) + "us"
	}
	d, err := time.ParseDuration(t)
	if err != nil || d < 0 || d%time.Microsecond != 0 || uint64(d/time.Microsecond) > most {
		return 0, bad
	}
	return uint64(d / time.Microsecond), nil
}
