package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/lazyre"
	"hostlab/internal/result"
)

// group makes one row of evidence for each distinct value, with the paths that
// hold it drawn together, so that 512 CPUs that agree are one line and the one
// that differs is the second.
func group(rs []reading) []Evidence {
	var values []string
	paths := map[string][]string{}
	seen := map[Evidence]bool{}
	for _, r := range rs {
		row := Evidence{Path: r.path, Value: r.value}
		if seen[row] || r.state == host.StateAbsent && r.path == noSource {
			continue // nothing was looked at, so nothing is shown
		}
		seen[row] = true
		if len(paths[r.value]) == 0 {
			values = append(values, r.value)
		}
		paths[r.value] = append(paths[r.value], r.path)
	}
	var out []Evidence
	for _, v := range values {
		for _, p := range compact(paths[v]) {
			out = append(out, Evidence{Path: p, Value: v})
		}
	}
	return out
}

// compact draws paths together that differ in one component only: numbers
// become a range, as in policy{0-511}, names a list, as in {sda,sdb}. Paths of
// another shape stay apart, in the order of their first member.
func compact(paths []string) []string {
	split := make([][]string, len(paths))
	for i, p := range paths {
		split[i] = strings.Split(p, "/")
	}
	var out []string
	for len(split) > 0 {
		same, other := split[:1:1], [][]string(nil)
		at := -1 // the component in which the paths of this row differ
		for _, p := range split[1:] {
			if i, ok := oneDifference(split[0], p); ok && (at < 0 || i == at) {
				at, same = i, append(same, p)
			} else {
				other = append(other, p)
			}
		}
		out = append(out, brace(same, at))
		split = other
	}
	return out
}

// oneDifference says in which component two paths differ, if in exactly one.
func oneDifference(a, b []string) (int, bool) {
	if len(a) != len(b) || len(a) < 2 {
		return 0, false
	}
	at, n := -1, 0
	for i := range a {
		if a[i] != b[i] {
			at, n = i, n+1
		}
	}
	return at, n == 1
}

// brace writes paths that differ only in component at as one.
func brace(paths [][]string, at int) string {
	parts := slices.Clone(paths[0])
	if len(paths) == 1 {
		return strings.Join(parts, "/")
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p[at]
	}
	if head, numbers, tail, ok := numbered(names); ok {
		parts[at] = head + "{" + host.FormatList(numbers) + "}" + tail
	} else {
		parts[at] = "{" + strings.Join(names, ",") + "}"
	}
	return strings.Join(parts, "/")
}

// aNumber finds the first number in a name, and the last.
var aNumber = []*lazyre.Regexp{lazyre.New(`^(\D*)(\d+)(.*)$`), lazyre.New(`^(.*?)(\d+)(\D*)$`)}

// numbered splits names such as nvme0n1, nvme12n1 into what they share and the
// one number in which they differ, ascending.
func numbered(names []string) (head string, numbers []int, tail string, ok bool) {
	for _, number := range aNumber {
		numbers = nil
		for _, n := range names {
			m := number.FindStringSubmatch(n)
			if m == nil || numbers != nil && (m[1] != head || m[3] != tail) {
				break
			}
			if v, err := strconv.Atoi(m[2]); err == nil {
				head, numbers, tail = m[1], append(numbers, v), m[3]
			}
		}
		if len(numbers) == len(names) {
			slices.Sort(numbers)
			return head, numbers, tail, true
		}
	}
	return "", nil, "", false
}

// display shows a value as a person expects it, with its unit.
func display(v any, unit string) string {
	switch x := v.(type) {
	case host.Choice:
		return choice(x)
	case bool: // as the file has it
		if x {
			return "1"
		}
		return "0"
	case []int:
		return cmp.Or(host.FormatList(x), "(none)")
	case string:
		return cmp.Or(x, "(empty)")
	case int64:
		switch unit {
		case "Hz":
			return hertz(x)
		case "B":
			return bytesBoth(x)
		}
	case float64:
		if unit == "s" {
			return seconds(x)
		}
	}
	if unit != "" {
		return fmt.Sprintf("%v %s", v, unit)
	}
	return fmt.Sprint(v)
}

// choice writes a list of choices as the kernel does, the active one bracketed.
func choice(c host.Choice) string {
	words := make([]string, len(c.Offers))
	for i, o := range c.Offers {
		words[i] = o
		if o == c.Active {
			words[i] = "[" + o + "]"
		}
	}
	if !c.Has(c.Active) {
		words = append(words, "["+c.Active+"]")
	}
	return strings.Join(words, " ")
}

// hertz shows a frequency in GHz, to the kHz that cpufreq works in.
func hertz(v int64) string {
	return strconv.FormatFloat(float64(v/1000)/1e6, 'f', -1, 64) + " GHz"
}

// seconds shows a latency in the unit that suits it.
func seconds(v float64) string {
	switch {
	case v == 0:
		return "0 us"
	case math.Abs(v) < 1e-3:
		return strconv.FormatFloat(v*1e6, 'g', 4, 64) + " us"
	case math.Abs(v) < 1:
		return strconv.FormatFloat(v*1e3, 'g', 4, 64) + " ms"
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " s"
}

// bytesBoth shows an amount as it was read, and readably.
func bytesBoth(v int64) string {
	if v > -1024 && v < 1024 {
		return fmt.Sprintf("%d B", v)
	}
	return fmt.Sprintf("%d B (%s)", v, result.Format(float64(v), "B"))
}
