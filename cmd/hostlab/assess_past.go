package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/assess"
	"hostlab/internal/report"
	"hostlab/internal/ring"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// past is a time of a ring that is reported in place of now.
type past struct {
	at       string
	worst    time.Duration
	dir      string // of the ring
	from, to time.Time
	note     string // on what --at means where clocks were changed; "": nothing
}

// yesterday is what --compare takes beside a file: the same time of the day before, in the ring.
const yesterday = "yesterday"

// A ring is asked for so long where nothing else was said, and the worst of it is looked for in a day.
const (
	pastFor = 10 * time.Minute
	day     = 24 * time.Hour
)

func (p *past) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.at, "at", "",
		"report that `TIME` of the ring that 'hostlab watch --ring' keeps, such as 02:14, and 10 minutes from then, or --for")
	f.DurationVar(&p.worst, "worst", 0,
		"find the worst time of this length in a day of the ring, or in that of --at and --for")
}

// find finds the ring and the time that were asked for.
func (o *assessOptions) find(cmd *cobra.Command, now time.Time) error {
	p := &o.past
	if o.from != "" && cmd.Flags().Changed("service") {
		return usagef("--from and --service both name a ring; give one")
	}
	for _, name := range []string{"save", "dsn", "dsn-file", "quick", "log-dir", "role", "exceptions", "only", "texts",
		"experiment"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is of no use with a time of a ring, of which all that was seen is kept", name)
		}
	}
	length, worst := pastFor, cmd.Flags().Changed("worst")
	switch changed := cmd.Flags().Changed("for"); {
	case changed && (o.For < report.KeptFor || o.For > 7*day):
		return usagef("--for %s: expected 10s to 168h of a ring", screen.Brief(o.For))
	case changed:
		length = o.For
	case worst:
		length = day
	}
	if worst && (p.worst < report.KeptFor || p.worst > length) {
		return usagef("--worst %s: expected 10s to %s, in which it is looked for", screen.Brief(p.worst),
			screen.Brief(length))
	}
	p.from = now.Add(-length)
	if p.at != "" {
		var err error
		if p.from, p.note, err = report.ParseAt(p.at, now); err != nil {
			return usagef("--at %s: %w", p.at, err)
		}
	}
	p.to = p.from.Add(length)
	var err error
	p.dir, err = o.ring()
	return err
}

// rings is where those are that were given no other place.
func rings() (string, error) {
	if os.Geteuid() == 0 && os.Getenv("XDG_STATE_HOME") == "" { // that of the unit
		return "/var/lib/hostlab/ring", nil
	}
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "ring"), nil
}

// ringOf is the place of a service's ring.
func ringOf(name string) (string, error) {
	dir, err := rings()
	if err != nil {
		return "", err
	}
	if strings.Trim(name, ".") == "" {
		return "", usagef("--service %q names no service", name)
	}
	return filepath.Join(dir, url.QueryEscape(name)), nil // no two services in one
}

// ring is the one that was asked for: named, of a service, or the only one that there is.
func (o *assessOptions) ring() (string, error) {
	if o.from != "" {
		return o.from, nil
	}
	if o.Service != string(service.Auto) {
		dir, err := ringOf(o.Service)
		if err != nil {
			return "", usagef("name the ring with --from DIR: %w", err)
		}
		switch _, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return "", usagef("%s is kept in no ring yet; 'hostlab watch --service %s --ring 2d' keeps one", o.Service,
				screen.Word(o.Service))
		case err != nil:
			return "", usagef("the ring of %s: %w", o.Service, plain(err))
		}
		return dir, nil
	}
	dir, err := rings()
	if err != nil {
		return "", usagef("name the ring with --from DIR: %w", err)
	}
	list, err := os.ReadDir(dir)
	names := []string{}
	for _, e := range list {
		if e.IsDir() && ring.Is(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	switch {
	case len(names) == 1:
		return filepath.Join(dir, names[0]), nil
	case len(names) > 1:
		return "", usagef("%s has rings of %s: name one with --service, or with --from DIR", dir, strings.Join(names, ", "))
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", usagef("name the ring with --from DIR: %w", plain(err))
	}
	return "", usagef("no service is kept in a ring here: 'hostlab watch --service NAME --ring 2d' keeps one; it is read from %s, or from --from DIR", dir)
}

// history reads the time that was asked for.
func (o *assessOptions) history(ctx context.Context) (*report.History, error) {
	p := &o.past
	h, err := report.ReadHistory(ctx, p.dir, p.from, p.to)
	if err == nil && p.worst != 0 {
		h, err = h.Worst(p.worst)
	}
	if _, unnamed := errors.AsType[*fs.PathError](err); unnamed {
		return nil, usagef("the ring %s: %w", screen.Word(p.dir), plain(err))
	}
	if err != nil && ctx.Err() == nil {
		err = usageError{plain(err)}
	}
	return h, err
}

func (o *assessOptions) dayBefore(ctx context.Context, from, to time.Time) (*assess.Minute, error) {
	dir := o.past.dir
	if dir == "" {
		var err error
		if dir, err = o.ring(); err != nil {
			return nil, err
		}
	}
	if !ring.Is(dir) {
		return nil, usagef("--compare %s: %s is no ring, which has the day before", yesterday, dir)
	}
	h, err := report.ReadHistory(ctx, dir, from.AddDate(0, 0, -1), to.AddDate(0, 0, -1))
	var m *assess.Minute
	if err == nil {
		m, err = h.Minute()
	}
	if err != nil {
		return nil, usagef("--compare %s: %w", yesterday, plain(err))
	}
	return m, nil
}

// when says of which time the answer is.
func when(h *report.History) string {
	const clock, of = "2006-01-02 15:04:05", "15:04:05 MST"
	first, last := slices.MinFunc(h.At, time.Time.Compare).Local(),
		slices.MaxFunc(h.At, time.Time.Compare).Add(report.KeptFor).Local()
	form := of
	if first.Format(time.DateOnly) != last.Format(time.DateOnly) {
		form = time.DateOnly + " " + of
	}
	says := fmt.Sprintf("From the ring %s: %s to %s", h.Dir, first.Format(clock), last.Format(form))
	if !slices.IsSortedFunc(h.At, time.Time.Compare) {
		says += "; the clock was set back meanwhile"
	}
	return says
}

// before is the minute to compare with; nil: none was named.
func (o *assessOptions) before(ctx context.Context, std streams) (*assess.Minute, error) {
	if o.compare == "" {
		return nil, nil //nolint:nilnil // that is said above
	}
	if o.compare == yesterday {
		from, to := time.Now(), time.Now().Add(max(o.For, pastFor))
		if h := o.then; h != nil {
			from, to = h.From, h.To
		}
		return o.dayBefore(ctx, from, to)
	}
	if ring.Is(o.compare) {
		return nil, usagef("--compare %s is a ring: name a file of --save, or %s", screen.Word(o.compare), yesterday)
	}
	a, err := read(ctx, std, &machine{root: o.compare, flag: "--compare"})
	if err != nil {
		return nil, err
	}
	if a.Minute == nil || a.Account == nil {
		return nil, usagef("--compare %s: no service was watched in it", o.compare)
	}
	return a.Minute, nil
}

// read reports what a file of --save holds.
func read(ctx context.Context, std streams, m *machine) (*report.Assessment, error) {
	m.in = func() io.Reader { return std.in }
	tree, done, err := m.inspectable()
	if err != nil {
		return nil, err
	}
	defer done()
	a, err := report.From(ctx, tree)
	if err != nil && ctx.Err() == nil {
		err = usagef("%s: %w", m.name(), plain(err))
	}
	return a, err
}
