package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"hostlab/internal/result"
)

// maxCPUs bounds a machine's logical CPUs, so that a slip in a topology does not ask for all memory.
const maxCPUs = 65536

func between(key string, v, low, high float64, unit string) error {
	if v >= low && v <= high {
		return nil
	}
	text := number
	switch unit {
	case "":
	case "Hz":
		text, unit = hertz, ""
	default:
		unit = " " + unit
	}
	return fmt.Errorf("%s is %s%s; it must be %s to %s%s", key, text(v), unit, text(low), text(high), unit)
}

func hertz(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return number(v)
	}
	return result.Format(v, "Hz")
}

// number writes large ones without an exponent too.
func number(v float64) string {
	if a := math.Abs(v); a >= 1e5 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Validate names the first key that is out of range, and the range.
func (m Machine) Validate() error {
	for _, c := range []struct {
		key     string
		v, high int
	}{{"sockets", m.Sockets, 256}, {"cores_per_socket", m.CoresPerSocket, 1024},
		{"threads_per_core", m.ThreadsPerCore, 8}} {
		if c.v < 1 || c.v > c.high {
			return fmt.Errorf("%s is %d; it must be 1 to %d", c.key, c.v, c.high)
		}
	}
	if n := m.CPUs(); n > maxCPUs {
		return fmt.Errorf("sockets x cores_per_socket x threads_per_core is %d; it must be 1 to %d", n, maxCPUs)
	}
	const lowest, highest = 1e7, 2e10
	if len(m.PStates) == 0 {
		return fmt.Errorf("pstates is empty; it must list at least one frequency")
	}
	for i, f := range m.PStates {
		if err := between(fmt.Sprintf("pstates[%d]", i), f, lowest, highest, "Hz"); err != nil {
			return err
		}
		if i > 0 && f <= m.PStates[i-1] {
			return fmt.Errorf("pstates[%d] is %s, not above pstates[%d], %s; they must rise", i, hertz(f), i-1,
				hertz(m.PStates[i-1]))
		}
	}
	if err := between("nominal", m.Nominal, m.PStates[0], highest, "Hz"); err != nil {
		return err
	}
	if err := m.validateTurbo(highest); err != nil {
		return err
	}
	if m.ThreadsPerCore > 1 {
		if err := between("smt_rate", m.SMTRate, 0.1, 1, ""); err != nil {
			return err
		}
	}
	if err := m.validateIdle(); err != nil {
		return err
	}
	if !slices.Contains(Scopes(), m.Domain) {
		return fmt.Errorf("domain is %q; it must be thread, core or socket", m.Domain)
	}
	if m.Fixed != 0 {
		if err := between("fixed", m.Fixed, lowest, highest, "Hz"); err != nil {
			return err
		}
	}
	return m.Power.validate()
}

func (m Machine) validateTurbo(highest float64) error {
	for i, b := range m.Turbo {
		key := fmt.Sprintf("turbo[%d]", i)
		if err := between(key+".hz", b.Hz, m.PStates[len(m.PStates)-1], highest, "Hz"); err != nil {
			return err
		}
		switch {
		case b.ActiveCores < 1 || b.ActiveCores > m.CoresPerSocket:
			return fmt.Errorf("%s.active_cores is %d; it must be 1 to %d", key, b.ActiveCores, m.CoresPerSocket)
		case i > 0 && b.ActiveCores <= m.Turbo[i-1].ActiveCores:
			return fmt.Errorf("%s.active_cores is %d, not above the bin before it, %d", key, b.ActiveCores,
				m.Turbo[i-1].ActiveCores)
		case i > 0 && b.Hz > m.Turbo[i-1].Hz:
			return fmt.Errorf("%s.hz is %s, above the bin before it, %s; more active cores cannot run faster", key,
				hertz(b.Hz), hertz(m.Turbo[i-1].Hz))
		}
	}
	if n := len(m.Turbo); n > 0 && m.Turbo[n-1].ActiveCores != m.CoresPerSocket {
		return fmt.Errorf("turbo[%d].active_cores is %d; the last bin must cover all %d cores", n-1, m.Turbo[n-1].ActiveCores,
			m.CoresPerSocket)
	}
	return nil
}

func (m Machine) validateIdle() error {
	for i, s := range m.IdleStates {
		key := fmt.Sprintf("idle_states[%d]", i)
		if err := cmp.Or(between(key+".exit_latency", s.ExitLatency, 0, 1, "s"),
			between(key+".target_residency", s.TargetResidency, 0, 10, "s"),
			between(key+".power_share", s.PowerShare, 0, 1, "")); err != nil {
			return err
		}
		if i > 0 && s.TargetResidency < m.IdleStates[i-1].TargetResidency {
			return fmt.Errorf("%s.target_residency is %g, below the state before it, %g; they must rise", key, s.TargetResidency,
				m.IdleStates[i-1].TargetResidency)
		}
	}
	return nil
}

func (p Power) validate() error {
	return cmp.Or(between("power.socket_watts", p.SocketWatts, 0, 2000, "W"),
		between("power.core_watts", p.CoreWatts, 0, 500, "W"), between("power.low_volts", p.LowVolts, 0.3, 2, "V"),
		between("power.nominal_volts", p.NominalVolts, p.LowVolts, 2, "V"),
		between("power.smt_share", p.SMTShare, 0, 1, ""))
}

// maxUsers bounds closed populations.
const maxUsers = 1_000_000

// Validate names the first key that is out of range, and the range.
func (w Workload) Validate() error {
	switch w.Kind {
	case Dialog, Batch, Query, Commit:
	default:
		return fmt.Errorf("kind is %q; it must be dialog, batch, query or commit", w.Kind)
	}
	switch w.Placement {
	case Spread, Packed, Sticky:
	default:
		return fmt.Errorf("placement is %q; it must be spread, packed or sticky", w.Placement)
	}
	least := 1
	if w.Kind == Dialog {
		least = 0 // open
		if w.Slices < 1 || w.Slices > 10000 {
			return fmt.Errorf("slices is %d; it must be 1 to 10000", w.Slices)
		}
	}
	if w.Users < least || w.Users > maxUsers {
		return fmt.Errorf("users is %d; a %s workload needs %d to %d", w.Users, w.Kind, least, maxUsers)
	}
	for _, d := range []struct {
		key      string
		d        Dist
		positive bool
	}{{"slice", w.Slice, true}, {"wait", w.Wait, false}, {"think", w.Think, false},
		{"device", w.Device, w.Kind == Commit}, {"flush_work", w.FlushWork, false}} {
		if err := d.d.validate(d.key, d.positive); err != nil {
			return err
		}
	}
	if w.Kind == Batch || w.Kind == Query {
		if err := between("work", w.Work, 1e-3, 1e6, "s"); err != nil {
			return err
		}
		if n := w.Work / w.Slice.Mean * float64(w.Users); n > 1e8 {
			return fmt.Errorf("work over slice times users is %.3g slices; it must be at most 1e+08", n)
		}
	}
	return between("memory_share", w.MemoryShare, 0, 1, "")
}

// Validate checks machine, workload, policy and load together.
func (c Case) Validate() error {
	if err := c.Machine.Validate(); err != nil {
		return fmt.Errorf("machine %s: %w", c.Machine.Name, err)
	}
	if err := c.Workload.Validate(); err != nil {
		return fmt.Errorf("workload %s: %w", c.Workload.Name, err)
	}
	if c.Policy.Bounds {
		return fmt.Errorf("policy %s: the hardware chooses the frequency; only bounds can be given, by Compare",
			c.Policy.Name)
	}
	g, err := compileGovernor(c.Policy, c.Machine)
	if err != nil {
		return fmt.Errorf("policy %s: %w", c.Policy.Name, err)
	}
	if !c.Workload.Open() {
		return nil
	}
	if math.IsNaN(c.Load) || c.Load <= 0 {
		return fmt.Errorf("load is %g; an open workload needs more than 0 and less than 1", c.Load)
	}
	if top := capacity(c, g); c.Load >= top {
		return &UnstableError{Policy: c.Policy.Name, Load: c.Load, Capacity: top}
	}
	return nil
}

// capacity is the load that the machine carries with all CPUs busy at the policy's
// highest frequency.
func capacity(c Case, g governor) float64 {
	m := c.Machine
	hz := m.PStates[g.top]
	switch {
	case m.Fixed > 0:
		hz = m.Fixed
	case g.rule == ruleHertz:
		hz = g.hz
	case g.boost && g.top == len(m.PStates)-1 && len(m.Turbo) > 0:
		hz = m.Turbo[len(m.Turbo)-1].Hz
	}
	return speed(hz, c.Machine.Nominal, c.Workload.MemoryShare)
}

// speed is the rate of work at hz: 1 at nominal.
func speed(hz, nominal, memoryShare float64) float64 {
	return 1 / ((1-memoryShare)*nominal/hz + memoryShare)
}

// UnstableError says that an open workload offers more than the policy can carry.
type UnstableError struct {
	Policy   string
	Load     float64 // offered, of capacity at nominal
	Capacity float64 // highest load that the policy carries; NaN when the queue grew without limit below it
}

// Error says so, and offers the closed form of the workload.
func (e *UnstableError) Error() string {
	return e.Short() +
		", so the queue would grow without end (unstable); ask for less, or close the workload with --users N"
}

// Short says so without a remedy.
func (e *UnstableError) Short() string {
	if math.IsNaN(e.Capacity) {
		return fmt.Sprintf("load %.3g is too much for %s: work arrives faster than it ends", e.Load, e.Policy)
	}
	return fmt.Sprintf("load %.3g is too much for %s, which carries less than %.3g", e.Load, e.Policy, e.Capacity)
}
