// Package demo makes the documents of a fleet that is not there: hosts after recorded machines, a month of history,
// some of them with planted faults. The documents come out of the code that writes those of real hosts, so that what
// checks and levers say of a planted fault is their own answer.
package demo

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/report"
	"hostlab/internal/trust"
)

// Least and Most hosts that can be made: each of the kinds, and a spool that a disk takes. Below 20 not all faults are
// planted.
const (
	Least = 8
	Most  = 20000
)

// Planted is what was hidden in the documents.
type Planted struct {
	Seed      uint64   `json:"seed"`
	Hosts     int      `json:"hosts"`
	Documents int      `json:"documents"`
	Faults    []Hidden `json:"faults"`
	SlowTwin  Twin     `json:"slow_twin"`
	Clone     []string `json:"clone"` // two names of one machine
	Silent    Silent   `json:"silent"`
}

// Hidden is a fault of a host.
type Hidden struct {
	Host  string     `json:"host"`
	Fault string     `json:"fault"`
	Check string     `json:"check"` // that finds it; "": measurements alone show it
	Shows string     `json:"shows"` // the fact or the measurement in which the host differs; "": none
	Since *time.Time `json:"since"` // null: always
	Until *time.Time `json:"until"` // null: now
}

// Twin is the host that is slower than those like it.
type Twin struct {
	Host string `json:"host"`
	Like string `json:"like"` // one of its twins, without a fault
}

// Silent is the host of which nothing is heard any more.
type Silent struct {
	Host string `json:"host"`
	Days int    `json:"days"`
}

// event is a state that a host had for some time. The zero times are always and now.
type event struct {
	state
	since, until time.Time
}

type made struct {
	name    string
	machine *machine
	id      string // hash of the machine's id
	traits  []float64
	busy    float64 // sessions that work at a time
	events  []event
	trial   *trial    // that it ran; nil: none
	last    time.Time // of its documents; zero: the newest
	rng     *rand.Rand
}

// Maker makes a fleet.
type Maker struct {
	Hosts   int
	Seed    uint64
	Now     time.Time
	Version string // that the documents name
	Days    int    // of history; 0: 27
	Each    int    // days between two documents of a host; 0: 3
}

// Vacant reports why documents cannot be written below a directory: it is not empty, or none.
func Vacant(dir string) error {
	left, err := os.ReadDir(dir)
	switch {
	case len(left) > 0:
		return errors.New("it is not empty")
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Make writes the documents below a directory that is not there or empty, one folder a host. Beside it come what was
// planted, DIR.planted.json, and the exceptions of the fleet, DIR.exceptions.toml.
func (m Maker) Make(ctx context.Context, dir string) (*Planted, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("recorded machines can only be read on Linux")
	}
	if m.Days == 0 {
		m.Days, m.Each = 27, 3
	}
	hosts, planted := m.plan()
	l := &looks{map[string]*seen{}}
	for _, h := range hosts {
		n, err := m.write(ctx, l, dir, h)
		if err != nil {
			return nil, err
		}
		planted.Documents += n
	}
	err := write(dir+".exceptions.toml", os.O_TRUNC, func(f *os.File) error {
		_, err := f.WriteString(exceptions(planted, m.Now))
		return err
	})
	if err != nil {
		return nil, err
	}
	return planted, write(dir+".planted.json", os.O_TRUNC,
		func(f *os.File) error { return document.WriteJSON(f, planted) })
}

// write makes a file, which no link of another user leads elsewhere.
func write(path string, how int, text func(*os.File) error) error {
	dir, base, err := trust.Place(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := trust.OpenFile(dir, base, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(text(f), f.Close())
}

// write writes a host's documents, the oldest first.
func (m Maker) write(ctx context.Context, l *looks, dir string, h *made) (n int, err error) {
	folder := filepath.Join(dir, h.name)
	if err := trust.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	for day := m.Days; day >= 0; day -= m.Each {
		at := m.Now.Add(-time.Duration(day)*24*time.Hour - time.Duration(30+
			h.rng.IntN(600))*time.Minute).Truncate(time.Second)
		if !h.last.IsZero() && at.After(h.last) {
			break
		}
		a, err := m.assessment(ctx, l, h, at)
		if err != nil {
			return n, err
		}
		if err := keep(folder, at, a.Document()); err != nil {
			return n, err
		}
		n++
	}
	if t := h.trial; t != nil {
		at := m.Now.Add(-time.Duration(24+h.rng.IntN(240)) * time.Hour).Truncate(time.Second)
		if err := keep(folder, at, m.experiment(t, h, at).Document()); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// keep writes a document of a time below a host's folder.
func keep(folder string, at time.Time, d *document.Document) error {
	return write(filepath.Join(folder, at.UTC().Format("20060102-150405")+".json.gz"), os.O_EXCL, func(f *os.File) error {
		z := gzip.NewWriter(f)
		return errors.Join(document.WriteJSON(z, d.Data), z.Close())
	})
}

// assessment is what a host says of itself at a time.
func (m Maker) assessment(ctx context.Context, l *looks, h *made, at time.Time) (*report.Assessment, error) {
	var states []state
	var effect load
	for _, e := range h.events {
		if at.Before(e.since) || !e.until.IsZero() && !at.Before(e.until) {
			continue
		}
		states = append(states, e.state)
		effect = load{or(effect.clock) * or(e.effect.clock), or(effect.work) * or(e.effect.work),
			or(effect.commit) * or(e.effect.commit)}
	}
	s, err := l.at(ctx, h.machine, states)
	if err != nil {
		return nil, err
	}
	facts := *s.facts
	facts.Identity.Hostname = host.Known(h.name, "", "/proc/sys/kernel/hostname")
	a := &report.Assessment{
		Schema: report.Schema, Tool: m.Version, Started: at, Seconds: 84, Host: h.name, Machine: h.id, Role: h.machine.role,
		Facts: &facts, Results: s.results,
		LogDir: h.machine.logDir, LogDirWhy: "made for the demonstration", Runs: runs(h.machine, effect, h.traits, h.rng),
	}
	for _, r := range a.Runs {
		a.Probes = append(a.Probes, r.Measurements...)
	}
	a.Levers, a.Verdict.Text = lever.Platform(a.Role, a.Facts, a.Results, a.Runs)
	a.Minute = h.minute(h.machine, effect, at, h.rng)
	if w := a.Minute; w != nil {
		a.Service, a.Time, a.Levers = w.About(), w.Time(), w.Join(a.Levers)
		a.Verdict.Text = w.Verdict(a.Levers)
	}
	return a, nil
}

func (m Maker) plan() ([]*made, *Planted) {
	var hosts []*made
	by := map[string][]*made{}
	planted := &Planted{Seed: m.Seed, Hosts: m.Hosts, Faults: []Hidden{}}
	for i := range machines {
		k := &machines[i]
		n := max(k.least, m.Hosts*k.per100/100)
		if i == len(machines)-1 {
			n = m.Hosts - len(hosts)
		}
		for j := range n {
			h := m.host(k, j+1)
			hosts, by[k.prefix] = append(hosts, h), append(by[k.prefix], h)
		}
	}
	rng := rand.New(rand.NewPCG(m.Seed, 1)) //nolint:gosec // a seed that can be given again is meant
	for _, k := range machines {
		list := by[k.prefix]
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	take := func(prefix string) *made {
		list := by[prefix]
		h := list[0]
		by[prefix] = list[1:]
		return h
	}
	twin := take("db")
	twin.events = append(twin.events, event{state: slow})
	for _, f := range faults {
		for i := range max(1, m.Hosts/100) {
			if len(by[f.on]) <= 3 { // the others are twins, and the clone and the silent host
				break
			}
			h := take(f.on)
			e, hidden := event{state: f.state}, Hidden{Host: h.name, Fault: f.name, Check: f.check, Shows: f.shows}
			if i%2 == 0 { // every other one came lately
				e.since = m.Now.AddDate(0, 0, -4-rng.IntN(12))
				hidden.Since = &e.since
			}
			h.events = append(h.events, e)
			planted.Faults = append(planted.Faults, hidden)
		}
	}
	planted.SlowTwin = Twin{twin.name, by["db"][0].name}
	clone, silent := take("app"), take("app")
	clone.id = by["app"][0].id
	planted.Clone = []string{by["app"][0].name, clone.name}
	planted.Silent = Silent{silent.name, 9}
	silent.last = m.Now.Add(-9*24*time.Hour - time.Minute)
	slices.Sort(planted.Clone)
	for i := range trials {
		for range min(tried, len(by[trials[i].on])) {
			take(trials[i].on).trial = &trials[i]
		}
	}
	return hosts, planted
}

// host makes one without a fault. All but a tenth of them got a newer kernel, in two waves.
func (m Maker) host(k *machine, number int) *made {
	h := &made{name: fmt.Sprintf("%s%03d", k.prefix, number), machine: k}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", m.Seed, h.name))
	h.id = hex.EncodeToString(sum[:16])
	h.rng = rand.New(rand.NewPCG(m.Seed, uint64(sum[0])<<56|uint64(sum[1])<<48|uint64(number))) //nolint:gosec // as above
	for range figures {
		h.traits = append(h.traits, betweenHosts*h.rng.NormFloat64())
	}
	h.busy = 2 + 1.5*h.rng.Float64()
	old := event{state: older}
	switch wave := number % 10; {
	case wave == 0:
	case wave < 5:
		old.until = m.Now.AddDate(0, 0, -16)
	default:
		old.until = m.Now.AddDate(0, 0, -5)
	}
	h.events = append(h.events, old)
	return h
}

// exceptions accepts one planted finding, and holds one that has expired.
func exceptions(p *Planted, now time.Time) string {
	out := "# Findings of the demonstration's fleet that are accepted, for a reason and until a day.\n"
	for i, check := range []string{"MEM-006", "MEM-001"} {
		at := slices.IndexFunc(p.Faults, func(f Hidden) bool { return f.Check == check })
		if at < 0 {
			continue
		}
		until, reason := now.AddDate(0, 3, 0), "the vendor asks for this value"
		if i == 1 {
			until, reason = now.AddDate(0, 0, -10), "until the next maintenance window"
		}
		out += fmt.Sprintf("\n[[accept]]\ncheck = %q\nhost = %q\nreason = %q\nuntil = %s\nby = \"A. Dba\"\n", check,
			p.Faults[at].Host, reason, until.Format(time.DateOnly))
	}
	return out
}
