package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/ring"
	"hostlab/internal/screen"
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

// Keep watches a service stretch after stretch until ctx ends, and puts each into a ring. A service that ends is waited for; a disk
// that is full, too. tell says once of each trouble that there is one, and when it is over.
// metrics may be nil.
func Keep(ctx context.Context, o Options, into *ring.Writer, metrics *Metrics, tell func(string)) error {
	k := &keeper{Options: o, into: into, metrics: metrics, tell: tell}
	defer k.leave()
	var err error
	if k.bands, err = openBands(into.Dir()); err != nil {
		return err
	}
	defer k.bands.into.Close()
	for ctx.Err() == nil {
		began, there := time.Now(), k.at != nil
		if err := k.stretch(ctx, began); err != nil {
			return err
		}
		if there && k.at == nil { // it may be back soon
			pause(ctx, time.Second)
		} else {
			pause(ctx, time.Until(began.Add(KeptFor)))
		}
	}
	return nil
}

type keeper struct {
	Options
	into    *ring.Writer
	tell    func(string)
	facts   *host.Facts
	at      *target // nil: the service is not there
	found   bool    // it was, once
	n       int     // stretches
	bands   *bands
	metrics *Metrics // nil: nobody reads them
	trouble string
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(max(0, d)):
	}
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
	case err != nil && !k.found:
		return err
	case err != nil:
		k.say(k.waits(), "")
		return nil //nolint:nilerr // that was said
	}
	if !k.found {
		dir := k.into.Dir()
		k.tell(fmt.Sprintf("keeping %s in %s; 'hostlab assess --from %s --at 02:14' tells of it", t.of.Name, dir, screen.Word(dir)))
	}
	k.at, k.facts, k.found, k.n = t, facts, true, 0
	return nil
}

// waits says that the service is not there.
func (k *keeper) waits() string {
	return "waiting for " + k.Service + ", which has ended or cannot be reached"
}

// stretch watches once.
func (k *keeper) stretch(ctx context.Context, began time.Time) error {
	if k.at == nil {
		if err := k.reach(ctx); err != nil || k.at == nil {
			return err
		}
	}
	t := k.at
	m, err := assess.Watch(ctx, t.of, t.source, t.why, assess.Options{For: KeptFor, Tool: k.Tool, Port: t.port, NoPort: t.noPort,
		Local: t.local, CPUs: len(k.facts.Topology.Online.Or(nil)), Facts: k.facts, Stretch: true, Counters: k.n%recorded != 0})
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
	if m.Ended != "" && m.Ended != explain.Interrupted || t.source != nil && !m.Connected {
		k.leave() // it, or its session, ended: it is looked for again
	}
	if k.metrics != nil {
		k.metrics.add(k.Service, began, m, k.bands.rise)
	}
	m.Thin()
	text, err := result.RecordJSON(Kept{Schema, k.Tool, k.facts.Identity.Hostname.Or(""), m})
	if err != nil {
		return err
	}
	err = k.into.Append(began, text)
	news := ""
	if err == nil {
		news, err = k.bands.add(began, m)
	}
	if err != nil {
		k.say("nothing is kept: "+screen.OneLine(err), "")
		return nil
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
	Host     string
	At       []time.Time // when each stretch began
	Minutes  []*assess.Minute
	Tool     string
}

// ReadHistory reads what anybody may have written.
func ReadHistory(dir string, from, to time.Time) (*History, error) {
	h := &History{Dir: dir, From: from, To: to}
	lines, err := ring.Read(dir, from, to, func(at time.Time, document []byte) error {
		var k Kept
		d := json.NewDecoder(bytes.NewReader(document))
		d.DisallowUnknownFields()
		switch err := d.Decode(&k); {
		case k.Schema != 0 && k.Schema != Schema:
			return fmt.Errorf("%s has schema %d; this hostlab knows %d", dir, k.Schema, Schema)
		case err != nil || k.Minute == nil || k.Minute.Unseen == nil || len(k.Minute.Readings) > mostStretches ||
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
	m := assess.Merge(h.Minutes)
	m.Past()
	s := &Observed{Schema: Schema, Tool: h.Tool, Started: h.At[0], OnlyService: true, Minute: m}
	facts := &host.Facts{}
	if h.Host != "" {
		facts.Identity.Hostname = host.Known(h.Host, "", "the ring")
	}
	a := s.Assessment(host.Tree{Root: h.Dir}, facts)
	a.Started, a.Seconds = h.At[0], m.Report.Wall
	asked := h.To.Sub(h.From).Seconds()
	if missing := asked - m.Report.Wall; missing > 2.5*KeptFor.Seconds() && missing > 0.05*asked {
		a.Warnings = append(a.Warnings, fmt.Sprintf("Of %s, %s were kept: the service, or hostlab, did not run for the rest.",
			result.Format(asked, "s"), result.Format(m.Report.Wall, "s")))
	}
	if rise, since := h.risen(); rise != nil {
		a.Warnings = append([]string{fmt.Sprintf("Since %s, %s.", since.Local().Format("2006-01-02 15:04"), rise.Text())}, a.Warnings...)
	}
	if h.Damaged > 0 {
		a.Warnings = append(a.Warnings, screen.Plural(h.Damaged, "line of the ring is", "lines of the ring are")+
			" damaged, as after a power cut, and left out.")
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
	return fmt.Errorf("%s holds nothing from %s to %s; it begins at %s, and ends at %s", h.Dir, h.From.Format(form),
		h.To.Format(form), s.First.Local().Format(form), s.Last.Add(KeptFor).Local().Format(form))
}

// each is the time of a transaction in stretches, s; where none is counted, sessions or threads at work.
func each(list []*assess.Minute) (v float64, per string) {
	var busy, wall float64
	n, counted := int64(0), true
	for _, m := range list {
		busy, wall = busy+m.Report.Busy, wall+m.Report.Wall
		n += m.Report.Transactions
		counted = counted && m.Report.Transactions >= 0
	}
	if counted && n > 0 {
		return busy / float64(n), "s per transaction"
	}
	return busy / max(wall, 1e-9), "sessions or threads at work"
}

// fewest is the share of the mean number of transactions that a stretch needs to be the worst one: of next to none, the time of
// one says nothing.
const fewest = 0.1

// Worst is the part of a history, so long, in which a transaction took longest; where the server counts none, in which most
// sessions or threads were at work.
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
	sorted := func(from, to int) (list []*assess.Minute) {
		for _, i := range order[from:to] {
			list = append(list, h.Minutes[i])
		}
		return list
	}
	for i := range order {
		for end < len(order) && h.At[order[end]].Before(h.At[order[i]].Add(length-KeptFor/2)) {
			end++
		}
		list := sorted(i, end)
		var wall float64
		var n int64
		for _, m := range list {
			wall += m.Report.Wall
			n += max(0, m.Report.Transactions)
		}
		if wall < 0.8*length.Seconds() || transactions > 0 && float64(n) < fewest*mean*float64(len(list)) {
			continue
		}
		if v, _ := each(list); v > best {
			best, at = v, [2]int{i, end}
		}
	}
	if best < 0 {
		return nil, fmt.Errorf("no %s of %s are whole: name a shorter time", screen.Brief(length), h.Dir)
	}
	out := *h
	out.Minutes, out.At = sorted(at[0], at[1]), nil
	for _, i := range order[at[0]:at[1]] {
		out.At = append(out.At, h.At[i])
	}
	out.From, out.To, out.Damaged = out.At[0], out.At[0].Add(length), h.Damaged
	return &out, nil
}

var errNoTime = errors.New("expected a time such as 02:14, 2026-03-01 02:14, or 2026-03-01T02:14:00Z")

// ParseAt reads a moment: a time of the day is the last one that has passed before now.
func ParseAt(text string, now time.Time) (time.Time, error) {
	day := func(form string) (time.Time, error) {
		t, err := time.ParseInLocation(form, text, now.Location())
		if err != nil {
			return t, err
		}
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return at, nil
	}
	for _, form := range []string{"15:04", "15:04:05"} {
		if t, err := day(form); err == nil {
			return t, nil
		}
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, errNoTime
	}
	return t, nil
}
