package host

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fill reads the facts of a struct that say where they are: the tag read holds a file, below
// dir where it is relative, or several with | between them, of which the first counts that can
// be read. Behind a blank stands its form. Of a number that is the unit, and behind another
// blank the line that holds it. Of a text it is "text" where the file may be empty, and "given"
// where an empty one holds none.
func fill(t Tree, dir string, into any) {
	v := reflect.ValueOf(into).Elem()
	texts := map[string]Fact[string]{} // of files that hold several facts: all are of one moment
	for i := range v.NumField() {
		names, form, _ := strings.Cut(v.Type().Field(i).Tag.Get("read"), " ")
		if names == "" {
			continue
		}
		files := strings.Split(names, "|")
		for i, file := range files {
			if file[0] != '/' {
				files[i] = dir + "/" + file
			}
		}
		switch f := v.Field(i).Addr().Interface().(type) {
		case *Fact[bool]:
			*f = first(files, t.Bool)
		case *Fact[Choice]:
			*f = first(files, t.Choice)
		case *Fact[int]:
			*f = first(files, t.id)
		case *Fact[uint64]:
			*f = first(files, func(file string) Fact[uint64] { return t.unsigned(file, form) })
		case *Fact[int64]:
			*f = first(files, func(file string) Fact[int64] {
				unit, line, ofLine := strings.Cut(form, " ")
				if !ofLine {
					return t.number(file, form)
				}
				if _, read := texts[file]; !read {
					texts[file] = t.Text(file)
				}
				return lineNumber(texts[file], file, line, unit)
			})
		case *Fact[float64]:
			*f = first(files, func(file string) Fact[float64] { return fractions[form](t, file) })
		case *Fact[[]int]:
			*f = first(files, func(file string) Fact[[]int] { return t.numbers(file, form) })
		case *Fact[[]int64]:
			*f = first(files, func(file string) Fact[[]int64] { return Convert(t.Text(file), "Hz", parseStates) })
		case *Fact[string]:
			*f = first(files, func(file string) Fact[string] { return t.words(file, form) })
		}
	}
}

// AsRead returns what a file reads, by the fact of memory, kernel or network whose tag names it. It is "" where none
// does, the value is not known, or the fact has another unit than the file.
func (f *Facts) AsRead(file string) string {
	for _, part := range []any{f.Memory, f.Kernel, f.Network} {
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			name, form, _ := strings.Cut(v.Type().Field(i).Tag.Get("read"), " ")
			if fact, ok := v.Field(i).Interface().(AnyFact); ok && name == file &&
				slices.Contains([]string{"", "B", "words"}, form) {
				if value, _, _, state, _ := fact.Any(); state == StateOK {
					return strings.Trim(fmt.Sprint(value), "[]")
				}
			}
		}
	}
	return ""
}

func first[T any](files []string, read func(file string) Fact[T]) Fact[T] {
	var facts []Fact[T]
	for _, file := range files {
		if facts = append(facts, read(file)); facts[len(facts)-1].State == StateOK {
			break
		}
	}
	return firstKnown(facts...)
}

func (t Tree) words(file, form string) Fact[string] {
	switch form {
	case "text":
		return t.Text(file)
	case "given":
		return notEmpty(t.Text(file))
	}
	return t.Word(file)
}

// unsigned reads a number as those that may be 2^64-1 for "no limit".
func (t Tree) unsigned(file, unit string) Fact[uint64] {
	return Convert(t.Text(file), unit, func(s string) (uint64, error) {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("expected a whole number, found %s", clip(s))
		}
		return v, nil
	})
}

// number reads a whole number in a unit into base units.
func (t Tree) number(file, unit string) Fact[int64] {
	switch unit {
	case "kHz0":
		return t.Int(file, "Hz", 1000)
	case "kHz":
		f := t.Int(file, "Hz", 1000)
		if f.State == StateOK && f.Value <= 0 { // a BIOS that reports 0 says nothing
			return Unknown[int64](file, fmt.Errorf("%d is no frequency", f.Value))
		}
		return f
	case "KiB":
		return t.Int(file, "B", 1024)
	case "sectors":
		return t.Int(file, "B", 512) // whatever the disk's own are
	case "size":
		return Convert(t.Text(file), "B", parseSize)
	}
	return t.Int(file, unit, 1)
}

// lineNumber finds a line such as "MemTotal:  65536 kB" of meminfo, whose unit KiB is kB there.
// Those of nodes begin with "Node 0". A kernel built without something has no such line.
func lineNumber(text Fact[string], file, line, unit string) Fact[int64] {
	f := Convert(text, strings.Replace(unit, "KiB", "B", 1), func(s string) (int64, error) {
		for text := range strings.Lines(s) {
			w := strings.Fields(text)
			at := slices.Index(w, line+":") + 1
			if at == 0 || at == len(w) {
				continue
			}
			v, err := strconv.ParseInt(w[at], 10, 64)
			if kB := len(w) == at+2 && w[at+1] == "kB"; err != nil || v < 0 || v > 1<<52 || kB != (unit == "KiB") {
				return 0, fmt.Errorf("expected a number and its unit, found %s", clip(strings.Join(w[at:], " ")))
			}
			if unit == "KiB" {
				v <<= 10
			}
			return v, nil
		}
		return 0, none("no line " + line)
	})
	return f.from(file + " " + line)
}

// from is the fact with a source that says more.
func (f Fact[T]) from(source string) Fact[T] {
	f.Source = source
	return f
}

// id reads an ID. Guests whose firmware describes no topology show -1;
// x86 kernels 5.16 to 6.1 showed 65535 for CPUs without a cluster.
func (t Tree) id(file string) Fact[int] {
	return Convert(t.Int(file, "", 1), "", func(v int64) (int, error) {
		switch {
		case v == -1, v == 65535 && strings.HasSuffix(file, "cluster_id"):
			return 0, none("the kernel has none")
		case v < 0 || v > 1<<31-1:
			return 0, fmt.Errorf("%d cannot be an ID", v)
		}
		return int(v), nil
	})
}

// numbers reads a list of CPUs. With the form "cpus" it may have blanks for commas, as that of
// a frequency policy, and is sorted. With the form "words" it is numbers between blanks, in order.
func (t Tree) numbers(file, form string) Fact[[]int] {
	switch form {
	case "cpus":
		return Convert(t.Text(file), "", func(s string) ([]int, error) {
			list, err := ParseList(strings.Join(strings.Fields(s), ","))
			return ascending(list), err
		})
	case "words":
		return Convert(t.Text(file), "", parseInts)
	}
	return t.List(file)
}

// fractions are the forms of numbers that need not be whole: times in parts of a second, and
// what is read as a share.
var fractions = map[string]func(Tree, string) Fact[float64]{
	"ms": func(t Tree, file string) Fact[float64] {
		return Convert(t.Int(file, "", 1), "s", func(v int64) (float64, error) { return float64(v) / 1e3, nil })
	},
	"us": func(t Tree, file string) Fact[float64] { return Convert(t.Int(file, "", 1), "s", fromMicros) },
	"ns": func(t Tree, file string) Fact[float64] {
		return Convert(t.Int(file, "", 1), "s", func(v int64) (float64, error) {
			if v == math.MaxUint32 || v == -1 { // CPUFREQ_ETERNAL
				return 0, none("the driver does not know it")
			}
			return float64(v) / 1e9, nil
		})
	},
	"cs": func(t Tree, file string) Fact[float64] {
		return Convert(t.Int(file, "", 1), "s", func(v int64) (float64, error) { return fromMicros(v * 1e4) })
	},
	"pressure": func(t Tree, file string) Fact[float64] { return readPressure(t, file, "some", "avg60") },
	"stalled":  func(t Tree, file string) Fact[float64] { return readPressure(t, file, "full", "avg300") },
}

func fromMicros(us int64) (float64, error) {
	if us < 0 {
		return 0, fmt.Errorf("%d us is no time", us)
	}
	return float64(us) / 1e6, nil
}

func parseInts(s string) ([]int, error) {
	list := []int{}
	for _, w := range strings.Fields(s) {
		n, err := strconv.Atoi(w)
		if err != nil {
			return nil, fmt.Errorf("expected whole numbers, found %s", clip(w))
		}
		list = append(list, n)
	}
	return list, nil
}

// parseStates parses kHz between blanks, as drivers list them in any order, and
// returns Hz, falling.
func parseStates(s string) ([]int64, error) {
	list := []int64{}
	for _, w := range strings.Fields(s) {
		v, err := strconv.ParseInt(w, 10, 64)
		if err != nil || v <= 0 || v > math.MaxInt64/1000 {
			return nil, fmt.Errorf("expected frequencies in kHz, found %s", clip(w))
		}
		list = append(list, v*1000)
	}
	slices.Sort(list)
	slices.Reverse(list)
	return slices.Compact(list), nil
}

// parseSize reads a number of bytes with the kernel's endings (memparse).
func parseSize(s string) (int64, error) {
	num, shift := s, 0
	if n := len(s); n > 0 {
		if i := strings.IndexByte("kmgtpe", s[n-1]|0x20); i >= 0 {
			num, shift = s[:n-1], 10*(i+1)
		}
	}
	v, err := strconv.ParseInt(num, 10, 64)
	if err != nil || v < 0 || v<<shift>>shift != v {
		return 0, fmt.Errorf("expected a size like 48K, found %s", clip(s))
	}
	return v << shift, nil
}
