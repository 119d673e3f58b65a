package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hostlab/internal/screen"
	"hostlab/internal/watch"
)

// View is all that the screen depends on. Render is a pure function of it.
type View struct {
	Width, Height int
	Interval      time.Duration
	Color         bool
	Info          watch.Info
	Sample        *watch.Sample // nil: the first is still to come
	Note          string
	Paused        bool
	Help          bool
	Map           layout
	Sort          int // of sorts
	Shown         int // of quantities, in the map
	Top           int // the first row shown
	rows, page    int // of the last rendering, for scrolling
}

// layout is how CPUs are shown.
type layout int

const (
	auto layout = iota // bars, or the map where these do not fit
	bars
	heat
)

// quantities are what CPUs are sorted by and the map shows. The first one is the
// order of the CPUs' numbers, for sorting.
var quantities = []struct {
	name string
	of   func(watch.CPU) float64
}{
	{"busy", watch.CPU.Busy},
	{"clock", func(c watch.CPU) float64 { return c.Ratio }},
	{"deep sleep", func(c watch.CPU) float64 { return min(1, c.Deep) }},
	{"steal", func(c watch.CPU) float64 { return c.Steal }},
	{"iowait", func(c watch.CPU) float64 { return c.IOWait }},
}

// Key takes a key that does not end the program.
func (v *View) Key(key string) {
	switch key {
	case "h", "?", "f1":
		v.Help = !v.Help
	case "esc":
		v.Help = false
	case "p", "space", " ":
		v.Paused = !v.Paused
	case "m":
		v.Map = map[bool]layout{true: bars, false: heat}[v.mapped()]
		v.Top = 0
	case "s":
		v.Sort = (v.Sort + 1) % (len(quantities) + 1)
		v.Top = 0
	case "v":
		v.Shown = (v.Shown + 1) % len(quantities)
	case "up", "k":
		v.Top--
	case "down", "j":
		v.Top++
	case "pgup", "b", "ctrl+b":
		v.Top -= max(1, v.page)
	case "pgdown", "f", "ctrl+f":
		v.Top += max(1, v.page)
	case "home", "g":
		v.Top = 0
	case "end", "G":
		v.Top = v.rows
	}
	v.Top = max(0, min(v.Top, v.rows-v.page))
}

func (v *View) mapped() bool {
	if v.Map != auto {
		return v.Map == heat
	}
	return v.Sample != nil && len(v.Sample.CPUs) > v.Height-len(v.head())-2
}

// Render returns the screen: at most Height lines of at most Width columns.
func (v *View) Render() string {
	if v.Width < 1 || v.Height < 1 {
		return ""
	}
	var lines []string
	switch {
	case v.Help:
		lines = v.help()
	case v.Sample == nil:
		lines = append(v.title(), "", fmt.Sprintf("The first sample comes in %s.", screen.Brief(v.Interval)))
	default:
		lines = v.head()
		room := max(0, v.Height-len(lines)-2)
		var body []string
		var heading string
		if v.mapped() {
			heading, body = v.heatMap()
		} else {
			heading, body = v.bars()
		}
		v.rows, v.page = len(body), room
		v.Top = max(0, min(v.Top, v.rows-v.page))
		lines = append(lines, v.dim(heading))
		lines = append(lines, body[v.Top:min(len(body), v.Top+room)]...)
	}
	for len(lines) < v.Height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:min(len(lines), v.Height-1)], v.dim(v.foot()))
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, v.Width, "")
	}
	return strings.Join(lines, "\n")
}

func (v *View) title() []string {
	left := "hostlab watch  " + screen.Clean(v.Info.Hostname)
	if v.Sample != nil {
		left += "  " + screen.Count(len(v.Sample.CPUs), "CPU")
	}
	left += "  every " + screen.Brief(v.Interval)
	right := v.Note
	if v.Paused {
		right = "PAUSED  " + right
	}
	if v.Sample != nil {
		right += "  " + v.Sample.At.Local().Format("15:04:05")
	}
	gap := v.Width - len([]rune(left)) - len([]rune(right))
	if gap < 1 {
		return []string{v.bold(left)}
	}
	return []string{v.bold(left) + strings.Repeat(" ", gap) + right}
}

func (v *View) head() []string {
	lines := v.title()
	if v.Sample == nil {
		return lines
	}
	for _, p := range v.Sample.Parts(v.Info) {
		lines = append(lines, fmt.Sprintf("%-8s %s", p.Name, screen.Clean(cmp.Or(p.Text, "unknown (h says why)"))))
	}
	return append(lines, "")
}

func (v *View) sorted() []watch.CPU {
	if v.Sort == 0 {
		return v.Sample.CPUs
	}
	of := quantities[v.Sort-1].of
	list := slices.Clone(v.Sample.CPUs)
	slices.SortStableFunc(list, func(a, b watch.CPU) int { return cmp.Compare(of(b), of(a)) }) // unknown last
	return list
}

func (v *View) bars() (heading string, rows []string) {
	const fixed = 5 + 2 + 46
	wide := max(4, v.Width-fixed)
	heading = fmt.Sprintf("%4s  %-*s %5s%5s%5s%5s%5s %6s %7s %5s", "CPU", wide, "", "busy", "user", "sys", "iow", "st",
		"clock",
		"eff", "deep")
	for _, c := range v.sorted() {
		busy, full := c.Busy(), 0
		if !math.IsNaN(busy) {
			full = int(math.Round(busy * float64(wide)))
		}
		full = min(full, wide)
		user := full
		if busy > 0 {
			user = min(full, int(math.Round(c.User*float64(wide))))
		}
		bar := v.paint(level(busy), strings.Repeat("#", user)+strings.Repeat("+", full-user)) +
			v.dim(strings.Repeat(".", wide-full))
		rows = append(rows, fmt.Sprintf("%4d  %s %5s%5s%5s%5s%5s %6s %7s %5s", c.ID, bar, share(busy), share(c.User),
			share(c.System), share(c.IOWait),
			share(c.Steal), share(c.Ratio), hertz(c.Effective), share(min(1, c.Deep))))
	}
	return heading, rows
}

// steps are the levels of the map: a character for shares up to one.
var steps = []struct {
	below float64
	char  byte
}{{0.05, '.'}, {0.20, ':'}, {0.40, '-'}, {0.60, '='}, {0.80, '+'}, {0.95, '*'}, {math.Inf(1), '#'}}

// level is the step of a share; -1 unknown.
func level(x float64) int {
	if math.IsNaN(x) {
		return -1
	}
	for i, s := range steps {
		if x < s.below {
			return i
		}
	}
	return len(steps) - 1
}

// heatMap is a character for each CPU.
func (v *View) heatMap() (heading string, rows []string) {
	q := quantities[v.Shown]
	heading = fmt.Sprintf("%s of each CPU: . <5 : <20 - <40 = <60 + <80 * <95 # to 100 %%, ? unknown", q.name)
	const group = 16 // with a space between groups
	groups := 1
	for groups < 8 && 7+2*groups*(group+1) <= v.Width {
		groups *= 2
	}
	list := v.sorted()
	perRow := groups * group
	for from := 0; from < len(list); from += perRow {
		var b strings.Builder
		fmt.Fprintf(&b, "%5d  ", list[from].ID)
		run, last := []byte{}, -2
		flush := func() {
			b.WriteString(v.paint(last, string(run)))
			run = run[:0]
		}
		for i, c := range list[from:min(len(list), from+perRow)] {
			l := level(q.of(c))
			if l != last {
				flush()
				last = l
			}
			if i > 0 && i%group == 0 {
				run = append(run, ' ')
			}
			if l < 0 {
				run = append(run, '?')
			} else {
				run = append(run, steps[l].char)
			}
		}
		flush()
		rows = append(rows, b.String())
	}
	return heading, rows
}

func (v *View) foot() string {
	order := "CPU"
	if v.Sort > 0 {
		order = quantities[v.Sort-1].name
	}
	more := ""
	if v.Sample != nil && v.rows > v.page {
		more = fmt.Sprintf("  rows %d-%d of %d", v.Top+1, min(v.rows, v.Top+v.page), v.rows)
	}
	if v.Width < 60 {
		return "q quit  h help" + more
	}
	return fmt.Sprintf("q quit  h help  p pause  m map/bars  s sort: %s%s%s", order,
		map[bool]string{true: "  v: " + quantities[v.Shown].name}[v.Sample != nil && v.mapped()], more)
}

func (v *View) help() []string {
	lines := v.title()
	lines = append(lines, "",
		"q, Ctrl-C  quit               p, space   pause (the record goes on)",
		"m          map or bars        up, down, PgUp, PgDn, Home, End  scroll",
		"s          sort the CPUs      v          what the map shows",
		"h, Esc     back               Ctrl-Z     suspend",
		"",
		"busy: user (#) and system (+) time; st: taken by the hypervisor; clock: % of the",
		"highest frequency; eff: frequency while busy; deep: sleep that takes 50 us or",
		"more to leave; waits: share of the time in which some task waited; busiest",
		"quarter: the share of all work that this quarter of the CPUs did (25 %: even).", "")
	for _, u := range v.Info.Unknown {
		lines = append(lines, screen.Wrap(screen.Clean("Unknown here: "+u.What+": "+u.Why), max(20, v.Width))...)
	}
	return lines
}
