package cpus

import (
	"fmt"

	"hostlab/internal/workload"
)

// NoSMT is why a level that needs two threads of a core cannot be had, in a phrase,
// or "".
func (h Host) NoSMT() string {
	switch {
	case h.SMT():
		return ""
	case h.Measured:
		return "this system reports no two CPUs of one core, though a measurement says that some are; list CPUs to choose them"
	case !h.Reported:
		return "this system does not say which CPUs share a core"
	}
	return "no core has two threads here"
}

// Offers says of levels of a parameter that says which CPUs why they cannot be had:
// see workload.Offering. Without SMT the levels all and one-per-core are one: it
// leaves the first of the two.
func (h Host) Offers(levels []string) map[string]string {
	out := h.alike(levels, All, OnePerCore)
	for _, l := range levels {
		if list, err := List("cpus", l); err == nil {
			if gone := h.missing(list); gone != "" {
				out[l] = gone
			}
		}
	}
	return out
}

// OffersCount is Offers for a parameter that says how many threads, of whose levels
// threads and cores may be one.
func (h Host) OffersCount(levels []string) map[string]string { return h.alike(levels, Threads, Cores) }

// alike has the later of two levels that differ by SMT alone, where there is none.
func (h Host) alike(levels []string, a, b string) map[string]string {
	out := map[string]string{}
	why, first := h.NoSMT(), ""
	for _, l := range levels {
		if why == "" || l != a && l != b {
			continue
		}
		if first != "" {
			out[l] = why
		}
		first = l
	}
	return out
}

// Context is what a report has to know to explain these levels: see
// workload.Offering.
func (h Host) Context() map[string]string {
	return map[string]string{Threads: fmt.Sprint(len(h.Allowed)), Cores: fmt.Sprint(len(h.Cores))}
}

// Notes are warnings about words that say less here than they seem to.
func (h Host) Notes(p workload.Values, params ...string) (out []string) {
	why := h.NoSMT()
	if why == "" {
		return nil
	}
	for _, name := range params {
		switch p.String(name) {
		case OnePerCore:
			out = append(out, fmt.Sprintf("%s one-per-core is the same as all: %s", name, why))
		case Cores:
			out = append(out, fmt.Sprintf("%s cores is the same as threads: %s", name, why))
		}
	}
	return out
}
