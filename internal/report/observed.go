package report

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
	"hostlab/internal/check"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/trust"
	"hostlab/internal/watch"
)

// Observed is what one run of assess saw. With the facts of the host, its report follows from it.
type Observed struct {
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
	// OnlyService is set where the host was left out.
	OnlyService bool `json:"only_service,omitempty"`
	// Experiments are what some have measured of levers.
	Experiments map[string]lever.Evidence `json:"experiments,omitempty"`
	Accepted    []check.Exception         `json:"exceptions,omitempty"` // findings that are accepted on this host
	Answered    *answered                 `json:"answered,omitempty"`   // nil: no server of this host was asked
	Own         []int                     `json:"own,omitempty"`        // PIDs of the servers that the service holds
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

// Assessment is the report of what was seen: decisions, and nothing that has to be measured.
func (s *Observed) Assessment(tree host.Tree, facts *host.Facts) *Assessment {
	a := &Assessment{Schema: Schema, Tool: s.Tool, Started: s.Started, Seconds: s.Seconds,
		Host: facts.Identity.Hostname.Or("unknown host"), Role: s.Role, LogDir: s.LogDir, LogDirWhy: s.LogDirWhy,
		Runs: s.Runs, OnlyService: s.OnlyService, Warnings: s.Warnings}
	if tree.Live() {
		a.Machine = host.MachineHash()
	}
	if !s.OnlyService {
		s.host(a, tree, facts)
	}
	if m := s.Minute; m != nil {
		a.Minute, a.Service, a.Time, a.Levers, a.Server, a.Policies = m, m.About(), m.Time(), m.Join(a.Levers), m.Server(),
			m.Policies.Rows
		a.Scheduler, a.Account, a.Verdict = m.Scheduler, &m.Report,
			assess.Answer{Text: m.Verdict(a.Levers), First: m.First(a.Levers)}
		a.Warnings = slices.Concat(m.Cautions(!s.OnlyService), a.Warnings)
	}
	for i := range a.Levers {
		if x, ok := s.Experiments[a.Levers[i].Name]; ok {
			a.Levers[i].Add(x)
		}
	}
	return a
}

// logDir is the purpose of the place in which commits are timed.
const logDir = "log-dir"

// host judges what was seen of the host.
func (s *Observed) host(a *Assessment, tree host.Tree, facts *host.Facts) {
	if s.Place != "" {
		storage := host.StorageOf(tree, s.Place)
		storage.Purpose = logDir
		facts.Storage = append([]host.Storage{storage}, facts.Storage...)
	}
	for i := range facts.Databases {
		if d := &facts.Databases[i]; s.Answered != nil && d.PID == s.Answered.PID {
			d.Answered(s.Answered.Source, s.Answered.Values)
		}
	}
	a.Facts, a.Results = facts, check.Accept(check.Run(facts, s.Role, check.All()), s.Accepted, "", s.Started)
	judged, its := *facts, a.Results
	if s.Minute != nil && !s.Minute.Service.Near { // the host may have servers that are not watched
		owns := func(pid int) bool { return pid == s.Minute.Service.PID || slices.Contains(s.Own, pid) }
		judged.Databases = slices.DeleteFunc(slices.Clone(facts.Databases),
			func(d host.Database) bool { return !owns(d.PID) })
		a.Others = map[string]bool{}
		for _, r := range a.Results {
			a.Others[r.ID] = r.Of != nil && !slices.ContainsFunc(r.Of, owns)
		}
		its = slices.DeleteFunc(slices.Clone(its), func(r check.Result) bool { return a.Others[r.ID] })
	}
	for i := range s.Runs {
		s.Runs[i].Measurements = s.Probes[i]
		a.Probes = append(a.Probes, s.Probes[i]...)
	}
	a.Levers, a.Verdict.Text = lever.Platform(s.Role, &judged, its, a.Runs)
	a.Verdict.Text = "No service was watched: this is of the host alone. " + a.Verdict.Text // else its answer is another
	a.Warnings = slices.Concat(a.Warnings, check.Lapsed(a.Results))
}

// Save writes what was seen, with what facts are read from.
func (s *Observed) Save(ctx context.Context, w io.Writer) error {
	var paths []string
	if s.Place != "" {
		paths = append(paths, s.Place)
	}
	if s.Minute != nil {
		s.Minute.Confide()
	}
	text, err := result.RecordJSON(s)
	if err == nil {
		err = host.Record(ctx, host.Tree{}, "Saved by 'hostlab assess --save'; 'hostlab assess --from' reports it.", paths,
			w, watch.Read)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "-- %s --\n%s\n", observedFile, text)
	}
	return err
}

// From is the report of what a run has saved.
func From(ctx context.Context, tree host.Tree) (*Assessment, error) {
	s, err := readObserved(tree.Root)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(
			"it holds only facts; 'hostlab assess --save FILE' writes what this reads, and 'hostlab check --root' " +
				"takes facts")
	}
	if err != nil {
		return nil, err
	}
	facts := host.Collect(ctx, host.Options{Tree: tree})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Assessment(tree, facts), nil
}

// readObserved reads what anybody may have written.
func readObserved(dir string) (*Observed, error) {
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
	text, err := trust.File(f, largestObserved)
	if err != nil {
		return nil, err
	}
	var s Observed
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		if s.Schema > Schema {
			return nil, fmt.Errorf("%s has schema %d; this hostlab knows %d", observedFile, s.Schema, Schema)
		}
		return nil, fmt.Errorf("%s is damaged: %w", observedFile, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s is damaged: something follows it", observedFile)
	}
	switch m := s.Minute; {
	case s.OnlyService && m == nil:
		return nil, fmt.Errorf("%s is damaged: it is of a service alone, and has none", observedFile)
	case s.Schema != Schema:
		return nil, fmt.Errorf("%s has schema %d; this hostlab knows %d", observedFile, s.Schema, Schema)
	case !slices.Contains(check.Roles, s.Role):
		return nil, fmt.Errorf("%s is damaged: it names no role", observedFile)
	case len(s.Runs) != len(s.Probes):
		return nil, fmt.Errorf("%s is damaged: it has %d probes, and figures of %d", observedFile, len(s.Runs), len(s.Probes))
	case m != nil && (len(m.Report.Course) > mostStretches || len(m.Readings) > mostStretches || m.Host.CPUs < 0 ||
		m.Host.CPUs > host.MostCPUs):
		return nil, fmt.Errorf("%s is damaged: no minute has %d stretches or %d CPUs", observedFile, len(m.Report.Course),
			m.Host.CPUs)
	case m != nil:
		if m.Unseen == nil {
			return nil, fmt.Errorf("%s is damaged: it does not say what was not seen", observedFile)
		}
	}
	return &s, nil
}
