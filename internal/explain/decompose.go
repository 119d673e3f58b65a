package explain

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/result"
)

// Key is what samples are counted by.
type Key struct {
	Part       PartName
	Event      string
	Background bool
}

// line is what an event is called among those of a decomposition. It may be in two parts: a
// wait for the client is idle or not.
func (k Key) line() string { return string(k.Part) + "/" + k.Event }

// Batch is a stretch of a recording.
type Batch struct {
	Wall      float64 // s
	Seconds   map[Key]float64
	Snapshots int
}

// tolerance is the share of the elapsed time by which parts may miss it before that
// is worth a word.
const tolerance = 0.03

// counted reports that an event was not sampled.
func (e *Event) counted() bool { return e.Share.N == 0 }

// shared turns seconds, and ends in s, into a share of the elapsed time.
func shared(seconds, elapsed, low, high float64, n int) result.Estimate {
	p := min(1, seconds/elapsed)
	return result.Estimate{Value: p, Low: min(p, low/elapsed), High: min(1, max(p, high/elapsed)), N: n}
}

// Decompose makes parts and events of what was sampled in stretches and what was
// counted over all of them. Seconds of parts add up to elapsed, the time of all client
// sessions. What is counted stands as it is. Where that and the samples are together
// less than elapsed, the rest is unexplained; where they are more, samples of short
// waits were too many, and the sampled parts are made smaller.
func Decompose(batches []Batch, a Account) (elapsed float64, parts []Part, events []Event, warnings []string) {
	looks, wall, idle, clients := 0, 0.0, 0.0, make([]float64, len(batches))
	seconds := map[Key][]float64{}
	for i, b := range batches {
		looks, wall = looks+b.Snapshots, wall+b.Wall
		for k, s := range b.Seconds {
			if seconds[k] == nil {
				seconds[k] = make([]float64, len(batches))
			}
			seconds[k][i] += s
			if !k.Background {
				clients[i] += s
				elapsed += s
			}
			if k.Part == Idle {
				idle += s
			}
		}
	}
	if elapsed <= 0 {
		return 0, noParts(), nil, nil
	}
	d := decomposition{elapsed: elapsed, wall: wall, looks: looks, clients: clients, seconds: seconds,
		waits: a.Waits, lines: map[string]*Event{}, whole: map[PartName]string{}, within: map[PartName]float64{},
		most: map[PartName]float64{}}
	if n, known := a.Waits[LogWait]; known && n == 0 {
		d.whole[LogWait] = cmp.Or(a.Log.Source, "the server's counters") + ": no writes"
	}
	if wall > 0 {
		d.others = max(0, (elapsed-idle)/wall-1)
	}
	d.worth()
	d.sampled()
	for _, c := range a.Counted {
		if !c.Blocked {
			d.counted(c)
		}
	}
	d.cpu(a.CPU)
	for _, c := range a.Counted {
		if c.Blocked && a.CPU != nil {
			d.blocked(c, a)
		}
	}
	rest := d.fit()
	parts, events = d.parts(rest), d.events()
	return elapsed, parts, events, d.warnings
}

func noParts() (parts []Part) {
	for _, n := range PartNames {
		if n != Unexplained && n != RunQueue {
			parts = append(parts, Part{Name: n, Source: "samples"})
		}
	}
	return parts
}

type decomposition struct {
	elapsed float64
	wall    float64 // s
	looks   int
	never   float64 // upper limit of the share of what no snapshot has shown
	others  float64 // sessions within transactions besides one, in the mean
	waits   map[PartName]float64
	clients []float64 // by batch
	seconds map[Key][]float64
	lines   map[string]*Event   // the ends of their shares are in s
	whole   map[PartName]string // parts without which a counter would have grown, and its source
	// within is the time on CPUs, and ready for one, that was taken out of a part, and most
	// what it may be, s.
	within, most map[PartName]float64
	warnings     []string
}

// worth finds how many independent samples the snapshots are worth, from what they
// have shown: the median over parts, and no more than there were. What was never seen
// says nothing of how it would have come, in a row or by itself.
func (d *decomposition) worth() {
	n := float64(d.looks)
	var seen []float64
	for _, name := range PartNames {
		by := d.sum(func(k Key) bool { return k.Part == name && !k.Background })
		if p, _, _, worth := ratio(by, d.clients, d.looks, d.wall); p > 0 && p < 1 {
			seen = append(seen, worth)
		}
	}
	if len(seen) > 0 {
		slices.Sort(seen)
		n = min(n, seen[(len(seen)-1)/2])
	}
	d.never = unseen(n)
}

// sum is the sampled time of all that is so, by stretch.
func (d *decomposition) sum(is func(Key) bool) []float64 {
	by := make([]float64, len(d.clients))
	for k, s := range d.seconds {
		if is(k) {
			floats.Add(by, s)
		}
	}
	return by
}

// share is that of clients' time, with its interval.
func (d *decomposition) share(by []float64) (p, low, high float64) {
	p, low, high, _ = ratio(by, d.clients, d.looks, d.wall)
	if p == 0 {
		high = d.never
	}
	return p, low, high
}

// sampled makes a line of each event of clients.
func (d *decomposition) sampled() {
	for k, by := range d.seconds {
		if k.Background || k.Part == Unexplained { // which is what no line takes
			continue
		}
		p, low, high := d.share(by)
		d.lines[k.line()] = &Event{Name: k.Event, Part: k.Part, Count: -1, Seconds: p * d.elapsed, Source: "samples",
			Share: result.Estimate{Low: low * d.elapsed, High: high * d.elapsed, N: d.looks}}
	}
}

// counted puts a counter in the place of samples.
func (d *decomposition) counted(c Counted) {
	of := func(k Key) bool { return slices.Contains(c.Events, k.Event) }
	clientBy, allBy := d.sum(func(k Key) bool { return of(k) && !k.Background }), d.sum(of)
	client := floats.Sum(clientBy)
	share, low, high := 1.0, 1.0, 1.0
	if c.All && floats.Sum(allBy) > 0 {
		share, low, _, _ = ratio(clientBy, allBy, d.looks, d.wall) // the upper limit is the counter itself
		if share == 1 {
			low = 1
		}
	}
	seen, _, most := d.share(clientBy)
	late := min(c.Late, d.elapsed)
	left := c.Seconds*share + seen*late
	if c.Whole {
		d.whole[c.Part] = c.Source
		if c.Seconds == 0 && late == 0 {
			d.none(c.Part)
			return
		}
	}
	var named []*Event
	for _, l := range d.lines {
		if slices.Contains(c.Events, l.Name) && l.Part == c.Part && !l.counted() {
			named = append(named, l)
		}
	}
	if len(named) == 0 {
		if left <= 0 && most*late <= 0 {
			return
		}
		l := &Event{Name: c.Events[0], Part: c.Part, Count: -1}
		d.lines[Key{Part: c.Part, Event: l.Name}.line()] = l
		named = []*Event{l}
	}
	for _, l := range named {
		f := 1 / float64(len(named))
		if client > 0 {
			f = l.Seconds / client
		}
		l.Seconds, l.Source = left*f, c.Source
		l.Share = result.Estimate{Low: max(0, c.Seconds-c.Early) * low * f, High: (c.Seconds*high + most*late) * f}
		if len(named) == 1 && c.Count >= 0 {
			l.Count = c.Count
			if c.Count > 0 {
				l.Average = result.Finite(c.Seconds / float64(c.Count))
			}
		}
	}
	if c.From == "" {
		return
	}
	for _, l := range d.lines {
		if l.Name == c.From && !l.counted() {
			take := min(left, l.Seconds)
			l.Seconds, l.Share.Low, l.Share.High = l.Seconds-take, max(0, l.Share.Low-take), l.Share.High-take
		}
	}
}

// blocked puts waits that show as running in the place of what did not run. Each brings CPU time
// along, and a wait for a CPU from its end on, as the wait for a client does that begins a transaction.
func (d *decomposition) blocked(c Counted, a Account) {
	left, n := d.elapsed-d.total(), float64(c.Count)
	if left <= 0 || n <= 0 {
		return
	}
	took := min(left, c.Seconds)
	d.within[c.Part] = min(a.CPU.Run, n*perRead) + a.CPU.Queue*n/(n+float64(max(0, a.Transactions)))
	d.lines[Key{Part: c.Part, Event: c.Events[0]}.line()] = &Event{Name: c.Events[0], Part: c.Part, Count: c.Count, Seconds: took,
		Source: c.Source, Share: result.Estimate{High: took + d.within[c.Part]}}
}

// Longest is what a wait for a device takes of a session's time, s, at most: on a disk that others
// use too.
const Longest = 50e-3

// perRead is what a read takes of a CPU, s, at most: the call, the page's checksum, a place for it.
const perRead = 50e-6

// none takes out what was sampled of a part that a counter says took no time.
func (d *decomposition) none(part PartName) {
	for key, l := range d.lines {
		if l.Part == part && !l.counted() {
			delete(d.lines, key)
		}
	}
}

func (d *decomposition) total() (sum float64) {
	for _, l := range d.lines {
		sum += l.Seconds
	}
	return sum
}

// fit makes the parts add up and returns what is unexplained, in s.
func (d *decomposition) fit() float64 {
	excess := d.total() - d.elapsed
	if excess <= 0 {
		return -excess
	}
	if excess > tolerance*d.elapsed {
		d.warnings = append(d.warnings, "counters and samples add up to "+result.Share(1+excess/d.elapsed)+
			" of the elapsed time; samples overstate short waits, so the sampled parts were scaled down")
	}
	// First what is sampled as short waits, then idle, then even what was counted.
	for _, may := range []func(*Event) bool{
		func(l *Event) bool { return !l.counted() && l.Part != Idle },
		func(l *Event) bool { return !l.counted() },
		func(*Event) bool { return true },
	} {
		var sum float64
		for _, l := range d.lines {
			if may(l) {
				sum += l.Seconds
			}
		}
		if sum <= 0 || excess <= 0 {
			continue
		}
		f := max(0, 1-excess/sum)
		excess -= sum * (1 - f)
		for _, l := range d.lines {
			if may(l) {
				l.Seconds, l.Share.Low = l.Seconds*f, l.Share.Low*f
			}
		}
	}
	return 0
}

// parts adds up events by part.
func (d *decomposition) parts(rest float64) (out []Part) {
	for _, name := range PartNames {
		p := Part{Name: name, Within: d.within[name]}
		if name == Unexplained {
			if rest/d.elapsed < 0.0005 {
				continue // rounding
			}
			p.Seconds, p.Share, p.Source = rest, shared(rest, d.elapsed, rest, rest, 0), "elapsed time less all parts"
			out = append(out, p)
			continue
		}
		var sources []string
		var low, high, counted, shrunk float64
		looks := 0
		for _, l := range d.lines {
			if l.Part != name {
				continue
			}
			p.Seconds += l.Seconds
			if !slices.Contains(sources, l.Source) {
				sources = append(sources, l.Source)
			}
			if l.counted() {
				low, high, counted = low+l.Share.Low, high+l.Share.High, counted+l.Share.High
				continue
			}
			looks = d.looks
			shrunk += l.Seconds
		}
		by := d.sum(func(k Key) bool {
			l := d.lines[k.line()]
			return k.Part == name && !k.Background && l != nil && !l.counted()
		})
		switch {
		case len(sources) == 0 && name == RunQueue:
			continue // it is within the database's CPU
		case len(sources) == 0 && d.whole[name] != "":
			sources = []string{d.whole[name]}
		case len(sources) == 0:
			sources = []string{"samples"}
			high, looks = d.never*d.elapsed, d.looks
			if n, known := d.waits[name]; known { // others may wait behind the one that reads or writes
				high = min(high, n*Longest*(1+d.others))
			}
		case floats.Sum(by) > 0:
			_, l, h := d.share(by)
			sure := 1.0
			if p.Seconds > 0 {
				sure = max(0, 1-(d.most[name]-p.Within)/p.Seconds)
			}
			low, high = low+l*d.elapsed*min(1, shrunk/floats.Sum(by))*sure, high+h*d.elapsed
		case name == LogWait || name == DataReads:
			// Others may wait behind the one that reads or writes, as for its page: no
			// longer than that takes, each.
			high += min(d.never*d.elapsed, d.others*counted)
		}
		sort.Strings(sources)
		p.Share, p.Source = shared(p.Seconds, d.elapsed, low, high, looks), strings.Join(sources, ", ")
		out = append(out, p)
	}
	return out
}

func (d *decomposition) events() (out []Event) {
	for _, l := range d.lines {
		l.Share = shared(l.Seconds, d.elapsed, l.Share.Low, l.Share.High, l.Share.N)
		if l.Share.Value > 0 || l.Count > 0 {
			out = append(out, *l)
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name+string(a.Part), b.Name+string(b.Part)))
	})
	return out
}
