package web

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/fleet"
)

// snapshot is what pages say of all hosts, read once for each document that comes and not for each reader. It is
// never changed: a later one takes its place.
type snapshot struct {
	last      int64 // the number of the newest document in it
	plans     int64 // of roll-outs
	read      time.Time
	documents int
	hosts     []*fleet.Host // by name
	by        map[string]*fleet.Host
	machines  map[string][]string       // the hosts of each machine's id
	changes   map[string][]fleet.Change // of each host in the last days

	exceptions []check.Exception // applied to the hosts
}

// For so long a snapshot looks back for changes, and so many of them are kept.
const (
	lookBack    = 31 * 24 * time.Hour
	mostChanges = 20000
)

// whole is after how long all is read anew, whatever came: hosts may have been removed, and exceptions expire.
const whole = 10 * time.Minute

// longest is how long reading a fleet may take.
const longest = 2 * time.Minute

// cache holds the snapshot.
type cache struct {
	mu  sync.Mutex
	now *snapshot
}

// get returns the snapshot that holds all documents. An error means that the store does not answer.
func (c *cache) get(ctx context.Context, s *Server, now time.Time) (*snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, plans, err := s.Store.Last(ctx)
	if err != nil {
		return nil, err
	}
	old, exceptions := c.now, s.Exceptions()
	if old == nil || last < old.last || now.Sub(old.read) >= whole || !reflect.DeepEqual(old.exceptions, exceptions) {
		old = &snapshot{read: now, exceptions: exceptions}
	} else if old.last == last {
		if old.plans != plans {
			fresh := *old
			fresh.plans = plans
			c.now = &fresh
		}
		return c.now, nil
	}
	// The store answers. All of a large fleet takes longer on a busy host than a reader waits, and each try would begin
	// anew.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	fresh, err := old.next(ctx, s, last, now)
	if err != nil {
		return nil, err
	}
	fresh.plans = plans
	c.now = fresh
	return fresh, nil
}

// next is the snapshot after the documents that came since.
func (f *snapshot) next(ctx context.Context, s *Server, last int64, now time.Time) (*snapshot, error) {
	came, n, err := s.Store.Since(ctx, f.last)
	if err != nil {
		return nil, err
	}
	out := &snapshot{last: last, read: f.read, documents: f.documents + n, exceptions: f.exceptions,
		by:       make(map[string]*fleet.Host, len(f.by)+len(came)),
		machines: map[string][]string{}, changes: make(map[string][]fleet.Change, len(f.changes))}
	for _, list := range [][]*fleet.Host{f.hosts, came} {
		for _, h := range list {
			out.by[h.Name] = h
		}
	}
	fleet.Accept(came, f.exceptions, now)
	words := map[string]string{} // hosts say the same: one copy of it is enough
	for name, h := range out.by {
		out.hosts = append(out.hosts, h)
		if h.Machine != "" {
			out.machines[h.Machine] = append(out.machines[h.Machine], name)
		}
	}
	slices.SortStableFunc(out.hosts, func(a, b *fleet.Host) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range came {
		share(h, words)
	}
	maps.Copy(out.changes, f.changes)
	if f.last == 0 || len(came) > 200 { // each host alone takes longer than all of them
		list, err := s.Store.Recent(ctx, "", now.Add(-lookBack), mostChanges)
		if err != nil {
			return nil, err
		}
		clear(out.changes)
		for _, c := range list {
			out.changes[c.Host] = append(out.changes[c.Host], c)
		}
		return out, nil
	}
	for _, h := range came {
		list, err := s.Store.Recent(ctx, h.Name, now.Add(-lookBack), mostOfHost)
		if err != nil {
			return nil, err
		}
		out.changes[h.Name] = list
	}
	return out, nil
}

// mostOfHost is how many changes of facts, and of checks, are kept of a host that wrote again.
const mostOfHost = 200

// share lets equal texts of hosts be one.
func share(h *fleet.Host, words map[string]string) {
	one := func(s *string) {
		if w, ok := words[*s]; ok {
			*s = w
		} else {
			words[*s] = *s
		}
	}
	one(&h.Service)
	for i := range h.Findings {
		f := &h.Findings[i]
		one(&f.Check)
		one(&f.Severity)
		one(&f.Detail)
		one((*string)(&f.Role))
		one((*string)(&f.Status))
	}
	for i := range h.Levers {
		l := &h.Levers[i]
		one(&l.Name)
		one((*string)(&l.Verdict))
		one(&l.Next.Command)
		for j := range l.Evidence {
			one((*string)(&l.Evidence[j].Kind))
			one(&l.Evidence[j].Text)
		}
	}
}

// newest is when the newest document was written; zero: there is none.
func (f *snapshot) newest() (at time.Time) {
	for _, h := range f.hosts {
		if h.Last.After(at) {
			at = h.Last
		}
	}
	return at
}

// since are the changes after a moment, the latest first.
func (f *snapshot) since(moment time.Time) (list []fleet.Change) {
	for _, changes := range f.changes {
		for _, c := range changes {
			if !c.At.Before(moment) {
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b fleet.Change) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Host, b.Host), strings.Compare(a.Subject, b.Subject))
	})
	return list
}

// drift is how much of a host changed after a moment.
func (f *snapshot) drift(host string, moment time.Time) (n int) {
	for _, c := range f.changes[host] {
		if !c.At.Before(moment) {
			n++
		}
	}
	return n
}
