package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// box is a rectangle of the topology map with others in it. x and y are those of
// its corner within its parent until place makes them absolute.
type box struct {
	class, label, title string
	cpu                 int // of a thread, else -1
	x, y, w, h          float64
	kids                []*box
}

// topologyPicture maps sockets, NUMA nodes or shared caches, cores and threads.
// Threads in one core box are siblings as the system reports them; lines join
// pairs as the siblings probe measured them. Empty without CPUs.
func topologyPicture(f *host.Facts, pairs []probe.PairResult) picture.HTML {
	if f == nil || len(f.Topology.CPUs) == 0 {
		return ""
	}
	n := len(f.Topology.CPUs)
	s := &picture.SVG{ID: "topology", W: picture.Width}
	cell := 42.0
	switch {
	case n > 128:
		cell = 12
	case n > 32:
		cell = 21
	case n > 8:
		cell = 30
	}
	if n > 32 {
		s.W, s.Wide = picture.Wide, true
	}
	root := &box{cpu: -1, class: "", kids: sockets(f)}
	root.layout(cell, s.W-4)
	at := map[int]*box{}
	root.place(2, 2, at)
	s.W = max(picture.Width, min(s.W, root.w+4)) // no empty half beside the last row
	root.draw(s, cell)
	bottom := root.h + 8
	kinds := links(s, pairs, at)
	bottom = legend(s, f, kinds, bottom)
	s.H = bottom + 4
	return s.Done("CPU topology", topologyText(f, pairs))
}

// sockets builds the tree of boxes from the facts; what is not known is one
// group.
func sockets(f *host.Facts) []*box {
	llc, size := lastLevel(f.Topology.Caches)
	types := map[string]int{}
	for i, c := range f.Topology.CoreTypes {
		types[c.Name] = i
	}
	threads := slices.Clone(f.Topology.CPUs)
	socket := func(c host.CPU) string { return fmt.Sprintf("socket %d", c.Socket.Or(0)) }
	node := func(c host.CPU) string { return fmt.Sprintf("node %d", c.NUMANode.Or(0)) }
	cache := func(c host.CPU) string { return fmt.Sprint(llc[c.ID]) }
	core := func(c host.CPU) string {
		if sib, ok := c.Siblings.Get(); ok && len(sib) > 0 {
			return fmt.Sprint(slices.Min(sib))
		}
		return fmt.Sprintf("core %d", c.Core.Or(c.ID))
	}
	var out []*box
	for _, so := range groups(threads, socket) {
		b := &box{cpu: -1, class: "socket", label: socket(so[0])}
		nodes := groups(so, node)
		for _, no := range nodes {
			into := b
			if len(nodes) > 1 {
				into = &box{cpu: -1, class: "node", label: node(no[0])}
				b.kids = append(b.kids, into)
			} else if len(f.Topology.NUMA) > 1 {
				b.label += ", " + node(no[0])
			}
			for _, ca := range groups(no, cache) {
				c := &box{cpu: -1, class: "llc", label: size[llc[ca[0].ID]]}
				into.kids = append(into.kids, c)
				for _, co := range groups(ca, core) {
					k := &box{cpu: -1, class: "core"}
					c.kids = append(c.kids, k)
					for _, t := range co {
						k.kids = append(k.kids, &box{cpu: t.ID, class: fmt.Sprintf("thread c%d", min(types[t.CoreType], 3)),
							label: fmt.Sprint(t.ID),
							title: fmt.Sprintf("CPU %d, %s, %s, core %d", t.ID, socket(t), node(t), t.Core.Or(-1))})
					}
				}
			}
		}
		out = append(out, b)
	}
	return out
}

// groups parts CPUs by a key, keeping the order in which keys appear.
func groups(cpus []host.CPU, key func(host.CPU) string) [][]host.CPU {
	at := map[string]int{}
	var out [][]host.CPU
	for _, c := range cpus {
		k := key(c)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// lastLevel maps each CPU to its last-level cache and each cache to its label.
func lastLevel(caches []host.Cache) (of map[int]int, label map[int]string) {
	of, label = map[int]int{}, map[int]string{}
	top := 0
	for _, c := range caches {
		top = max(top, c.Level)
	}
	for i, c := range caches {
		if c.Level != top || top < 2 {
			continue
		}
		label[i+1] = fmt.Sprintf("L%d", c.Level)
		if b, ok := c.Size.Get(); ok {
			label[i+1] += " " + result.Format(float64(b), "B")
		}
		for _, cpu := range c.CPUs {
			of[cpu] = i + 1
		}
	}
	return of, label
}

// layout sizes a box: threads of a core stand above each other, everything else
// flows in rows.
func (b *box) layout(cell, width float64) {
	pad, gap, head := 5.0, 4.0, 0.0
	switch b.class {
	case "":
		pad, gap = 0, 8
	case "socket", "node":
		head = 17
		pad = 7
	case "llc":
		if b.label != "" {
			head = 15
		}
	case "core":
		pad, gap = 2, 1
		b.w = cell + 2*pad
		for i, k := range b.kids {
			k.x, k.y, k.w, k.h = pad, pad+float64(i)*(cell+gap), cell, cell
		}
		b.h = 2*pad + float64(len(b.kids))*(cell+gap) - gap
		return
	}
	room := width - 2*pad
	for _, k := range b.kids {
		k.layout(cell, room)
	}
	if len(b.kids) > 1 { // rows of equal length look less like chance
		k, n := b.kids[0], float64(len(b.kids))
		cols := max(1, math.Floor((room+gap)/(k.w+gap)))
		if b.class == "llc" && n > 4 { // about twice as wide as high
			cols = min(cols, math.Ceil(math.Sqrt(2*n*k.h/k.w)))
		}
		cols = math.Ceil(n / math.Ceil(n/cols))
		room = min(room, cols*(k.w+gap)-gap+0.5)
	}
	x, y, row := 0.0, 0.0, 0.0
	for _, k := range b.kids {
		if x > 0 && x+k.w > room {
			x, y, row = 0, y+row+gap, 0
		}
		k.x, k.y = pad+x, pad+head+y
		x += k.w + gap
		row = max(row, k.h)
		b.w = max(b.w, k.x+k.w+pad)
	}
	b.h = pad + head + y + row + pad
	b.w = max(b.w, min(picture.TextWidth(b.label)+2*pad, width))
}

func (b *box) place(x, y float64, at map[int]*box) {
	b.x, b.y = b.x+x, b.y+y
	if b.cpu >= 0 {
		at[b.cpu] = b
	}
	for _, k := range b.kids {
		k.place(b.x, b.y, at)
	}
}

func (b *box) draw(s *picture.SVG, cell float64) {
	if b.class != "" {
		s.Rect(b.x, b.y, b.w, b.h, b.class, b.title)
	}
	switch {
	case b.cpu >= 0:
		if cell >= 20 {
			s.Text(b.x+b.w/2, b.y+b.h/2+4.5, "middle", "cpu", b.label)
		}
	case b.label != "" && picture.TextWidth(b.label) <= b.w:
		s.Text(b.x+6, b.y+15, "start", "boxname", b.label)
	}
	for _, k := range b.kids {
		k.draw(s, cell)
	}
}

// links joins measured pairs and returns the kinds that were drawn.
func links(s *picture.SVG, pairs []probe.PairResult, at map[int]*box) []string {
	var kinds []string
	for _, p := range pairs {
		a, b := at[p.A], at[p.B]
		kind := pairKind(p)
		if a == nil || b == nil || kind == "" {
			continue
		}
		s.Line(a.x+a.w/2, a.y+a.h-5, b.x+b.w/2, b.y+5, "link "+kind)
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// pairKind is how measurement and report agree: "differs" where one says
// siblings and the other does not.
func pairKind(p probe.PairResult) string {
	switch p.Relation {
	case probe.Siblings, probe.Separate:
		if (p.Relation == probe.Siblings) != p.Reported {
			return "differs"
		}
		return string(p.Relation)
	case probe.TimeShared:
		return "differs"
	default:
		return ""
	}
}

var linkWords = map[string]string{
	"siblings": "measured: share a core",
	"separate": "measured: separate cores",
	"differs":  "measured otherwise than reported",
}

// legend explains colours and lines below the map and returns where it ends.
func legend(s *picture.SVG, f *host.Facts, kinds []string, y float64) float64 {
	type entry struct {
		text string
		draw func(x, y float64)
	}
	entries := []entry{{"a box of threads: one core, as reported",
		func(x, y float64) { s.Rect(x, y-10, 16, 12, "core", "") }}}
	if len(f.Topology.CoreTypes) > 1 {
		entries = entries[:0]
		for i, t := range f.Topology.CoreTypes {
			entries = append(entries, entry{t.Name + " cores",
				func(x, y float64) { s.Rect(x, y-10, 16, 12, fmt.Sprintf("thread c%d", min(i, 3)), "") }})
		}
	}
	for _, k := range kinds {
		entries = append(entries, entry{linkWords[k], func(x, y float64) { s.Line(x, y-4, x+18, y-4, "link "+k) }})
	}
	x := 4.0
	y += 16
	for _, e := range entries {
		if w := 40 + picture.TextWidth(e.text); x > 4 && x+w > s.W {
			x, y = 4, y+19
		}
		e.draw(x, y)
		s.Text(x+24, y, "start", "note", e.text)
		x += 46 + picture.TextWidth(e.text)
	}
	return y + 4
}

// topologyText says the map in words.
func topologyText(f *host.Facts, pairs []probe.PairResult) string {
	t := f.Topology
	words := []string{screen.Count(len(sockets(f)), "socket"), screen.Count(len(t.CPUs), "thread")}
	if c, ok := t.Cores.Get(); ok {
		words = slices.Insert(words, 1, screen.Count(c, "core"))
	}
	var joined []string
	for _, p := range pairs {
		if len(joined) == 12 {
			joined = append(joined, "and more")
			break
		}
		joined = append(joined, fmt.Sprintf("CPU %d and %d: %s", p.A, p.B, cmp.Or(p.Relation, probe.UnknownPair)))
	}
	out := strings.Join(words, ", ") + "."
	if len(joined) > 0 {
		out += " Measured: " + strings.Join(joined, "; ") + "."
	}
	return out
}
