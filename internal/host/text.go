package host

// The facts as a document: scaled units, equal values of many objects together, and for each
// value where it was read. It walks the facts, so that a new one needs nothing here. What could
// not be read says so; what is not there is only named.

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Document reports all facts. started is when the host was looked at, and machine its MachineHash: zero and
// "" of a recording.
func (f *Facts) Document(started time.Time, machine string) *document.Document {
	data := struct {
		Kind    string    `json:"kind"` // in the Facts too, but a document begins with it
		Schema  int       `json:"schema"`
		Started time.Time `json:"started,omitzero"`
		Machine string    `json:"machine,omitempty"`
		*Facts
	}{f.Kind, f.Schema, started, machine, f}
	d := &document.Document{Name: "facts", Title: f.Identity.Hostname.Or("unknown host"), When: started,
		Sections: f.Sections(), Data: data}
	d.Rows = document.PairRows(d.Sections)
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
	switch c := f.Virt.Container.Or("none"); c {
	case "none", "":
	case "unknown", "oci container": // an engine without a name
		system += ", in a container"
	default:
		system += ", in a container of " + c
	}
	if strings.HasSuffix(f.Virt.Container.Source, ownProcesses) {
		system += ", which hides the host's processes (as --pid=host does not)"
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
		case field.Type().Elem() == reflect.TypeFor[Storage](), field.Type().Elem() == reflect.TypeFor[Database]():
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

// structure shows the facts of a struct and of those in it, then its lists.
func (b *blocks) structure(v reflect.Value) {
	b.facts(v)
	b.flush()
}

func (b *blocks) facts(v reflect.Value) {
	var lists []int
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch x := v.Field(i).Interface().(type) {
		case AnyFact:
			if _, _, _, state, why := x.Any(); !b.foreign || state == StateOK || why != NotTold && why != "" {
				b.values(label(field), []cell{cellOf(v.Field(i), field)}, false)
			}
		case string, int:
			b.pairs = append(b.pairs, document.Pair{Name: label(field), Value: fmt.Sprint(x)})
		default:
			switch v.Field(i).Kind() { //nolint:exhaustive // others are no facts
			case reflect.Slice:
				lists = append(lists, i)
			case reflect.Struct:
				b.facts(v.Field(i))
			}
		}
	}
	for _, i := range lists {
		b.objects(label(v.Type().Field(i)), v.Field(i))
	}
}

// objects shows a list: facts of CPUs by value, others as a table.
func (b *blocks) objects(name string, list reflect.Value) {
	switch {
	case list.Len() > 0 && number(list.Index(0)) >= 0:
		b.ofCPUs(name, list)
	case list.Len() > 0:
		b.tables = append(b.tables, table(name, list))
	case !b.foreign:
		b.absent = append(b.absent, name)
	}
}

// cell is what one object has in one field; without text it is not there.
type cell struct {
	text, source string
	value        any // of a fact that is known
	unit         string
	cpus         []int // that have it
	objects      int
}

func cellOf(v reflect.Value, field reflect.StructField) cell {
	switch x := v.Interface().(type) {
	case AnyFact:
		value, unit, source, state, why := x.Any()
		if state == StateAbsent && why != NoLimit {
			return cell{}
		}
		c := cell{text: factText(x, field), source: source, objects: 1}
		if state == StateOK {
			c.value, c.unit = value, unit
		}
		return c
	case []int:
		if len(x) > 0 {
			return cell{text: cpuList(x)}
		}
	case string, int:
		return cell{text: fmt.Sprint(x)}
	}
	return cell{} // a list of its own
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
		own := []int{number(x)}
		if f := x.FieldByName("CPUs"); f.IsValid() {
			own = f.Interface().(Fact[[]int]).Or(own)
		}
		if len(b.online) > 0 && !slices.ContainsFunc(own, func(c int) bool { return slices.Contains(b.online, c) }) {
			offline = append(offline, number(x))
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
		cells := make([]cell, len(objects))
		for j, x := range objects {
			cells[j] = cellOf(x.Field(i), field)
			cells[j].cpus = cpus[j]
		}
		b.values(full, cells, true)
	}
}

// most is how many different values of one kind are listed; of more, numbers
// give only the range.
const most = 6

// numberedPart is what sources of alike objects differ by.
var numberedPart = lazyre.New(`\b(cpu|policy|node)\d+\b`)

// values shows what some objects have, alike ones together; what none has is only named, at the
// section's end.
func (b *blocks) values(name string, cells []cell, ofCPUs bool) {
	var lines []cell
	at := map[string]int{}
	var numbers []float64
	for _, c := range cells {
		if c.text == "" {
			continue
		}
		if x, ok := scalar(c.value); ok {
			numbers = append(numbers, x)
		}
		i, ok := at[c.text]
		if !ok {
			i, at[c.text] = len(lines), len(lines)
			lines = append(lines, cell{text: c.text, source: c.source, unit: c.unit})
		}
		lines[i].cpus = append(lines[i].cpus, c.cpus...)
		lines[i].objects++
	}
	if len(lines) == 0 && (!b.foreign || !ofCPUs) {
		b.absent = append(b.absent, name)
	}
	if len(lines) > most && len(numbers) == len(cells) {
		all := cell{source: lines[0].source, objects: len(cells)}
		all.text = result.Format(slices.Min(numbers), lines[0].unit) + " to " +
			result.Format(slices.Max(numbers), lines[0].unit)
		for _, l := range lines {
			all.cpus = append(all.cpus, l.cpus...)
		}
		lines = []cell{all}
	}
	for i, l := range lines {
		if i == most {
			b.pairs = append(b.pairs, document.Pair{Value: fmt.Sprintf("and %d other values", len(lines)-most)})
			return
		}
		if l.objects > 1 {
			l.source = numberedPart.ReplaceAllString(l.source, "$1*") // one object's source stands for all alike
		}
		switch l.cpus = ascending(l.cpus); {
		case len(l.cpus) == 1:
			l.text += ", cpu " + cpuList(l.cpus)
		case ofCPUs:
			l.text += ", cpus " + cpuList(l.cpus)
		}
		b.pairs = append(b.pairs, document.Pair{Name: name, Value: l.text, Source: l.source})
		name = ""
	}
}

// table shows other objects, alike ones in one row: the first column has their CPUs or names.
func table(name string, list reflect.Value) *document.Table {
	t := list.Type().Elem()
	key := max(0, slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Name == "CPUs" }))
	out := &document.Table{Title: name, Columns: []document.Column{{Head: label(t.Field(key))}}}
	rows := make([][]string, list.Len())
	for i := range t.NumField() {
		any, figures := false, true
		column := make([]string, list.Len())
		for j := range column {
			s := cellOf(list.Index(j).Field(i), t.Field(i)).text
			column[j], any, figures = s, any || s != "", figures && (s == "" || s[0] >= '0' && s[0] <= '9')
		}
		if i == key || !any {
			continue
		}
		out.Columns = append(out.Columns, document.Column{Head: label(t.Field(i)), Right: figures})
		for j, s := range column {
			rows[j] = append(rows[j], s)
		}
	}
	var keys [][]reflect.Value // of each row
	at := map[string]int{}
	for j, row := range rows {
		known := strings.Join(row, "\x00")
		i, ok := at[known]
		if !ok {
			i, at[known] = len(keys), len(keys)
			keys = append(keys, nil)
			out.Rows = append(out.Rows, document.Row{Cells: []document.Cell{{}}})
			for _, s := range row {
				out.Rows[i].Cells = append(out.Rows[i].Cells, document.Text(s))
			}
		}
		keys[i] = append(keys[i], list.Index(j).Field(key))
	}
	for i, k := range keys {
		out.Rows[i].Cells[0] = together(k)
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

// number is that of an object that is a CPU or has an ID; -1 for others.
func number(v reflect.Value) int {
	for _, name := range []string{"CPU", "ID"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.Int {
			return int(f.Int())
		}
	}
	return -1
}
