package explain

import (
	"testing"

	"github.com/prometheus/procfs"
)

// TestCopies: what devices gave decides whether reads were copies of the page cache; a mean that no device reaches is
// not enough, as reads ahead reach it, too.
func TestCopies(t *testing.T) {
	read := func(n int64, seconds float64) Account {
		return Account{Counted: []Counted{{Part: DataReads, Events: []string{"read"}, Count: n, Seconds: seconds}}}
	}
	handed := read(1e6, 60)
	handed.Handed = true
	untimed := Account{Counted: []Counted{{Part: DataReads, Count: 1e6, Seconds: 1e6 * Longest, Blocked: true}}}
	sampled := Account{Waits: map[PartName]float64{DataReads: 1e6}}
	const bytes = 8192e6
	totals := func(device, disks, took int64) *Totals {
		return &Totals{Seconds: 60, Grown: map[string]int64{"read_bytes": bytes, "device_bytes": device, "disks_bytes": disks,
			"disks_us": took},
			Settings: map[string]string{onDisks: "yes"}}
	}
	elsewhere := totals(0, 0, 0) // as on FUSE, 9p or a network: whether on disks is not known
	elsewhere.Settings = nil
	handedSlowly := read(1e6, 150)
	handedSlowly.Handed = true
	hidden := &Totals{Seconds: 60, Grown: map[string]int64{"read_bytes": bytes, "disks_bytes": 1 << 20, "disks_us": 1000}}
	for name, c := range map[string]struct {
		account Account
		totals  *Totals
		copies  bool
		atMost  float64 // s
	}{
		"from the page cache":               {read(1e6, 2), totals(4e6, 5e6, 30_000), true, 0.03},
		"from a device, in long reads":      {read(1e6, 2), totals(bytes, bytes, 2e6), false, 0},
		"some slow reads among quick ones":  {read(1e6, 3), totals(bytes/20, bytes/20, 2e6), false, 0},
		"of a network's file system":        {read(1e6, 300), totals(0, 0, 0), false, 0},
		"copied by other processes":         {handed, totals(0, 0, 0), true, 0},
		"read by other processes":           {handed, totals(bytes, bytes, 2e6), false, 0},
		"by others, in 150 us, of disks":    {handedSlowly, totals(0, 0, 0), true, 0},
		"by others, in 150 us, elsewhere":   {handedSlowly, elsewhere, false, 0},
		"by others, in 60 us, elsewhere":    {handed, elsewhere, false, 0},
		"quick, elsewhere":                  {read(1e6, 2), elsewhere, true, 0},
		"not timed, elsewhere":              {untimed, elsewhere, false, 0},
		"others keep the disks busy":        {read(1e6, 2), totals(0, bytes, 60e6), true, 0},
		"sampled, and counted":              {sampled, totals(0, 0, 0), true, 0},
		"not timed":                         {untimed, totals(40960, 1e6, 5000), true, 0.005},
		"not timed, from a device":          {untimed, totals(bytes, bytes, 9e6), false, 0},
		"processes hidden, disks quiet":     {read(1e6, 2), hidden, true, 0.001},
		"processes hidden, reads not timed": {untimed, hidden, false, 0},
		"server elsewhere":                  {read(1e6, 2), &Totals{Grown: map[string]int64{"read_bytes": bytes}}, false, 0},
		"nothing said":                      {read(1e6, 2), nil, false, 0},
		"no reads":                          {read(0, 0), totals(0, 0, 0), false, 0},
	} {
		batches := even(60, map[Key]float64{{Part: DataReads, Event: "IO:DataFileRead"}: 0.03,
			{Part: DatabaseCPU, Event: OnCPU}: 0.97})
		got := copiesOf(batches, c.account, c.totals)
		if (got != nil) != c.copies {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		if got == nil {
			continue
		}
		near(t, name, got.AtMost, c.atMost)
		got.cached(batches, c.account)
		_, parts, _, _ := Decompose(batches, got.account(c.account))
		reads, cpu, others := find(parts, DataReads), find(parts, DatabaseCPU), find(parts, OtherWaits)
		near(t, name+": waits for data", reads.Seconds+reads.Within, 0)
		near(t, name+": at most", reads.Share.High*60, c.atMost)
		waited := 0.0
		if c.account.Handed {
			waited = 0.03 * 60
		}
		near(t, name+": waits for others", others.Seconds, waited)
		near(t, name+": on a CPU", cpu.Seconds, 60-waited)
	}
}

// TestTotalsOf: what was reset, restarted or changed meanwhile tells nothing.
func TestTotalsOf(t *testing.T) {
	at := func(epoch string, n int64, value string) *Telling {
		return &Telling{Counters{epoch, map[string]int64{"n": n}}, map[string]string{"s": value}, map[string]int64{"l": n}}
	}
	for name, c := range map[string]struct {
		last   *Telling
		totals bool
	}{
		"grown": {at("a", 7, "on"), true}, "restarted": {at("b", 7, "on"), false}, "reset": {at("a", 3, "on"), false},
		"gone": {nil, false},
	} {
		got := TotalsOf(at("a", 5, "on"), c.last, 60)
		if (got != nil) != c.totals || c.totals && (got.Get("n") != 2 || got.Settings["s"] != "on" || got.Levels["l"] != 7) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := TotalsOf(at("a", 5, "on"), at("a", 5, "off"), 60); got.Settings["s"] != "" {
		t.Errorf("a setting that changed meanwhile: %q", got.Settings)
	}
}

// TestMountOf: a directory lies on the mount with the longest path above it, the last of several there.
func TestMountOf(t *testing.T) {
	mounts := []*procfs.MountInfo{{MountPoint: "/", Source: "root"}, {MountPoint: "/srv/pg", Source: "first"},
		{MountPoint: "/srv/pg", Source: "last"}, {MountPoint: `/srv/a\040b`, Source: "blank"}}
	for path, want := range map[string]string{"/srv/pg/18/main": "last", "/srv/pg": "last", "/srv/pgdata": "root",
		"/srv/a b/x": "blank"} {
		if got := mountOf(mounts, path); got == nil || got.Source != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := mountOf(mounts[1:], "/elsewhere"); got != nil {
		t.Errorf("%+v", got)
	}
	if ofDisks(1 << 30) {
		t.Error("a process that has ended has data on disks")
	}
}
