package assess

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/chain"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Ended is what a share of a part ended with: what a thread of the service, of its clients or of another program did.
type Ended struct {
	With  chain.Kind      `json:"with"`
	Of    Owner           `json:"of"`
	Share result.Estimate `json:"share"` // of the part
}

// Owner is whose thread it was, or whose had the CPU.
type Owner string

// The owners.
const (
	OfService Owner = "service"
	OfClients Owner = "clients" // of this host
	OfOthers  Owner = "others"
	OfNobody  Owner = "nobody" // an idle CPU: its turn was about to come
)

// followed is how many windows have to show a part, and of how much of it the end has to be seen, before its ends are
// known: waits that are longer than windows end unseen.
const (
	followed = 3
	half     = 0.5
)

// follows reports that the ends of a part are known.
func (m *Minute) follows(part explain.PartName) bool {
	if m.Ends == nil {
		return false
	}
	seen, windows := m.Ends.Seen(part)
	return seen >= half && windows >= followed
}

// owner is whose a process is.
func (m *Minute) owner(pid int) Owner {
	switch {
	case pid == 0:
		return OfNobody
	case m.Ends.Own[pid]:
		return OfService
	case m.Ends.Clients[pid]:
		return OfClients
	}
	return OfOthers
}

// unfollowed says of parts of which little is known why, and what would show more.
func (m *Minute) unfollowed(refused error) (list []string) {
	for _, p := range m.Parts() {
		if _, waits := whose[p.Name]; !waits || p.Share < lever.Margin || m.follows(p.Name) {
			continue
		}
		why, windows := "most of them last longer than the scheduler's windows", 0
		if m.Ends != nil {
			_, windows = m.Ends.Seen(p.Name)
		}
		switch {
		case refused != nil:
			why = refused.Error()
		case m.Service.Near:
			why = "its processes were not seen"
		case m.Ends == nil:
			why = "its processes are not on this host"
		case windows < followed:
			why = fmt.Sprintf("too few of the scheduler's %d windows showed them; watch it for longer with --for",
				len(m.Ends.Windows))
		}
		list = append(list, "what the "+waitsOf[p.Name]+" ended with: "+why)
	}
	return list
}

// waitsOf are the waits of a part, in a sentence.
var waitsOf = map[explain.PartName]string{explain.Locks: "waits for locks", explain.LogWait: "waits for the log",
	explain.DataReads:   "data reads",
	explain.Application: "waits for clients", explain.OtherWaits: "other waits"}

// ends are what a part ended with, the largest share first; nil: too little was seen of it.
func (m *Minute) ends(part explain.PartName) (list []Ended) {
	if !m.follows(part) {
		return nil
	}
	seen := map[Ended]bool{}
	for _, e := range m.Ends.Ends(part) {
		of := Ended{With: e.Kind, Of: m.owner(e.PID)}
		if e.Kind == chain.Unseen || seen[of] {
			continue
		}
		seen[of] = true
		of.Share = m.Ends.Share(part, func(x chain.End) bool { return x.Kind == of.With && m.owner(x.PID) == of.Of })
		list = append(list, of)
	}
	slices.SortStableFunc(list, func(a, b Ended) int { return cmp.Compare(b.Share.Value, a.Share.Value) })
	return list
}

// whose are those whose doing ends a wait of a part, as a sentence names them.
var whose = map[explain.PartName]string{
	explain.Locks: "their holders", explain.LogWait: "who wrote it", explain.DataReads: "who read it",
	explain.Application: "they", explain.OtherWaits: "those that it waited for",
}

// ended is what a thread does in the end, in a sentence.
var ended = map[chain.Kind]string{
	chain.Computing: "computed", chain.Ready: "waited for a CPU", chain.Log: "waited for the log's device",
	chain.Data:   "waited for data",
	chain.Device: "waited for a device", chain.Asleep: "slept",
	chain.Remote: "waited for something that does not show here", chain.Circle: "waited for each other",
}

// behind says what the waits of a part ended with, the largest share first; none: that is not known, or goes without
// saying. own is why no platform shortens them; "": one may.
func (m *Minute) behind(part explain.PartName) (says []string, own string) {
	shares, kinds := map[chain.Kind]float64{}, []chain.Kind{}
	for _, e := range m.ends(part) {
		if shares[e.With] == 0 {
			kinds = append(kinds, e.With)
		}
		shares[e.With] += e.Share.Value
	}
	slices.SortStableFunc(kinds, func(a, b chain.Kind) int { return cmp.Compare(shares[b], shares[a]) })
	if whose[part] == "" || len(kinds) == 0 || part == explain.LogWait && kinds[0] == chain.Log || part == explain.DataReads &&
		(kinds[0] == chain.Data || kinds[0] == chain.Device) {
		return nil, ""
	}
	for _, k := range kinds[:min(3, len(kinds))] {
		if shares[k] >= 0.05 {
			says = append(says, fmt.Sprintf("%s (%s%s)", ended[k], result.Share(shares[k]), m.mostlyBy(part, k, shares[k])))
		}
	}
	if m.share(part).Value*shares[chain.Asleep] >= 0.3 {
		own = "no platform shortens a sleep, which is the application's own"
	}
	return says, own
}

// mostlyBy names the client on this host with which most waits of a part ended that ended so, within brackets; "": that was no client of a known
// name.
func (m *Minute) mostlyBy(part explain.PartName, kind chain.Kind, of float64) string {
	for _, t := range m.Takers {
		if t.PID == 0 || !m.Ends.Clients[t.PID] || kind == chain.Ready { // of which the process had the CPU
			continue
		}
		if m.Ends.Share(part, func(e chain.End) bool { return e.Kind == kind && e.PID == t.PID }).Value > of/2 {
			return ", mostly " + called(t)
		}
	}
	return ""
}

// talks says that transactions wait for their clients, which wait for nothing of this host: no lever shortens that.
func (m *Minute) talks() []explain.Finding {
	n, app := m.Report.Transactions, m.share(explain.Application)
	if !m.Connected || app.Value < half || m.clientsHere() && !m.follows(explain.Application) {
		return nil
	}
	still, who := 1.0, ""
	if m.follows(explain.Application) {
		still = 0
		for _, kind := range []chain.Kind{chain.Asleep, chain.Remote} {
			of := m.Ends.Share(explain.Application, func(e chain.End) bool { return e.Kind == kind }).Value
			still += of
			who = cmp.Or(who, m.mostlyBy(explain.Application, kind, of))
		}
	}
	share, each := app.Value*still, ""
	if n > 0 {
		each = ", " + m.each(m.Report.Part(explain.Application).Seconds) + " each"
	}
	return []explain.Finding{{Parameter: "pauses within transactions", Part: explain.Application,
		Number: m.Report.Part(explain.Application).Seconds, Unit: "s", N: n, Explains: &share,
		AtMost: result.Finite(lever.Unit(app.High + m.share(explain.RunQueue).High)), Whole: true,
		Text: fmt.Sprintf("transactions wait %s of active time for their clients%s%s", result.Share(app.Value), who, each),
		Step: "have clients send fewer statements a transaction, or all at once (a function, a pipeline, fewer round trips), " +
			"and do nothing else in between"}}
}

// endings are the parts that wait, by what that ended with. A part whose waits all ended as they began has no bar: that
// says nothing. Of a wait for a CPU the table says who had it.
func (m *Minute) endings() document.Section {
	b := &document.Bars{Lead: "A wait lasts as long as what it waits for: who holds a lock may wait for a CPU, too.",
		Table: &document.Table{Columns: []document.Column{{Head: "wait for"}, {Head: "ended with"}, {Head: "of"},
			{Head: "share", Right: true}, {Head: "95 % interval", Right: true}}}}
	for _, p := range m.Parts() {
		if p.Name == explain.DatabaseCPU || p.Share < lever.Margin {
			continue
		}
		list := m.ends(p.Name)
		if len(list) == 0 {
			continue
		}
		bar, of := document.Bar{Name: p.Name.Title()}, map[chain.Kind]int{} // a segment a kind, of all together
		for _, e := range list {
			with := ends[e.With]
			if p.Name == explain.RunQueue && e.With == chain.Ready {
				with = "a turn on its CPU"
			}
			b.Table.Add(document.Text(p.Name.Title()), document.Text(with), document.Text(owners[e.Of]),
				document.Number(e.Share.Value, result.Share(e.Share.Value)), document.Text(e.Share.Percent().Interval()))
			at, there := of[e.With]
			if !there {
				at, of[e.With] = len(bar.Segments), len(bar.Segments)
				bar.Segments = append(bar.Segments, document.Segment{Class: classes[e.With].Class(), Name: ends[e.With]})
			}
			bar.Segments[at].Value += e.Share.Value
			bar.Segments[at].Text = result.Share(bar.Segments[at].Value)
		}
		if _, same := of[direct[p.Name]]; !same || len(of) > 1 {
			b.Rows = append(b.Rows, bar)
		}
	}
	const title = "What its waits ended with"
	if len(b.Rows) == 0 {
		return document.Titled(title, b.Table)
	}
	return document.Titled(title, b)
}

// classes have the colours of parts.
var classes = map[chain.Kind]explain.PartName{chain.Computing: explain.DatabaseCPU, chain.Ready: explain.RunQueue,
	chain.Log:  explain.LogWait,
	chain.Data: explain.DataReads, chain.Device: explain.OtherWaits, chain.Asleep: explain.Idle,
	chain.Remote: explain.Application, chain.Circle: explain.Locks}

// ends and owners are their names in a table.
var (
	ends = map[chain.Kind]string{chain.Computing: "computing", chain.Ready: "a wait for a CPU", chain.Log: "log device",
		chain.Data: "data read", chain.Device: "device", chain.Asleep: "sleep", chain.Remote: "another host, or unknown",
		chain.Circle: "each other"}
	owners = map[Owner]string{OfService: "the service", OfClients: "clients here", OfOthers: "others", OfNobody: "nobody"}
)

// direct are the kinds of ends that the waits of a part have themselves.
var direct = map[explain.PartName]chain.Kind{explain.DatabaseCPU: chain.Computing, explain.RunQueue: chain.Ready,
	explain.LogWait:   chain.Log,
	explain.DataReads: chain.Data}

// brought is how much of its holder's CPU time a wait for a device brings along, which finds its caches cold, and calls
// the kernel once more: at most as much as the wait itself. Chosen so that bounds hold in bench/causes.
const brought = 0.5

// saving is what could be saved if no wait ended as those of a part do: they do, and others behind them. What lies
// behind a wait for a device may go away though it ended otherwise, as with a CPU's.
func (m *Minute) saving(part explain.PartName) explain.Saving {
	kind := direct[part]
	behind := func(e chain.End) bool { // a write waits for the log's device, too, and a page of memory for the data's
		device := e.Kind == chain.Device
		return part == explain.LogWait && (e.Log || device) || part == explain.DataReads && (e.Data || device)
	}
	return m.Report.Saving(part, func(of explain.PartName) (likely, most result.Estimate, known bool) {
		if m.follows(of) {
			most = m.Ends.Share(of, func(e chain.End) bool { return e.Kind == kind || behind(e) })
			if of == explain.Locks && (part == explain.LogWait || part == explain.DataReads) {
				ready := m.Ends.Share(of, func(e chain.End) bool { return e.Kind == chain.Ready && !behind(e) })
				cpu := m.Ends.Share(of, func(e chain.End) bool { return e.Kind == chain.Computing && !behind(e) })
				value, high := most.Value, most.High
				most.Value += min(ready.Value+brought*cpu.Value, value)
				most.High += min(ready.High+brought*cpu.High, high)
			}
			return m.Ends.Share(of, func(e chain.End) bool { return e.Kind == kind }), most, true
		}
		switch { // nobody followed it
		case of == part || of == explain.Locks:
			return likely, most, false
		case of == explain.OtherWaits:
			return result.Estimate{}, result.Estimate{High: 1 - m.Report.Slept()}, true
		case of == explain.Application && kind == chain.Ready && m.clientsHere(),
			of == explain.Peers && m.asksHere():
			return result.Estimate{}, result.Estimate{High: 1}, true
		}
		return result.Estimate{}, result.Estimate{}, true
	})
}

// divide takes the wait for a CPU out of the time on one where nothing else tells them apart, as of workers that come
// and go.
func (m *Minute) divide() {
	if m.Ends == nil || !m.Connected || m.Report.Part(explain.RunQueue).Source != "" || len(m.Ends.Windows) < followed {
		return
	}
	var all []float64
	for i, ran := range m.Ends.Ran {
		all = append(all, ran+m.Ends.Waited[i])
	}
	if floats.Sum(all) <= 0 {
		return
	}
	waited := stats.RatioOfSums(m.Ends.Waited, all, 0.05)
	for i, p := range m.Report.Parts {
		if p.Name != explain.DatabaseCPU {
			continue
		}
		queue, e := p, p.Share
		queue.Name, queue.Source, queue.Seconds = explain.RunQueue, "the scheduler's windows", p.Seconds*waited.Value
		low, high := max(0, waited.Low), min(1, waited.High)
		queue.Share.Value, queue.Share.Low, queue.Share.High = e.Value*waited.Value, e.Low*low, e.High*high
		p.Seconds -= queue.Seconds
		p.Share.Value, p.Share.Low, p.Share.High = e.Value*(1-waited.Value), e.Low*(1-high), e.High*(1-low)
		m.Report.Parts[i] = p
		m.Report.Parts = slices.Insert(m.Report.Parts, i+1, queue)
		delete(m.Unseen, lever.CPUs)
		return
	}
}

// clientsHere reports that clients may be on this host, where they take CPUs and wait for one.
func (m *Minute) clientsHere() bool {
	t := m.Trips
	return m.Local || t == nil || t.Connections == 0 || t.Local > 0
}
