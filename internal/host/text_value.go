package host

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/result"
)

// short are the words of names in JSON that people write otherwise.
var short = map[string]string{"aio": "AIO", "bios": "BIOS", "cpu": "CPU", "cpus": "CPUs", "dax": "DAX", "dma": "DMA", "epb": "EPB", "epp": "EPP", "epps": "EPPs",
	"fua": "FUA", "io": "I/O", "ksm": "KSM", "numa": "NUMA", "nvme": "NVMe", "os": "OS", "pct": "%", "pid": "PID", "smt": "SMT", "thp": "THP"}

func label(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	words := strings.Split(name, "_")
	for i, w := range words {
		words[i] = cmp.Or(short[w], w)
	}
	return strings.Join(words, " ")
}

// factText shows what is known of a fact. A field with the tag show:"percent" holds a share.
func factText(f AnyFact, field reflect.StructField) string {
	value, unit, _, state, why := f.Any()
	share, ok := value.(float64)
	switch {
	case why == NoLimit:
		return why
	case state == "":
		return string(StateAbsent)
	case state != StateOK && why == "":
		return string(state)
	case state != StateOK:
		return string(state) + ": " + why
	case ok && field.Tag.Get("show") == "percent":
		return result.Format(100*share, "%")
	}
	return valueText(value, unit)
}

// cellText shows a field in a table; "" for what is not there.
func cellText(v reflect.Value, field reflect.StructField) string {
	switch x := v.Interface().(type) {
	case AnyFact:
		if _, _, _, state, why := x.Any(); state == StateAbsent && why != NoLimit || state == "" {
			return ""
		}
		return factText(x, field)
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

// valueText writes a value for people.
func valueText(value any, unit string) string {
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case string:
		return cmp.Or(v, "(empty)")
	case Choice:
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
	switch x := reflect.ValueOf(v); {
	case x.CanInt():
		return float64(x.Int()), true
	case x.CanFloat():
		return x.Float(), true
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

// cpuList writes a list of numbers, as ranges where it ascends, and clips it where it is
// scattered.
func cpuList(list []int) string {
	const most = 60
	if len(list) == 0 {
		return "none"
	}
	s := strings.Trim(fmt.Sprint(list), "[]")
	if slices.IsSorted(list) {
		s = FormatList(list)
	}
	if len(s) <= most {
		return s
	}
	s = s[:strings.LastIndexAny(s[:most-20], ", ")]
	return fmt.Sprintf("%s,... (%d in all)", s, len(list))
}

type cpuFact struct {
	cpus []int
	fact AnyFact
}

// most is how many different values of one kind are listed; of more, numbers
// give only the range.
const most = 6

// numberedPart is what sources of alike objects differ by.
var numberedPart = regexp.MustCompile(`\b(cpu|policy|node)\d+\b`)

func (b *blocks) group(name string, members []cpuFact, field reflect.StructField) {
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
		if (state == StateAbsent || state == "") && why != NoLimit {
			continue
		}
		shown := factText(m.fact, field)
		if x, ok := scalar(value); ok && state == StateOK {
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
			l.source = numberedPart.ReplaceAllString(l.source, "$1*") // one object's source stands for all alike
		}
		l.cpus = ascending(l.cpus)
		of := ", cpus "
		if len(l.cpus) == 1 {
			of = ", cpu "
		}
		b.pairs = append(b.pairs, document.Pair{Name: name, Value: l.text + of + cpuList(l.cpus), Source: l.source})
		name = ""
	}
}
