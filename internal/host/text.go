package host

// The facts as a document: scaled units, equal values of many objects together, and for each
// value where it was read. It walks the facts, so that a new one needs nothing here. What could
// not be read says so; what is not there is only named.

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Document reports all facts.
func (f *Facts) Document() *document.Document {
	d := &document.Document{Name: "facts", Title: f.Identity.Hostname.Or("unknown host"), Sections: f.Sections(), Data: f}
	for _, s := range f.Summary() {
		d.Answer = append(d.Answer, document.Line{Text: s})
	}
	return d
}

// Summary describes a machine in two lines: processor and system.
func (f *Facts) Summary() []string {
	t := f.Topology
	cpu := f.Identity.CPUModel.Or("processor model unknown")
	var parts []string
	for _, p := range []struct {
		n    Fact[int]
		noun string
	}{{t.Sockets, "socket"}, {t.Cores, "core"}, {t.Threads, "thread"}} {
		if v, ok := p.n.Get(); ok {
			parts = append(parts, screen.Count(v, p.noun))
		}
	}
	if n := len(t.NUMA); n > 1 {
		parts = append(parts, screen.Count(n, "NUMA node"))
	}
	if v, ok := f.Memory.Total.Get(); ok {
		parts = append(parts, result.Format(float64(v), "B"))
	}
	if len(parts) > 0 {
		cpu += ": " + strings.Join(parts, ", ")
	}
	system := f.Identity.OS.Or("operating system unknown")
	if k, ok := f.Identity.Kernel.Get(); ok {
		system += ", kernel " + k
	}
	if hv := f.Virt.Hypervisor.Or("none"); hv != "none" && hv != "" {
		system += ", " + hv + " guest"
	}
	if c := f.Virt.Container.Or("none"); c != "none" && c != "" {
		system += ", in a " + c + " container"
	}
	if q, ok := f.Limits.CPUQuota.Get(); ok {
		system += fmt.Sprintf(", limited to %g CPUs", q)
	}
	return []string{cpu, system}
}

// Sections holds a section for each part of the facts, folded on a page.
func (f *Facts) Sections() []document.Section {
	var out []document.Section
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		field, name := v.Field(i), label(v.Type().Field(i))
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		b := &blocks{online: f.Topology.Online.Or(nil), foreign: f.Windows != nil}
		switch {
		case field.Kind() == reflect.Struct:
			b.structure(field)
		case field.Kind() != reflect.Slice:
			continue
		case field.Type().Elem() == reflect.TypeFor[Storage]():
			for j := range field.Len() {
				b.structure(field.Index(j))
			}
		default:
			b.objects(name, field)
		}
		b.flush()
		out = append(out, document.Section{Title: strings.ToUpper(name[:1]) + name[1:], Blocks: b.done, Folded: true})
	}
	return out
}

type blocks struct {
	done    []document.Block
	pairs   document.Pairs
	absent  []string // labels of absent facts
	tables  []document.Block
	online  []int
	foreign bool // the machine runs no Linux, whose facts are no news where they are absent
}

// flush ends the pairs with the names of what this machine does not have; tables follow.
func (b *blocks) flush() {
	if len(b.absent) > 0 {
		b.pairs = append(b.pairs, document.Pair{Name: "absent", Value: strings.Join(b.absent, ", "), Tone: document.Quiet})
	}
	if len(b.pairs) > 0 {
		b.done = append(b.done, b.pairs)
	}
	b.done = append(b.done, b.tables...)
	b.pairs, b.absent, b.tables = nil, nil, nil
}

// structure shows the facts of a struct, then its lists.
func (b *blocks) structure(v reflect.Value) {
	var lists []int
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch x := v.Field(i).Interface().(type) {
		case AnyFact:
			b.fact(label(field), x, field)
		case string:
			b.pairs = append(b.pairs, document.Pair{Name: label(field), Value: x})
		default:
			if v.Field(i).Kind() == reflect.Slice {
				lists = append(lists, i)
			}
		}
	}
	for _, i := range lists {
		b.objects(label(v.Type().Field(i)), v.Field(i))
	}
	b.flush()
}

// fact adds one fact; absent ones are only named, at the section's end.
func (b *blocks) fact(name string, f AnyFact, field reflect.StructField) {
	_, _, source, state, why := f.Any()
	switch {
	case state == StateOK || state == StateDenied || state == StateError || why == NoLimit:
		b.pairs = append(b.pairs, document.Pair{Name: name, Value: factText(f, field), Source: source})
	case b.foreign && (why == NotTold || why == ""):
	default:
		b.absent = append(b.absent, name)
	}
}

// objects shows a list: facts of CPUs by value, others as a table.
func (b *blocks) objects(name string, list reflect.Value) {
	switch {
	case list.Len() == 0:
		if !b.foreign {
			b.absent = append(b.absent, name)
		}
	case number(list.Index(0), "CPU", "ID") >= 0:
		b.ofCPUs(name, list)
	default:
		b.tables = append(b.tables, table(name, list))
	}
}

// many is from how many facts on a list of CPUs needs no name before each of them.
const many = 5

// ofCPUs shows each fact of a list by its values, with the CPUs that have them. Objects
// without an online CPU, whose files can only be read once it is back, are one line.
func (b *blocks) ofCPUs(name string, list reflect.Value) {
	var cpus [][]int
	var objects []reflect.Value
	var offline []int
	for i := range list.Len() {
		x := list.Index(i)
		own := []int{number(x, "CPU", "ID")}
		if f := x.FieldByName("CPUs"); f.IsValid() {
			own = f.Interface().(Fact[[]int]).Or(own)
		}
		if len(b.online) > 0 && !slices.ContainsFunc(own, func(c int) bool { return slices.Contains(b.online, c) }) {
			offline = append(offline, number(x, "CPU", "ID"))
			continue
		}
		cpus, objects = append(cpus, own), append(objects, x)
	}
	if len(offline) > 0 {
		b.pairs = append(b.pairs, document.Pair{Name: "without online CPU", Value: name + " " + cpuList(offline)})
	}
	t := list.Type().Elem()
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Name == "CPUs" || !field.Type.Implements(reflect.TypeFor[AnyFact]()) {
			continue
		}
		full := label(field)
		if t.NumField() < many {
			full = strings.TrimSuffix(name+" "+full, " value")
		}
		var members []cpuFact
		for j, x := range objects {
			members = append(members, cpuFact{cpus[j], x.Field(i).Interface().(AnyFact)})
		}
		b.group(full, members, field)
	}
}

// table shows other objects, alike ones in one row: the first column has their CPUs or names.
func table(name string, list reflect.Value) *document.Table {
	t := list.Type().Elem()
	key := slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Name == "CPUs" })
	key = max(key, 0)
	out := &document.Table{Title: name, Columns: []document.Column{{Head: label(t.Field(key))}}}
	cells := make([][]string, list.Len())
	for i := range t.NumField() {
		any, column := false, make([]string, list.Len())
		for j := range column {
			column[j] = cellText(list.Index(j).Field(i), t.Field(i))
			any = any || column[j] != ""
		}
		if i == key || !any {
			continue
		}
		figures := !slices.ContainsFunc(column, func(s string) bool { return s != "" && (s[0] < '0' || s[0] > '9') })
		out.Columns = append(out.Columns, document.Column{Head: label(t.Field(i)), Right: figures})
		for j := range cells {
			cells[j] = append(cells[j], column[j])
		}
	}
	var rows []string // what a row is known by
	members := map[string][]reflect.Value{}
	for j := range cells {
		row := strings.Join(cells[j], "\x00")
		if members[row] == nil {
			rows = append(rows, row)
		}
		members[row] = append(members[row], list.Index(j).Field(key))
	}
	for _, row := range rows {
		r := document.Row{Cells: []document.Cell{together(members[row])}}
		for _, cell := range strings.Split(row, "\x00") {
			r.Cells = append(r.Cells, document.Text(cell))
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// together names the objects of a row: all their CPUs, or their names.
func together(keys []reflect.Value) document.Cell {
	var cpus []int
	var names []string
	for _, k := range keys {
		if list, ok := k.Interface().([]int); ok {
			cpus = append(cpus, list...)
		} else {
			names = append(names, fmt.Sprint(k.Interface()))
		}
	}
	if cpus == nil {
		return document.Text(strings.Join(names, ", "))
	}
	cpus = ascending(cpus)
	c := document.Text(cpuList(cpus))
	if len(keys) > 1 {
		c.More = []string{fmt.Sprintf("%d of %s each", len(keys), screen.Count(len(cpus)/len(keys), "CPU"))}
	}
	return c
}

// number is the first field of a struct with one of some names that is an int; -1 for none.
func number(v reflect.Value, names ...string) int {
	for _, name := range names {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.Int {
			return int(f.Int())
		}
	}
	return -1
}
