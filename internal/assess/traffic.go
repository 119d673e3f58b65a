package assess

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Traffic is what all programs read from and wrote to memory meanwhile, as resctrl counts it at the last caches.
type Traffic struct {
	Seconds float64 `json:"seconds"`
	Total   float64 `json:"total"` // B
	// Local is what of it stayed on the node of the CPUs, B; nil: not counted.
	Local  *float64 `json:"local"`
	Caches int      `json:"caches"` // that counted
	// AtLeast: some counters were not there all the time, or began anew.
	AtLeast bool `json:"at_least,omitempty"`
	// Why nothing was counted, and what would; "": it was.
	Why string `json:"why,omitempty"`
}

// trafficMeter counts at the beginning and at the end.
type trafficMeter struct {
	root   string
	before traffic
}

// newTrafficMeter begins to count; nil: there is one node, so that all memory is near, and nothing counts it.
func newTrafficMeter(root string, facts *host.Facts) *trafficMeter {
	m := &trafficMeter{root: root, before: countTraffic(root)}
	if len(m.before.total) == 0 && (facts == nil || len(facts.Topology.NUMA) < 2) {
		return nil
	}
	return m
}

func (x *trafficMeter) fill(m *Minute) {
	if x == nil {
		return
	}
	if len(x.before.total) > 0 {
		m.Traffic = countTraffic(x.root).since(x.before)
		return
	}
	m.Traffic = &Traffic{Why: "nothing counts memory traffic: this kernel, the processor or its hypervisor has no resctrl"}
	if _, err := os.Stat(x.root); err == nil {
		m.Traffic.Why = "nothing counts memory traffic while resctrl is not mounted: " + host.MountResctrl
	}
	if _, err := os.Stat(filepath.Join(x.root, "info")); err == nil {
		m.Traffic.Why = "resctrl is mounted and counts no memory traffic here"
	}
}

// traffic are counters of a moment, by control group and cache, B.
type traffic struct {
	total, local map[string]float64
	unread       bool // a cache was there, and its counter was not available
	at           time.Time
}

// countTraffic reads the counters of all control groups: that of a group holds what its monitoring groups count, too
// (kernel documentation, filesystems/resctrl.rst).
func countTraffic(root string) traffic {
	c := traffic{total: map[string]float64{}, local: map[string]float64{}}
	groups := []string{root}
	list, _ := os.ReadDir(root)
	for _, e := range list {
		if e.IsDir() {
			groups = append(groups, filepath.Join(root, e.Name()))
		}
	}
	for _, group := range groups {
		caches, _ := os.ReadDir(filepath.Join(group, "mon_data"))
		for _, cache := range caches {
			if !strings.HasPrefix(cache.Name(), "mon_L3_") {
				continue
			}
			dir := filepath.Join(group, "mon_data", cache.Name())
			for file, into := range map[string]map[string]float64{"mbm_total_bytes": c.total, "mbm_local_bytes": c.local} {
				b, _ := os.ReadFile(filepath.Join(dir, file))
				if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil { // else "Unavailable"
					into[dir] = float64(n)
				}
			}
			if _, counted := c.total[dir]; !counted {
				c.unread = true
			}
		}
	}
	c.at = time.Now()
	return c
}

// since is what came since an earlier count. A group that is new, or gone, is left out, and the rest is at least what
// came.
func (c traffic) since(before traffic) *Traffic {
	out, local, caches := &Traffic{Seconds: c.at.Sub(before.at).Seconds()}, 0.0, map[string]bool{}
	all := true
	out.AtLeast = c.unread || before.unread
	for dir := range before.total {
		if _, there := c.total[dir]; !there {
			out.AtLeast = true
		}
	}
	for dir, now := range c.total {
		was, there := before.total[dir]
		if !there || now < was {
			out.AtLeast = true
			continue
		}
		out.Total += now - was
		caches[filepath.Base(dir)] = true
		near, counted := c.local[dir]
		wasNear, wasCounted := before.local[dir]
		if all = all && counted && wasCounted && near >= wasNear; all {
			local += near - wasNear
		}
	}
	if out.Caches = len(caches); out.Caches == 0 || out.Seconds <= 0 {
		return &Traffic{Why: "the counters of memory traffic were not available, or began anew meanwhile"}
	}
	if all { // the two are read one after the other
		out.Local = new(min(local, out.Total))
	}
	return out
}

// trafficOf is that of all stretches together; nil: one has none.
func trafficOf(list []*Minute) *Traffic {
	sum := &Traffic{Local: new(0.0)}
	for _, m := range list {
		t := m.Traffic
		if t == nil || t.Why != "" {
			return t
		}
		sum.Seconds, sum.Total, sum.Caches = sum.Seconds+t.Seconds, sum.Total+t.Total, max(sum.Caches, t.Caches)
		sum.AtLeast = sum.AtLeast || t.AtLeast
		if t.Local == nil || sum.Local == nil {
			sum.Local = nil
			continue
		}
		*sum.Local += *t.Local
	}
	return sum
}

// sound reports numbers that can be: others may have written them.
func (t *Traffic) sound() bool {
	return t.Seconds >= 0 && t.Total >= 0 && t.Caches >= 0 && (t.Local == nil || *t.Local >= 0 && *t.Local <= t.Total)
}

// crossed says what was counted.
func (m *Minute) crossed() document.Section {
	t := m.Traffic
	if t == nil || t.Why != "" || t.Seconds <= 0 {
		return document.Section{}
	}
	least, of := "", ""
	if t.AtLeast {
		least, of = "at least ", " of what was counted"
	}
	remote := "not counted"
	if t.Local != nil && t.Total > 0 {
		remote = result.Share(1-*t.Local/t.Total) + of + ", " + least + result.Format((t.Total-*t.Local)/t.Seconds, "B/s")
	}
	return document.Titled("Memory traffic of all programs", document.Pairs{
		{Name: "in all", Value: fmt.Sprintf("%s%s, counted at %s for %s", least, result.Format(t.Total/t.Seconds, "B/s"),
			screen.Count(t.Caches, "last cache"), result.Format(t.Seconds, "s"))},
		{Name: "with other nodes", Value: remote},
	})
}

// uncounted says why memory traffic is not known, where nodes make it worth knowing.
func (m *Minute) uncounted() {
	if m.Traffic != nil && m.Traffic.Why != "" {
		m.Report.Missing = append(m.Report.Missing, m.Traffic.Why)
	}
}
