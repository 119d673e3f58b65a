package assess

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// counts writes those of a control group, "total local" for each cache.
func counts(t *testing.T, group string, caches ...string) {
	t.Helper()
	for i, text := range caches {
		dir := filepath.Join(group, "mon_data", "mon_L3_0"+string(rune('0'+i)))
		total, local, _ := strings.Cut(text, " ")
		testkit.OK(t, os.MkdirAll(dir, 0o755))
		for file, v := range map[string]string{"mbm_total_bytes": total, "mbm_local_bytes": local, "llc_occupancy": "5"} {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(v+"\n"), 0o600))
		}
	}
}

// Groups and caches add up. One whose counter is not available is left out, and so is a group that comes meanwhile.
func TestTraffic(t *testing.T) {
	root := t.TempDir()
	two := &host.Facts{Topology: host.Topology{NUMA: make([]host.NUMANode, 2)}}
	counts(t, root, "1000 800", "2000 2000")
	counts(t, root+"/batch", "50 50", "Unavailable Unavailable")
	x := newTrafficMeter(root, nil)
	x.before.at = x.before.at.Add(-10 * time.Second)
	counts(t, root, "5000 2800", "3000 2500")
	counts(t, root+"/batch", "150 150", "70 70")
	counts(t, root+"/late", "900 900")
	m := minute(nil)
	x.fill(m)
	got := m.Traffic
	if got == nil || got.Total != 5100 || got.Local == nil || *got.Local != 2600 || got.Caches != 2 || math.Abs(got.Seconds-10) > 5 || !got.sound() {
		t.Fatalf("%+v", got)
	}
	got.Seconds = 10
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, &document.Document{Sections: []document.Section{m.crossed()}}, document.TextOptions{Width: 100}))
	for _, text := range []string{"at least 510 B/s, counted at 2 last caches for 10.0 s",
		"49 % of what was counted, at least 250 B/s"} {
		testkit.Has(t, b.String(), text)
	}
	sum := trafficOf([]*Minute{m, {Traffic: &Traffic{Seconds: 5, Total: 100, Caches: 1}}})
	if sum.Total != 5200 || !sum.AtLeast || sum.Seconds != 15 || sum.Local != nil {
		t.Errorf("%+v", sum)
	}
	if trafficOf([]*Minute{m, {}}) != nil {
		t.Error("of a stretch without it")
	}

	empty := t.TempDir()
	if newTrafficMeter(empty, nil) != nil {
		t.Error("one node, and nothing counts")
	}
	for dir, why := range map[string]string{empty: "mount -t resctrl",
		empty + "/none": "this kernel, the processor or its hypervisor has no resctrl"} {
		m := minute(nil)
		newTrafficMeter(dir, two).fill(m)
		m.uncounted()
		testkit.Has(t, strings.Join(m.Report.Missing, ""), why)
		testkit.Is(t, "", m.crossed().Title)
	}
	counter := func(v map[string]float64) traffic { return traffic{total: v, at: time.Now()} }
	for _, c := range []struct {
		before, after map[string]float64
		least         bool
	}{
		{map[string]float64{"a": 1, "b": 1}, map[string]float64{"a": 3, "b": 3}, false},
		{map[string]float64{"a": 1, "b": 1}, map[string]float64{"a": 3}, true},
		{map[string]float64{"a": 1}, map[string]float64{"a": 3, "b": 3}, true},
		{map[string]float64{"a": 1, "b": 9}, map[string]float64{"a": 3, "b": 3}, true},
	} {
		was := counter(c.before)
		was.at = was.at.Add(-time.Second)
		if got := counter(c.after).since(was); got.AtLeast != c.least || got.Total == 0 {
			t.Errorf("%v to %v: %+v", c.before, c.after, got)
		}
	}
	counts(t, empty, "Unavailable Unavailable")
	if got := countTraffic(empty).since(countTraffic(empty)); got.Why == "" {
		t.Errorf("%+v", got)
	}
}
