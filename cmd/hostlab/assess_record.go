package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/bounded"
	"hostlab/internal/check"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/trust"
	"hostlab/internal/watch"
)

// observed is what one run of assess saw. With the facts of the host, its report follows from it.
type observed struct {
	Schema    int                    `json:"schema"`
	Tool      string                 `json:"version"`
	Started   time.Time              `json:"started"`
	Seconds   float64                `json:"seconds"`
	Role      check.Role             `json:"role"`
	Place     string                 `json:"place"`   // whose storage is a fact; "": none
	LogDir    string                 `json:"log_dir"` // where commits were timed; "": nowhere
	LogDirWhy string                 `json:"log_dir_why"`
	Minute    *assess.Minute         `json:"minute"`
	Runs      []probe.Outcome        `json:"runs"`
	Probes    [][]result.Measurement `json:"probes"` // by run
	Warnings  []string               `json:"warnings"`
	Accepted  []check.Exception      `json:"exceptions,omitempty"` // findings that are accepted on this host
	Answered  *answered              `json:"answered,omitempty"`   // nil: no server of this host was asked
}

// answered is what the server of a process said of its settings.
type answered struct {
	PID int `json:"pid"`
	explain.Settings
}

// observedFile holds it within the recording of a host, beside what system calls answered.
const observedFile = ".hostlab/assess.json"

// The most that is read of it, and the most stretches of a service that are drawn.
const (
	largestObserved = 64 << 20
	mostStretches   = 4096
)

// assessment is the report of what was seen: decisions, and nothing that has to be measured.
func (s *observed) assessment(tree host.Tree, facts *host.Facts) *report.Assessment {
	if s.Place != "" {
		storage := host.StorageOf(tree, s.Place)
		storage.Purpose = "log-dir"
		facts.Storage = append([]host.Storage{storage}, facts.Storage...)
	}
	for i := range facts.Databases {
		if d := &facts.Databases[i]; s.Answered != nil && d.PID == s.Answered.PID {
			d.Answered(s.Answered.Source, s.Answered.Values)
		}
	}
	a := &report.Assessment{
		Schema: report.Schema, Tool: s.Tool, Started: s.Started, Seconds: s.Seconds,
		Host: facts.Identity.Hostname.Or("unknown host"), Role: s.Role, Facts: facts,
		Results: check.Accept(check.Run(facts, s.Role, check.All()), s.Accepted, "", s.Started), LogDir: s.LogDir,
		LogDirWhy: s.LogDirWhy, Runs: s.Runs,
	}
	if tree.Live() {
		a.Machine = host.MachineHash()
	}
	for i := range s.Runs {
		s.Runs[i].Measurements = s.Probes[i]
		a.Probes = append(a.Probes, s.Probes[i]...)
	}
	a.Levers, a.Verdict.Text = lever.Platform(s.Role, facts, a.Results, a.Runs)
	a.Warnings = slices.Concat(s.Warnings, check.Lapsed(a.Results))
	m := s.Minute
	if m == nil {
		return a
	}
	a.Minute, a.Service, a.Time, a.Levers, a.Policies = m, m.About(), m.Time(), m.Join(a.Levers), m.Policies.Rows
	a.Verdict.Text = m.Verdict(a.Levers)
	if m.Away() {
		text := "Facts, checks and probes describe this host, which is not the host of " + m.About().Name + "."
		if m.Service.Near {
			text = "Facts, checks and probes describe this host, on which no process of " + m.About().Name + " shows."
		}
		a.Warnings = append([]string{text}, a.Warnings...)
	}
	if m.Ended != "" {
		a.Warnings = append([]string{fmt.Sprintf("Watching ended early, after %.0f s: %s.", m.Report.Wall, m.Ended)},
			a.Warnings...)
	}
	return a
}

// record writes what was seen, with what facts are read from, and returns the report as that file gives it.
func (s *observed) record(ctx context.Context, std streams, tree host.Tree, file string) (*report.Assessment, error) {
	var b bytes.Buffer
	var paths []string
	if s.Place != "" {
		paths = append(paths, s.Place)
	}
	if err := host.Record(ctx, tree, "Recorded by 'hostlab assess --record'; 'hostlab assess --root' replays it.", paths, &b,
		watch.Read); err != nil {
		return nil, err
	}
	text, err := result.RecordJSON(s)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "-- %s --\n%s\n", observedFile, text)
	if _, err := output(std, file, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return nil, err
	}
	m := &machine{root: file}
	recorded, done, err := m.unpack(b.Bytes())
	if err != nil {
		return nil, err
	}
	defer done()
	return replay(ctx, m, recorded)
}

// replay is the report of what a run has recorded.
func replay(ctx context.Context, m *machine, tree host.Tree) (*report.Assessment, error) {
	if err := m.look(tree); err != nil {
		return nil, err
	}
	s, err := readObserved(tree.Root)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it holds only facts; 'hostlab assess --record FILE' records what this replays, and 'hostlab check --root' " +
			"takes facts")
	}
	if err != nil {
		return nil, usagef("%s: %w", m.name(), plain(err))
	}
	facts := host.Collect(ctx, host.Options{Tree: tree})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.assessment(tree, facts), nil
}

// readObserved reads what anybody may have written.
func readObserved(dir string) (*observed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := trust.OpenFile(root, observedFile, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := bounded.File(f, largestObserved)
	if err != nil {
		return nil, err
	}
	var s observed
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		if s.Schema > report.Schema {
			return nil, fmt.Errorf("%s has schema %d; this hostlab knows %d", observedFile, s.Schema, report.Schema)
		}
		return nil, fmt.Errorf("%s is damaged: %w", observedFile, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s is damaged: something follows it", observedFile)
	}
	switch m := s.Minute; {
	case s.Schema != report.Schema:
		return nil, fmt.Errorf("%s has schema %d; this hostlab knows %d", observedFile, s.Schema, report.Schema)
	case !slices.Contains(check.Roles, s.Role):
		return nil, fmt.Errorf("%s is damaged: it names no role", observedFile)
	case len(s.Runs) != len(s.Probes):
		return nil, fmt.Errorf("%s is damaged: it has %d probes, and figures of %d", observedFile, len(s.Runs), len(s.Probes))
	case m != nil && (len(m.Report.Course) > mostStretches || len(m.Readings) > mostStretches || m.Host.CPUs < 0 ||
		m.Host.CPUs > largestMachine):
		return nil, fmt.Errorf("%s is damaged: no minute has %d stretches or %d CPUs", observedFile, len(m.Report.Course),
			m.Host.CPUs)
	case m != nil:
		if m.Unseen == nil {
			return nil, fmt.Errorf("%s is damaged: it does not say what was not seen", observedFile)
		}
	}
	return &s, nil
}
