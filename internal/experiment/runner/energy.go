package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/workload"
)

// meter measures the energy of runs for a study that asks for it, by the counters of a machine's packages. One that
// cannot says so in every run: why is the reason.
type meter struct {
	tree  host.Tree
	zones []zone
	why   string
}

// openMeter opens the host's counters for a study; nil, nil where it does not ask for
// energy. A study that decides by what cannot be read is refused.
func openMeter(s *experiment.Study, t host.Tree) (*meter, error) {
	var asked *experiment.Response
	for i, r := range s.Responses {
		needs := []string{r.From, r.Over}
		if (slices.Contains(needs, experiment.Energy) || slices.Contains(needs, experiment.EnergyEach)) &&
			(asked == nil || r.Primary) {
			asked = &s.Responses[i]
		}
	}
	if asked == nil {
		return nil, nil
	}
	m, err := openRAPL(t)
	switch {
	case err != nil && asked.Primary:
		return nil, fmt.Errorf("response %s decides, and cannot be had: %w; make another response primary", asked.Name, err)
	case err != nil:
		m = &meter{why: err.Error()}
	}
	return m, nil
}

// begin starts to measure a run; the function that it returns adds what was measured to
// the run's sample.
func (m *meter) begin() (end func(*workload.Sample)) {
	if m == nil {
		return func(*workload.Sample) {}
	}
	if m.why != "" {
		return func(out *workload.Sample) { out.Lack(m.why, experiment.Energy, experiment.EnergyEach) }
	}
	stop := m.measure()
	return func(out *workload.Sample) {
		joules, err := stop()
		if err != nil {
			out.Lack(err.Error(), experiment.Energy, experiment.EnergyEach)
			return
		}
		out.Set(experiment.Energy, joules)
		each(out, experiment.EnergyEach, joules)
	}
}

// each divides what a whole run took by its operations.
func each(out *workload.Sample, name string, whole float64) {
	n := cmp.Or(out.Done, out.Operations)
	if n <= 0 {
		out.Lack("the workload does not count operations", name)
		return
	}
	out.Set(name, whole/float64(n))
}

// powercap holds the counters of RAPL (running average power limit; Linux' powercap class, kernel
// 3.13, which has those of AMD since 5.8). They count for all that use a package: neighbours and
// idle cores are in them, memory and the rest of the machine are not. Since kernel 5.10
// (CVE-2020-8694) root alone may read them, and guests mostly have none.
const powercap = "/sys/class/powercap"

// rereads is how often counters are read while energy is measured. They wrap, the
// smallest after 65 kJ (max_energy_range_uj), which a package of 1 kW uses in a
// minute; a wrap between two readings is seen, a second one would not be.
const rereads = 20 * time.Second

type zone struct {
	name string // package-0; package-0-die-1 where dies count by themselves
	file string
	span uint64 // uJ: the counter is below it
}

// openRAPL finds the counters. The error says in a phrase why they cannot be read.
func openRAPL(t host.Tree) (*meter, error) {
	names, err := t.Dir(powercap)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil, errors.New("this host shows no energy counters (RAPL, " + powercap +
			"), as guests and containers mostly do not")
	}
	if err != nil {
		return nil, fmt.Errorf("the energy counters (RAPL) cannot be listed: %w", err)
	}
	m := &meter{tree: t}
	seen := map[string]bool{}
	// The same package may be there twice: intel-rapl:0 and, from its memory-mapped
	// registers, intel-rapl-mmio:0. Names with two colons are parts of one.
	for _, driver := range []string{"intel-rapl:", "intel-rapl-mmio:"} {
		for _, dir := range names {
			number, ok := strings.CutPrefix(dir, driver)
			if !ok || strings.Contains(number, ":") {
				continue
			}
			b, err := t.Read(path.Join(powercap, dir, "name"))
			if err != nil {
				return nil, fmt.Errorf("the energy counters (RAPL) cannot be read: %w", err)
			}
			name := strings.TrimSpace(string(b))
			if !strings.HasPrefix(name, "package") || seen[name] { // psys is the whole platform
				continue
			}
			seen[name] = true
			z := zone{name: name, file: path.Join(powercap, dir, "energy_uj")}
			if z.span, err = m.number(path.Join(powercap, dir, "max_energy_range_uj")); err != nil {
				return nil, err
			}
			m.zones = append(m.zones, z)
		}
	}
	if len(m.zones) == 0 {
		return nil, errors.New("this host has no energy counter (RAPL) of a CPU package")
	}
	_, err = m.read()
	return m, err
}

func (m *meter) number(file string) (uint64, error) {
	f := m.tree.Int(file, "", 1)
	v, ok := f.Get()
	switch {
	case !ok:
		return 0, fmt.Errorf("the energy counters (RAPL) cannot be read: %s: %s", file, f.Reason)
	case v < 0:
		return 0, fmt.Errorf("the energy counters (RAPL) cannot be used: %s holds %d", file, v)
	}
	return uint64(v), nil
}

// read returns all counters, in uJ.
func (m *meter) read() ([]uint64, error) {
	out := make([]uint64, len(m.zones))
	for i, z := range m.zones {
		var err error
		if out[i], err = m.number(z.file); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// measure starts to count. stop ends it and returns the joules of all packages since.
// It must be called, once.
func (m *meter) measure() (stop func() (float64, error)) {
	last, err := m.read()
	sum := uint64(0) // uJ
	look := func() {
		var now []uint64
		if err != nil {
			return
		}
		if now, err = m.read(); err != nil {
			return
		}
		for i, v := range now {
			if v < last[i] {
				sum += m.zones[i].span - last[i] + v // it has wrapped
			} else {
				sum += v - last[i]
			}
		}
		last = now
	}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(rereads)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				look()
			}
		}
	})
	return func() (float64, error) {
		close(quit)
		done.Wait()
		look()
		return float64(sum) / 1e6, err
	}
}
