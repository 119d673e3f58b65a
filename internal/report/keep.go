package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lockfile"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/ring"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/thread"
	"hostlab/internal/trace"
)

// Kept is one stretch of a service's history.
type Kept struct {
	Schema int            `json:"schema"`
	Tool   string         `json:"version"`
	Host   string         `json:"host"`
	Minute *assess.Minute `json:"minute"`
}

// Each stretch lasts for KeptFor; of so many, the scheduler's recorder is loaded in one.
const (
	KeptFor  = 10 * time.Second
	recorded = 6
)

// slack is how late a ring may wake: its moments are drawn at random, and its times are read when it looks.
const slack = 5 * time.Millisecond

// Keep watches a service stretch after stretch until ctx ends, and puts each into a ring. A service that ends is waited
// for; a disk that is full, too. tell says once of each trouble that there is one, and when it is over. metrics may be
// nil.
func Keep(ctx context.Context, o Options, dir string, long time.Duration, metrics *Metrics, tell func(string)) error {
	// What it does in a second takes a few milliseconds. With more threads at once, Go would wake a second one each time
	// to look for work (wakep in runtime/proc.go).
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer thread.Lazily(slack)()
	k := &keeper{Options: o, metrics: metrics, tell: tell}
	defer k.leave()
	defer k.programs.Close()
	if err := k.reach(ctx); err != nil || k.at == nil { // before anything is made
		return err
	}
	var err error
	if k.into, err = ring.Open(dir, long); err != nil {
		if _, busy := errors.AsType[*lockfile.Busy](err); busy {
			return err
		}
		return unusable("the ring: %w", err)
	}
	defer k.into.Close()
	if k.bands, err = openBands(dir); err != nil {
		return err
	}
	defer k.bands.into.Close()
	now := time.Now()
	if h, err := ReadHistory(ctx, dir, now.Truncate(bandFor), now); err == nil { // the band that an earlier one had begun
		for i, m := range h.Minutes {
			_, _ = k.bands.add(h.At[i], m)
		}
	}
	tell(fmt.Sprintf("keeping %s in %s; 'hostlab assess --from %s --at 02:14' tells of it", k.at.of.Name, dir,
		screen.Word(dir)))
	for ctx.Err() == nil && !k.over() {
		began, there := time.Now(), k.at != nil
		if err := k.stretch(ctx, began); err != nil {
			return err
		}
		if there && k.at == nil { // it may be back soon
			_ = proc.Sleep(ctx, time.Second)
		} else {
			_ = proc.Sleep(ctx, time.Until(began.Add(KeptFor)))
		}
	}
	return nil
}

type keeper struct {
	Options
	into    *ring.Writer
	tell    func(string)
	facts   *host.Facts
	at      *target          // nil: the service is not there
	last    *service.Service // that was there; nil: none yet
	n       int              // stretches
	bands   *bands
	metrics *Metrics // nil: nobody reads them
	trouble string

	programs trace.Programs
}

// say tells of a trouble, or that there is none any more, if that is news.
func (k *keeper) say(trouble, over string) {
	switch {
	case trouble == k.trouble:
		return
	case trouble != "":
		k.tell(trouble)
	default:
		k.tell(over)
	}
	k.trouble = trouble
}

func (k *keeper) leave() {
	if k.metrics != nil {
		k.metrics.gone(k.Service)
	}
	if k.at != nil {
		k.at.close()
		k.at = nil
	}
}

// reach finds the service. Its error is of the first time alone: later it may come again.
func (k *keeper) reach(ctx context.Context) error {
	facts := host.Collect(ctx, host.Options{})
	t, err := k.target(ctx, facts)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // it was to end
	case err != nil && k.last == nil:
		return err
	case err != nil:
		k.say(k.waits(), "")
		return nil //nolint:nilerr // that was said
	}
	k.at, k.facts, k.last = t, facts, t.of
	return nil
}

// over reports that it was a process by its number, and has ended: another may have that number next.
func (k *keeper) over() bool {
	spec, err := service.Parse(k.Service)
	if err != nil || spec.Kind != service.Process || k.at != nil || !k.last.Ended() {
		return false
	}
	k.tell("process " + spec.Name + " has ended, and so does this")
	return true
}

// waits says that the service is not there.
func (k *keeper) waits() string {
	return "waiting for " + k.Service + ", which has ended or cannot be reached"
}

// stretch watches once. A server that gave no session, as while it starts, is asked for one again ten seconds later, and
// then every five minutes.
func (k *keeper) stretch(ctx context.Context, began time.Time) error {
	if k.at != nil && k.at.source == nil && k.n%(5*recorded) == 1 && k.at.of.Server(k.facts.Servers()) != nil {
		k.at.close()
		k.at = nil
	}
	if k.at == nil {
		if err := k.reach(ctx); err != nil || k.at == nil {
			return err
		}
	}
	t := k.at
	m, err := assess.Watch(ctx, t.of, t.source, t.why,
		assess.Options{For: KeptFor, Tool: k.Tool, Port: t.port, NoPort: t.noPort,
			Local: t.local, CPUs: len(k.facts.Topology.Online.Or(nil)), Facts: k.facts, Stretch: true,
			Counters: k.n%recorded != 0, Programs: &k.programs})
	k.n++
	switch {
	case ctx.Err() != nil && m == nil:
		return nil //nolint:nilerr // it is to end
	case err != nil:
		k.leave()
		k.say(k.waits(), "")
		return nil //nolint:nilerr // that was said
	}
	m.Version = t.version
	if k.metrics != nil {
		k.metrics.add(k.Service, began, m, k.bands.standing)
	}
	if m.Ended != "" && m.Ended != explain.Interrupted || t.source != nil && !m.Connected {
		k.leave() // it, or its session, ended: it is looked for again
	}
	m.Thin()
	text, err := result.RecordJSON(Kept{Schema, k.Tool, k.facts.Identity.Hostname.Or(""), m})
	if err != nil {
		return err
	}
	news := ""
	if err = k.into.Append(began, text); err == nil {
		news, err = k.bands.add(began, m)
	}
	if err != nil {
		k.say("nothing is kept: "+screen.OneLine(err), "")
		return nil
	}
	if k.n%(5*recorded) == 1 { // first, what the start took
		proc.Shed()
	}
	if k.say("", k.Service+" is kept again"); news != "" {
		k.tell(t.of.Name + ": " + news)
	}
	return nil
}

// History is what a ring tells of a service between two moments.
type History struct {
	Dir      string
	From, To time.Time
	Damaged  int // lines
	Other    int // lines of another version of hostlab
	Host     string
	At       []time.Time // when each stretch began
	Minutes  []*assess.Minute
	Tool     string
}

// ReadHistory reads what anybody may have written.
func ReadHistory(ctx context.Context, dir string, from, to time.Time) (*History, error) {
	h := &History{Dir: dir, From: from, To: to}
	most := 2*int(to.Sub(from)/KeptFor) + 100 // twice as many where the clock was set back
	lines, err := ring.Read(dir, from, to, func(at time.Time, document []byte) error {
		if len(h.Minutes) >= most {
			return fmt.Errorf("%s has more of this time than a ring keeps", dir)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var k Kept
		switch err := json.Unmarshal(document, &k); {
		case k.Schema != 0 && k.Schema != Schema:
			h.Other++
			return nil
		case err != nil || k.Minute == nil || !k.Minute.Sound() || k.Minute.Unseen == nil ||
			len(k.Minute.Readings) > mostStretches ||
			len(k.Minute.Report.Course) > mostStretches || k.Minute.Host.CPUs < 0 || k.Minute.Host.CPUs > host.MostCPUs:
			h.Damaged++
			return nil //nolint:nilerr // it is counted
		}
		h.At, h.Minutes = append(h.At, at), append(h.Minutes, k.Minute)
		h.Host, h.Tool = k.Host, k.Tool
		return nil
	})
	if err != nil {
		return nil, err
	}
	h.Damaged += lines
	return h, nil
}

// Assessment is the report of a history, or why there is none.
func (h *History) Assessment() (*Assessment, error) {
	if len(h.Minutes) == 0 {
		return nil, h.empty()
	}
	m, others := h.minute()
	s := &Observed{Schema: Schema, Tool: h.Tool, Started: h.At[0], OnlyService: true, Minute: m}
	facts := &host.Facts{}
	if h.Host != "" {
		facts.Identity.Hostname = host.Known(h.Host, "", "the ring")
	}
	a := s.Assessment(host.Tree{Root: h.Dir}, facts)
	a.Started, a.Seconds, a.Evenness = h.At[0], m.Report.Wall, h.evenness()
	if asked := h.end().Sub(h.From).Seconds(); asked-m.Report.Wall > max(2.5*KeptFor.Seconds(), 0.05*asked) {
		a.Warnings = append(a.Warnings,
			fmt.Sprintf(
				"Of %s, %s were kept: for the rest the service or hostlab did not run, the host slept, or the disk was full.",
				screen.Lasting(h.end().Sub(h.From)), screen.Lasting(time.Duration(m.Report.Wall)*time.Second)))
	}
	if others > 0 {
		a.Warnings = append(a.Warnings, screen.Plural(others, "stretch is", "stretches are")+
			" of another service in this ring, and left out.")
	}
	if h.Other > 0 {
		a.Warnings = append(a.Warnings, screen.Plural(h.Other, "line is", "lines are")+
			" of another version of hostlab, and left out.")
	}
	rise, since, days := h.risen()
	a.Past = h.past(rise, since, days)
	if a.Days = days; rise != nil {
		a.Warnings = append([]string{fmt.Sprintf("Since %s, %s.", since.Local().Format("2006-01-02 15:04"), rise.Text())},
			a.Warnings...)
	}
	if h.Damaged > 0 {
		a.Warnings = append(a.Warnings, screen.Plural(h.Damaged, "line of the ring is", "lines of the ring are")+
			" damaged or cannot be read, and left out.")
	}
	return a, nil
}

// empty says what the ring has in place of the time that was asked for.
func (h *History) empty() error {
	s, err := ring.SpanOf(h.Dir)
	const form = "2006-01-02 15:04:05"
	switch {
	case err != nil:
		return err
	case s.First.IsZero():
		return fmt.Errorf("%s holds nothing yet", h.Dir)
	}
	unread := ""
	if n := h.Other + h.Damaged; n > 0 {
		unread = "; " + screen.Plural(n, "line", "lines") + " of about that time cannot be read: damaged, or of another " +
			"version of hostlab"
	}
	return fmt.Errorf("%s holds nothing from %s to %s; it begins at %s, and ends at %s%s", h.Dir,
		h.From.Local().Format(form),
		h.To.Local().Format(form), s.First.Local().Format(form), s.Last.Add(KeptFor).Local().Format(form), unread)
}

// Minute is all of the time as one, with no answer.
func (h *History) Minute() (*assess.Minute, error) {
	if len(h.Minutes) == 0 {
		return nil, h.empty()
	}
	m, _ := h.minute()
	return m, nil
}

// minute joins the stretches of one service, and says how many are of others.
func (h *History) minute() (m *assess.Minute, others int) {
	list, others := h.ofOne()
	m = assess.Merge(list)
	m.Past()
	return m, others
}

// ofOne are the stretches of the service that was seen last, and how many are of others.
func (h *History) ofOne() (list []*assess.Minute, others int) {
	last := h.Minutes[len(h.Minutes)-1].Service
	for _, m := range h.Minutes {
		if m.Service.Kind == last.Kind && m.Service.Name == last.Name {
			list = append(list, m)
		}
	}
	return list, len(h.Minutes) - len(list)
}

// worked is what stretches did.
type worked struct {
	busy, wall float64
	n          int64 // transactions
	untold     int   // stretches that did not count them
}

func (w worked) plus(m *assess.Minute) worked {
	w.busy, w.wall = w.busy+m.Report.Busy, w.wall+m.Report.Wall
	if m.Report.Transactions < 0 {
		w.untold++
	}
	w.n += max(0, m.Report.Transactions)
	return w
}

func (w worked) less(o worked) worked {
	return worked{w.busy - o.busy, w.wall - o.wall, w.n - o.n, w.untold - o.untold}
}

// each is the time of a transaction, s; where none is counted, sessions or threads at work.
func (w worked) each() float64 {
	if w.untold == 0 && w.n > 0 {
		return w.busy / float64(w.n)
	}
	return w.busy / max(w.wall, 1e-9)
}

// fewest is the share of the mean number of transactions that a stretch needs to be the worst one: of next to none, the
// time of one says nothing.
const fewest = 0.1

// Worst is the part of a history, so long, in which a transaction took longest; where the server counts none, in which
// most sessions or threads were at work.
func (h *History) Worst(length time.Duration) (*History, error) {
	if len(h.Minutes) == 0 {
		return nil, h.empty()
	}
	var transactions int64
	for _, m := range h.Minutes {
		transactions += max(0, m.Report.Transactions)
	}
	mean := float64(transactions) / float64(len(h.Minutes))
	best, at, end := -1.0, [2]int{}, 0
	order := make([]int, len(h.At))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return h.At[a].Compare(h.At[b]) })
	sums := make([]worked, len(order)+1)
	for i := range order {
		sums[i+1] = sums[i].plus(h.Minutes[order[i]])
	}
	for i := range order {
		if h.At[order[i]].Add(length - KeptFor).After(h.At[order[len(order)-1]].Add(KeptFor / 2)) {
			break // what is left is shorter
		}
		for end < len(order) && h.At[order[end]].Before(h.At[order[i]].Add(length-KeptFor/2)) {
			end++
		}
		sum := sums[end].less(sums[i])
		if sum.wall < 0.95*length.Seconds() || transactions > 0 && float64(sum.n) < fewest*mean*float64(end-i) {
			continue
		}
		if v := sum.each(); v > best {
			best, at = v, [2]int{i, end}
		}
	}
	if best < 0 {
		return nil, fmt.Errorf("no %s of %s are whole: name a shorter time", screen.Brief(length), h.Dir)
	}
	out := *h
	out.Minutes, out.At = nil, nil
	for _, i := range order[at[0]:at[1]] {
		out.Minutes, out.At = append(out.Minutes, h.Minutes[i]), append(out.At, h.At[i])
	}
	out.From, out.To = out.At[0], out.At[0].Add(length)
	return &out, nil
}
