package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
)

// factTable is one group of facts for the page: either rows of name, value and
// source, or a table with its own columns.
type factTable struct {
	Title string
	Rows  []factRow
	Head  []string
	Cells [][]string
}

// factRow is one fact; Known is false where there is only a reason.
type factRow struct {
	Name, Value, Source string
	Known               bool
}

// factTables lays out what is known. Lists with an object for each CPU are
// grouped by equal values, so that a host with 512 CPUs stays readable.
func factTables(f *host.Facts) []factTable {
	if f == nil {
		return nil
	}
	out := []factTable{
		{Title: "Identity", Rows: scalars(f.Identity)},
		{Title: "Virtualization and limits", Rows: append(scalars(f.Virt), scalars(f.Limits)...)},
		{Title: "Topology", Rows: scalars(f.Topology)},
		caches(f), numa(f),
		{Title: "Frequency", Rows: scalars(f.Frequency)},
		policies(f),
		{Title: "Idle", Rows: scalars(f.Idle)},
		idleStates(f),
		{Title: "Memory", Rows: scalars(f.Memory)},
		{Title: "Kernel", Rows: scalars(f.Kernel)},
		mitigations(f),
	}
	for _, s := range f.Storage {
		out = append(out, factTable{Title: "Storage of " + s.Path + " (" + s.Purpose + ")", Rows: scalars(s)}, stack(s))
	}
	out = append(out, databases(f))
	if f.Windows != nil {
		out = append(out, factTable{Title: "Windows", Rows: scalars(*f.Windows)})
	}
	return slices.DeleteFunc(out, func(t factTable) bool { return len(t.Rows) == 0 && len(t.Cells) == 0 })
}

// scalars lists the facts of a struct in the order of its fields.
func scalars(section any) []factRow {
	var out []factRow
	v := reflect.ValueOf(section)
	for i := range v.NumField() {
		fact, ok := v.Field(i).Interface().(host.AnyFact)
		if !ok {
			continue
		}
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		value, unit, source, state, reason := fact.Any()
		if tag == "-" || source == "" && state == host.StateAbsent {
			continue // nobody looked: not a fact of this system
		}
		r := factRow{Name: strings.ReplaceAll(tag, "_", " "), Source: source, Known: state == host.StateOK}
		if r.Known {
			r.Value = factText(value, unit)
		} else if r.Value = string(state); reason != "" {
			r.Value += ": " + reason
		}
		out = append(out, r)
	}
	return out
}

// factText prints a fact's value.
func factText(value any, unit string) string {
	switch v := value.(type) {
	case []int:
		if len(v) == 0 {
			return "none"
		}
		if slices.IsSorted(v) {
			return host.FormatList(v)
		}
		return strings.Trim(fmt.Sprint(v), "[]")
	case []int64:
		var parts []string
		for _, x := range v {
			parts = append(parts, number(float64(x), unit, x))
		}
		return strings.Join(parts, ", ")
	case int64:
		return number(float64(v), unit, v)
	case uint64:
		return number(float64(v), unit, v)
	case float64:
		return number(v, unit, v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case host.Choice:
		return v.Active + " (of " + strings.Join(v.Offers, ", ") + ")"
	default:
		return strings.TrimSpace(fmt.Sprint(v) + " " + unit)
	}
}

func number(v float64, unit string, exact any) string {
	switch {
	case unit == "":
		return fmt.Sprint(exact)
	case v == 0:
		return "0 " + unit
	default:
		return result.Format(v, unit)
	}
}

// show prints a fact in a cell.
func show[T any](f host.Fact[T]) string {
	if v, ok := f.Get(); ok {
		return factText(v, f.Unit)
	}
	if f.State == "" {
		return string(host.StateAbsent)
	}
	return string(f.State)
}

// grouped counts objects with equal cells and lists their CPUs in the first.
func grouped(cells [][]string, cpus [][]int) [][]string {
	at := map[string]int{}
	var out [][]string
	var lists [][]int
	for i, row := range cells {
		key := strings.Join(row, "\x00")
		j, ok := at[key]
		if !ok {
			j = len(out)
			at[key] = j
			out, lists = append(out, row), append(lists, nil)
		}
		lists[j] = append(lists[j], cpus[i]...)
	}
	for j := range out {
		slices.Sort(lists[j])
		out[j] = append([]string{host.FormatList(slices.Compact(lists[j]))}, out[j]...)
	}
	return out
}

func policies(f *host.Facts) factTable {
	t := factTable{Title: "Frequency policies, alike ones together",
		Head: []string{"CPUs", "driver", "governor", "EPP", "lowest", "highest", "hardware maximum", "boost", "scope"}}
	var cpus [][]int
	for _, p := range f.Frequency.Policies {
		t.Cells = append(t.Cells, []string{show(p.Driver), show(p.Governor), show(p.EPP), show(p.Min), show(p.Max), show(p.HWMax), show(p.Boost), p.Scope})
		cpus = append(cpus, p.CPUs.Or([]int{p.ID}))
	}
	t.Cells = grouped(t.Cells, cpus)
	return t
}

func caches(f *host.Facts) factTable {
	t := factTable{Title: "Caches", Head: []string{"CPUs", "level", "type", "size", "ways", "CPUs that share one"}}
	var cpus [][]int
	for _, c := range f.Topology.Caches {
		t.Cells = append(t.Cells, []string{fmt.Sprint(c.Level), c.Type, show(c.Size), show(c.Ways), fmt.Sprint(len(c.CPUs))})
		cpus = append(cpus, c.CPUs)
	}
	t.Cells = grouped(t.Cells, cpus)
	return t
}

func numa(f *host.Facts) factTable {
	t := factTable{Title: "NUMA nodes", Head: []string{"node", "CPUs", "memory", "distances"}}
	for _, n := range f.Topology.NUMA {
		t.Cells = append(t.Cells, []string{fmt.Sprint(n.ID), show(n.CPUs), show(n.Memory), show(n.Distance)})
	}
	return t
}

func idleStates(f *host.Facts) factTable {
	t := factTable{Title: "Idle states", Head: []string{"state", "time to leave", "worth it from", "CPUs", "disabled on"}}
	for _, s := range f.Idle.States {
		t.Cells = append(t.Cells, []string{show(s.Name), show(s.Latency), show(s.Residency), factText(s.CPUs, ""), factText(s.Disabled, "")})
	}
	return t
}

func mitigations(f *host.Facts) factTable {
	t := factTable{Title: "Mitigations of processor vulnerabilities", Head: []string{"vulnerability", "what the kernel does"}}
	for _, m := range f.Kernel.Mitigations {
		t.Cells = append(t.Cells, []string{m.Name, show(m.Text)})
	}
	return t
}

func stack(s host.Storage) factTable {
	t := factTable{Title: "Devices under " + s.Path, Head: []string{"device", "kind", "label", "scheduler", "write cache", "rotational"}}
	for _, l := range s.Stack {
		q := l.Queue
		if q == nil {
			q = &host.BlockDevice{}
		}
		t.Cells = append(t.Cells, []string{strings.Repeat("› ", l.Depth) + l.Name, l.Kind, l.Label, show(q.Scheduler), show(q.WriteCache), show(q.Rotational)})
	}
	return t
}

func databases(f *host.Facts) factTable {
	t := factTable{Title: "Databases seen running", Head: []string{"kind", "process", "data directory", "log directory"}}
	for _, d := range f.Databases {
		t.Cells = append(t.Cells, []string{d.Kind, fmt.Sprint(d.PID), show(d.DataDir), show(d.LogDir)})
	}
	return t
}
