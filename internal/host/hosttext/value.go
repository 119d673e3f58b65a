package hosttext

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

// short are the words of names in JSON that people write otherwise.
var short = map[string]string{"aio": "AIO", "bios": "BIOS", "cpu": "CPU", "cpus": "CPUs", "dax": "DAX", "dma": "DMA", "epb": "EPB", "epp": "EPP", "epps": "EPPs",
	"fua": "FUA", "io": "I/O", "ksm": "KSM", "numa": "NUMA", "nvme": "NVMe", "os": "OS", "pct": "%", "pid": "PID", "smt": "SMT", "thp": "THP"}

// label is a field's name for people.
func label(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	words := strings.Split(name, "_")
	for i, w := range words {
		words[i] = cmp.Or(short[w], w)
	}
	return strings.Join(words, " ")
}

// text shows what is known of a fact. A field with the tag show:"percent" holds a share.
func text(f host.AnyFact, field reflect.StructField) string {
	value, unit, _, state, why := f.Any()
	share, ok := value.(float64)
	switch {
	case why == host.NoLimit:
		return why
	case state == "":
		return string(host.StateAbsent)
	case state != host.StateOK && why == "":
		return string(state)
	case state != host.StateOK:
		return string(state) + ": " + why
	case ok && field.Tag.Get("show") == "percent":
		return result.Format(100*share, "%")
	}
	return show(value, unit)
}

// plain shows a field in a table; "" for what is not there.
func plain(v reflect.Value, field reflect.StructField) string {
	switch x := v.Interface().(type) {
	case host.AnyFact:
		if _, _, _, state, why := x.Any(); state == host.StateAbsent && why != host.NoLimit || state == "" {
			return ""
		}
		return text(x, field)
	case []int:
		if len(x) == 0 {
			return ""
		}
		return cpuList(x)
	case string:
		return x
	case int:
		return fmt.Sprint(x)
	}
	return "" // a list of its own
}

// show writes a value for people.
func show(value any, unit string) string {
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case string:
		return cmp.Or(v, "(empty)")
	case host.Choice:
		if len(v.Offers) > 1 {
			return v.Active + " (of " + strings.Join(v.Offers, " ") + ")"
		}
		return v.Active
	case []int:
		return cpuList(v)
	case []int64:
		return frequencies(v)
	case uint64:
		if unit == "" {
			return fmt.Sprint(v)
		}
		return result.Format(float64(v), unit)
	}
	if x, ok := scalar(value); ok {
		return result.Format(x, unit)
	}
	return fmt.Sprint(value)
}

func scalar(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// frequencies writes P-states in MHz to the last digit, by which alone the turbo
// state of acpi-cpufreq (2401 MHz) differs from the highest nominal one (2400).
func frequencies(list []int64) string {
	texts := make([]string, len(list))
	for i, hz := range list {
		texts[i] = strconv.FormatFloat(float64(hz)/1e6, 'f', -1, 64)
	}
	return strings.Join(texts, ", ") + " MHz"
}

// cpuNames says which CPUs a value is of.
func cpuNames(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("cpu %d", list[0])
	}
	return "cpus " + cpuList(list)
}

// cpuList writes a list of numbers, as ranges where it ascends, and clips it where it is
// scattered.
func cpuList(list []int) string {
	const most = 60
	if len(list) == 0 {
		return "none"
	}
	s := strings.Trim(fmt.Sprint(list), "[]")
	if slices.IsSorted(list) {
		s = host.FormatList(list)
	}
	if len(s) <= most {
		return s
	}
	s = s[:strings.LastIndexAny(s[:most-20], ", ")]
	return fmt.Sprintf("%s,... (%d in all)", s, len(list))
}

// everyCPU turns the source of one object's fact into that of all alike.
func everyCPU(source string) string { return numberedPart.ReplaceAllString(source, "$1*") }

// member is a fact of some CPUs.
type member struct {
	cpus []int
	fact host.AnyFact
}

// most is how many different values of one kind are listed; of more, numbers
// give only the range.
const most = 6

var numberedPart = regexp.MustCompile(`\b(cpu|policy|node)\d+\b`)

// group adds a pair for all CPUs that have the same value of a fact.
func (b *blocks) group(name string, members []member, field reflect.StructField) {
	type line struct {
		text, source string
		cpus         []int
		objects      int
	}
	var lines []line
	at := map[string]int{}
	var numbers []float64
	var unit string
	var cpus []int
	for _, m := range members {
		value, u, source, state, why := m.fact.Any()
		if (state == host.StateAbsent || state == "") && why != host.NoLimit {
			continue
		}
		shown := text(m.fact, field)
		if x, ok := scalar(value); ok && state == host.StateOK {
			numbers, unit = append(numbers, x), u
		}
		i, ok := at[shown]
		if !ok {
			i = len(lines)
			at[shown] = i
			lines = append(lines, line{text: shown, source: source})
		}
		lines[i].cpus = append(lines[i].cpus, m.cpus...)
		lines[i].objects++
		cpus = append(cpus, m.cpus...)
	}
	if len(lines) == 0 {
		if !b.foreign {
			b.absent = append(b.absent, name)
		}
		return
	}
	if len(lines) > most && len(numbers) == len(members) {
		span := result.Format(slices.Min(numbers), unit) + " to " + result.Format(slices.Max(numbers), unit)
		lines = []line{{span, lines[0].source, cpus, len(members)}}
	}
	for i, l := range lines {
		if i == most {
			b.pairs = append(b.pairs, document.Pair{Value: fmt.Sprintf("and %d other values", len(lines)-most)})
			return
		}
		if l.objects > 1 {
			l.source = everyCPU(l.source)
		}
		slices.Sort(l.cpus)
		b.pairs = append(b.pairs, document.Pair{Name: name, Value: l.text + ", " + cpuNames(slices.Compact(l.cpus)), Source: l.source})
		name = ""
	}
}
