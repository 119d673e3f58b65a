package hosttext

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// The page: labels, values and sources have a column each.
const (
	width     = 80
	valueCol  = 22
	sourceCol = 47
)

// printer gathers lines of at most width characters.
type printer struct {
	b      strings.Builder
	from   int      // where this section begins in b
	begun  int      // where its lines do
	other  bool     // the machine runs no Linux, whose files are not worth a word then
	absent []string // labels of this section's absent facts
}

func (p *printer) section(title string) {
	p.flush()
	p.from = p.b.Len()
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(title + "\n")
	p.begun = p.b.Len()
}

// flush ends a section with the names of what this machine does not have. One
// without a line is left out.
func (p *printer) flush() {
	if len(p.absent) > 0 {
		p.put("absent", strings.Join(p.absent, ", "), "")
	}
	p.absent = nil
	if text := p.b.String(); len(text) == p.begun {
		p.b.Reset()
		p.b.WriteString(text[:p.from])
	}
}

// put writes a label, a value on as many lines as it takes, and the source
// behind the last of them where there is room.
func (p *printer) put(label, value, source string) {
	lines := screen.Wrap(screen.Clean(value), width-valueCol)
	labels := screen.Wrap(screen.Clean(label), width-2)
	for _, l := range labels[:len(labels)-1] {
		p.b.WriteString("  " + l + "\n")
	}
	head := "  " + labels[len(labels)-1]
	if n := utf8.RuneCountInString(head); n > valueCol-1 {
		p.b.WriteString(head + "\n")
		head = ""
	}
	for i, l := range lines {
		line := screen.Pad(head, valueCol) + l
		// Behind text of several lines a source would look like part of it.
		if len(lines) == 1 || i == len(lines)-1 && utf8.RuneCountInString(line) < sourceCol {
			line = withSource(line, screen.Clean(source))
		}
		p.b.WriteString(strings.TrimRight(line, " ") + "\n")
		head = ""
	}
}

func withSource(line, source string) string {
	at := max(sourceCol, utf8.RuneCountInString(line)+2)
	if s := shorten(source, width-at); s != "" {
		return screen.Pad(line, at) + s
	}
	return line
}

// shorten drops leading parts of a path until it fits; a path of which less
// than a name would be left is dropped whole.
func shorten(path string, room int) string {
	if utf8.RuneCountInString(path) <= room {
		return path
	}
	for i, r := range path {
		if rest := path[i:]; i > 0 && (r == '/' || r == '\\') && utf8.RuneCountInString(rest)+3 <= room {
			return "..." + rest
		}
	}
	return ""
}

// fact writes one fact; absent ones are only named, at the section's end.
func (p *printer) fact(label string, f host.AnyFact) {
	value, unit, source, state, why := f.Any()
	switch state {
	case host.StateOK:
		p.put(label, show(value, unit), source)
	case host.StateAbsent:
		if why == host.NoLimit {
			p.put(label, why, source)
			return
		}
		if p.other && (why == host.NotTold || why == "") {
			return // Linux' own: no news for whoever knows what runs here
		}
		p.absent = append(p.absent, label)
	default:
		p.put(label, string(state)+": "+why, source)
	}
}

// show writes a value for people.
func show(value any, unit string) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		if v == "" {
			return "(empty)"
		}
		return v
	case host.Choice:
		if len(v.Offers) > 1 {
			return v.Active + " (of " + strings.Join(v.Offers, " ") + ")"
		}
		return v.Active
	case int:
		return result.Format(float64(v), unit)
	case int64:
		return result.Format(float64(v), unit)
	case float64:
		return result.Format(v, unit)
	case uint64:
		if unit == "" {
			return fmt.Sprint(v)
		}
		return result.Format(float64(v), unit)
	case []int:
		return cpuList(v)
	case []int64:
		return frequencies(v)
	}
	return fmt.Sprint(value)
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

// cpuList writes a list of CPUs and clips it where it is scattered.
func cpuList(list []int) string {
	const most = 60
	if len(list) == 0 {
		return "none"
	}
	s := host.FormatList(list)
	if len(s) <= most {
		return s
	}
	s = s[:strings.LastIndexByte(s[:most-20], ',')]
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

// group writes facts of the same kind, one line for all CPUs that have the same
// value. It reports whether any was known or failed.
func (p *printer) group(label string, members []member) {
	type line struct {
		text, source string
		cpus         []int
		objects      int
	}
	var lines []line
	at := map[string]int{}
	low, high, numbers := 0.0, 0.0, 0
	var unit string
	var cpus []int
	for _, m := range members {
		value, u, source, state, why := m.fact.Any()
		if state == host.StateAbsent && why != host.NoLimit {
			continue
		}
		text := string(state) + ": " + why
		if state == host.StateAbsent {
			text = why
		}
		if state == host.StateOK {
			text = show(value, u)
			if x, ok := number(value); ok {
				if numbers == 0 || x < low {
					low = x
				}
				if numbers == 0 || x > high {
					high = x
				}
				numbers++
				unit = u
			}
		}
		i, ok := at[text]
		if !ok {
			i = len(lines)
			at[text] = i
			lines = append(lines, line{text: text, source: source})
		}
		lines[i].cpus = append(lines[i].cpus, m.cpus...)
		lines[i].objects++
		cpus = append(cpus, m.cpus...)
	}
	if len(lines) == 0 {
		if !p.other {
			p.absent = append(p.absent, label)
		}
		return
	}
	if len(lines) > most && numbers == len(members) {
		text := result.Format(low, unit) + " to " + result.Format(high, unit)
		lines = []line{{text, lines[0].source, cpus, numbers}}
	}
	for i, l := range lines {
		if i == most {
			p.put("", fmt.Sprintf("and %d other values", len(lines)-most), "")
			return
		}
		if l.objects > 1 {
			l.source = everyCPU(l.source)
		}
		slices.Sort(l.cpus)
		p.put(label, l.text+", "+cpuNames(slices.Compact(l.cpus)), l.source)
		label = ""
	}
}

func number(v any) (float64, bool) {
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
