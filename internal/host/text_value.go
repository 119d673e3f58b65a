package host

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"hostlab/internal/result"
)

// short are the words of names in JSON that people write otherwise.
var short = map[string]string{"aio": "AIO", "bios": "BIOS", "cpu": "CPU", "cpus": "CPUs", "dax": "DAX", "dma": "DMA",
	"epb": "EPB", "epp": "EPP", "epps": "EPPs",
	"fua": "FUA", "io": "I/O", "ksm": "KSM", "numa": "NUMA", "nvme": "NVMe", "os": "OS", "pct": "%", "pid": "PID",
	"smt": "SMT",
	"sql": "SQL", "thp": "THP"}

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
	list, isList := value.([]int)
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
	case isList && strings.HasSuffix(field.Tag.Get("read"), " words"): // numbers that are no CPUs
		return strings.Trim(fmt.Sprint(list), "[]")
	}
	return valueText(value, unit)
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
		if unit == "B" {
			return Sizes(v)
		}
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
	case v == nil:
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

// Sizes writes amounts of memory beside each other.
func Sizes(list []int64) string {
	texts := make([]string, len(list))
	for i, b := range list {
		texts[i] = result.Format(float64(b), "B")
	}
	return strings.Join(texts, ", ")
}

// cpuList writes a list of numbers, as ranges where it ascends, and clips it where it is
// scattered.
func cpuList(list []int) string {
	const most = 60
	if len(list) == 0 {
		return "none"
	}
	s := FormatList(list)
	if len(s) <= most {
		return s
	}
	s = s[:strings.LastIndex(s[:most-20], ",")]
	return fmt.Sprintf("%s,... (%d in all)", s, len(list))
}
