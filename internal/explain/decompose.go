package explain

import (
	"cmp"
	"iter"
	"maps"
	"slices"
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

func (k Key) compare(other Key) int {
	switch {
	case k.Background == other.Background:
		return strings.Compare(k.line(), other.line())
	case k.Background:
		return 1
	}
	return -1
}

// inOrder goes through a map by its keys: a sum of floats depends on its order, and an account must not.
func inOrder[K comparable, V any](m map[K]V, compare func(a, b K) int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(m), compare) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// Batch is a stretch of a recording.
type Batch struct {
	Wall      float64 // s
	Seconds   map[Key]float64
	Snapshots int
}

// tolerance is the share of the elapsed time by which parts may miss it before that
// is worth a word.
const tolerance = 0.03

// line is an event while parts are made to add up: all of it in s.
type line struct {
	name      string
	part      PartName
	count     int64 // -1 unknown
	average   *float64
	seconds   float64
	low, high float64 // ends of the 95 % interval
	looks     int     // snapshots that it rests on; 0: it was counted
	source    string
}

// counted reports that it was not sampled.
func (l *line) counted() bool { return l.looks == 0 }

// shared turns seconds, and ends in s, into a share of the elapsed time.
func shared(seconds, elapsed, low, high float64, n int) result.Estimate {
	p := min(1, seconds/elapsed)
	if low < 1e-9*elapsed { // the rounding of a difference
		low = 0
	}
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
		for k, s := range inOrder(b.Seconds, Key.compare) {
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
		waits: a.Waits, atMost: a.AtMost, lines: map[string]*line{}, whole: map[PartName]string{},
		within: map[PartName]float64{},
		most:   map[PartName]float64{}}
	if n, known := a.Waits[LogWait]; known && n == 0 {
		d.whole[LogWait] = cmp.Or(a.Log.Source, "the server's counters") + ": no writes"
	}
	if wall > 0 {
		d.others = max(0, (elapsed-idle)/wall-1)
	}
	d.worth(elapsed - idle)
	d.sampled()
	for _, c := range a.Counted {
		if !c.Blocked {
			d.counted(c)
		}
	}
	told := a.Told && d.known()
	d.cpu(a.CPU, told)
	for _, c := range a.Counted {
		if c.Blocked && a.CPU != nil {
			d.blocked(c, a)
		}
	}
	if told && a.CPU != nil {
		d.divide()
		maps.Copy(d.within, a.Within)
	}
	rest := d.fit()
	parts, events = d.parts(rest), d.events()
	return elapsed, parts, events, d.warnings
}

func noParts() (parts []Part) {
	for _, n := range OfSessions {
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
	atMost  map[PartName]float64
	clients []float64 // by batch
	seconds map[Key][]float64
	lines   map[string]*line
	whole   map[PartName]string // parts without which a counter would have grown, and its source
	// within is the time on CPUs, and ready for one, that was taken out of a part, and most
	// what it may be, s.
	within, most map[PartName]float64
	warnings     []string
}

// known reports that each session showed what it did.
func (d *decomposition) known() bool {
	return floats.Sum(d.sum(func(k Key) bool { return k.Part == Unexplained && !k.Background })) == 0
}

// worth finds how many independent samples the snapshots are worth, from what they
// have shown: the median over parts, and no more than there were. What was never seen
// says nothing of how it would have come, in a row or by itself.
func (d *decomposition) worth(active float64) {
	n := float64(d.looks)
	var seen []float64
	for _, name := range OfSessions {
		by := d.sum(func(k Key) bool { return k.Part == name && !k.Background })
		if p, _, _, worth := ratio(by, d.clients, d.looks, d.wall); p > 0 && p < 1 {
			seen = append(seen, worth)
		}
	}
	if len(seen) > 0 {
		slices.Sort(seen)
		n = min(n, seen[(len(seen)-1)/2])
	}
	d.never = neverSeen(n, active, d.wall, d.elapsed)
}

// sum is the sampled time of all that is so, by stretch.
func (d *decomposition) sum(is func(Key) bool) []float64 {
	by := make([]float64, len(d.clients))
	for k, s := range inOrder(d.seconds, Key.compare) {
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
	for k, by := range inOrder(d.seconds, Key.compare) {
		if k.Background || k.Part == Unexplained { // which is what no line takes
			continue
		}
		p, low, high := d.share(by)
		d.lines[k.line()] = &line{name: k.Event, part: k.Part, count: -1, seconds: p * d.elapsed, source: "samples",
			low: low * d.elapsed, high: high * d.elapsed, looks: d.looks}
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
	named := d.named(c)
	if named == nil {
		if left <= 0 && most*late <= 0 {
			return
		}
		l := &line{name: c.Events[0], part: c.Part, count: -1}
		d.lines[Key{Part: c.Part, Event: l.name}.line()] = l
		named = []*line{l}
	}
	for _, l := range named {
		f := 1 / float64(len(named))
		if client > 0 {
			f = l.seconds / client
		}
		l.seconds, l.source = left*f, c.Source
		l.low, l.high, l.looks = max(0, c.Seconds-c.Early)*low*f, (c.Seconds*high+most*late)*f, 0
		if len(named) == 1 && c.Count >= 0 {
			l.count = c.Count
			if c.Count > 0 {
				l.average = result.Finite(c.Seconds / float64(c.Count))
			}
		}
	}
	d.less(c.From, left)
}

func (d *decomposition) named(c Counted) (out []*line) {
	for _, l := range inOrder(d.lines, strings.Compare) {
		if slices.Contains(c.Events, l.name) && l.part == c.Part && !l.counted() {
			out = append(out, l)
		}
	}
	return out
}

// less takes time out of an event within which it was sampled; "": out of none.
func (d *decomposition) less(from string, seconds float64) {
	for _, l := range inOrder(d.lines, strings.Compare) {
		if l.name == from && from != "" && !l.counted() {
			take := min(seconds, l.seconds)
			l.seconds, l.low, l.high = l.seconds-take, max(0, l.low-take), l.high-take
		}
	}
}

// blocked puts waits that show as running in the place of what did not run. Each brings CPU time
// along, and a wait for a CPU from its end on, as the wait for a client does that begins a transaction.
func (d *decomposition) blocked(c Counted, a Account) {
	d.less(c.From, c.Seconds) // where looks saw them
	left, n := d.elapsed-d.total(), float64(c.Count)
	if left <= 0 || n <= 0 {
		return
	}
	took := min(left, c.Seconds)
	d.within[c.Part] = min(a.CPU.Run, n*perRead) + a.CPU.Queue*n/(n+float64(max(0, a.Transactions)))
	d.lines[Key{Part: c.Part, Event: c.Events[0]}.line()] = &line{name: c.Events[0], part: c.Part, count: c.Count,
		seconds: took,
		source:  c.Source, high: took + d.within[c.Part]}
}

// Longest is what a wait for a device takes of a session's time, s, at most: on a disk that others
// use too.
const Longest = 50e-3

// perRead is what a read takes of a CPU, s, at most: the call, the page's checksum, a place for it.
const perRead = 50e-6

// none takes out what was sampled of a part that a counter says took no time.
func (d *decomposition) none(part PartName) {
	for key, l := range inOrder(d.lines, strings.Compare) {
		if l.part == part && !l.counted() {
			delete(d.lines, key)
		}
	}
}

func (d *decomposition) total() (sum float64) {
	for _, l := range inOrder(d.lines, strings.Compare) {
		sum += l.seconds
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
	for _, may := range []func(*line) bool{
		func(l *line) bool { return !l.counted() && l.part != Idle },
		func(l *line) bool { return !l.counted() },
		func(*line) bool { return true },
	} {
		var sum float64
		for _, l := range inOrder(d.lines, strings.Compare) {
			if may(l) {
				sum += l.seconds
			}
		}
		if sum <= 0 || excess <= 0 {
			continue
		}
		f := max(0, 1-excess/sum)
		excess -= sum * (1 - f)
		for _, l := range inOrder(d.lines, strings.Compare) {
			if may(l) {
				l.seconds, l.low = l.seconds*f, l.low*f
			}
		}
	}
	return 0
}

// parts adds up events by part.
func (d *decomposition) parts(rest float64) (out []Part) {
	for _, name := range OfSessions {
		if name == Unexplained && rest/d.elapsed >= 0.0005 { // less is rounding
			out = append(out, Part{Name: name, Within: d.within[name], Seconds: rest,
				Share: shared(rest, d.elapsed, rest, rest, 0), Source: "elapsed time less all parts"})
		}
		if p, seen := d.part(name); seen && name != Unexplained {
			out = append(out, p)
		}
	}
	return out
}

// part adds up the events of one, in s, and makes a share of them at the end.
func (d *decomposition) part(name PartName) (Part, bool) {
	sum, sources := line{part: name}, []string(nil)
	var counted, sampled float64 // the upper end of what was counted, and what was sampled
	for _, l := range inOrder(d.lines, strings.Compare) {
		if l.part != name {
			continue
		}
		sum.seconds += l.seconds
		if !slices.Contains(sources, l.source) {
			sources = append(sources, l.source)
		}
		if l.counted() {
			sum.low, sum.high, counted = sum.low+l.low, sum.high+l.high, counted+l.high
		} else {
			sum.looks, sampled = d.looks, sampled+l.seconds
		}
	}
	by := d.sum(func(k Key) bool {
		l := d.lines[k.line()]
		return k.Part == name && !k.Background && l != nil && !l.counted()
	})
	switch {
	case len(sources) == 0 && name == RunQueue:
		return Part{}, false // it is within the database's CPU
	case len(sources) == 0 && d.whole[name] != "":
		sources, sum.high = []string{d.whole[name]}, d.atMost[name]
	case len(sources) == 0:
		sources, sum.high, sum.looks = []string{"samples"}, d.never*d.elapsed, d.looks
		if n, known := d.waits[name]; known { // others may wait behind the one that reads or writes
			sum.high = min(sum.high, n*Longest*(1+d.others))
		}
	case floats.Sum(by) > 0:
		_, low, high := d.share(by)
		sum.low += low * d.elapsed * min(1, sampled/floats.Sum(by)) * d.sure(sum)
		sum.high += high * d.elapsed * max(1, sampled/floats.Sum(by))
	case name == LogWait || name == DataReads:
		// Others may wait behind the one that reads or writes, as for its page: no
		// longer than that takes, each.
		sum.high += min(d.never*d.elapsed, d.others*counted)
	}
	sum.high = max(sum.high, d.atMost[name]) // what samples do not tell from other waits
	slices.Sort(sources)
	return Part{Name: name, Seconds: sum.seconds, Within: d.within[name], Source: strings.Join(sources, ", "),
		Share: shared(sum.seconds, d.elapsed, sum.low, sum.high, sum.looks)}, true
}

// sure is the share of a part that is left if all that may be a CPU's was taken out of it.
func (d *decomposition) sure(sum line) float64 {
	if sum.seconds <= 0 {
		return 1
	}
	return max(0, 1-(d.most[sum.part]-d.within[sum.part])/sum.seconds)
}

func (d *decomposition) events() (out []Event) {
	for _, l := range inOrder(d.lines, strings.Compare) {
		e := Event{Name: l.name, Part: l.part, Count: l.count, Seconds: l.seconds, Average: l.average, Source: l.source,
			Share: shared(l.seconds, d.elapsed, l.low, l.high, l.looks)}
		if e.Share.Value > 0 || e.Count > 0 {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name+string(a.Part), b.Name+string(b.Part)))
	})
	return out
}
