package demo

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"hostlab/internal/check"
	"hostlab/internal/host"
)

// recorded are copies of recordings of package host, which a test holds equal to them.
//
//go:embed machines/*.gz
var recorded embed.FS

// edit changes a file of a recorded machine. Path may be a pattern; without Old, New is the whole content.
type edit struct{ path, old, new string }

// machine is a kind of host: a recorded machine, set as its role should be.
type machine struct {
	prefix, file string
	per100       int // of a hundred hosts
	least        int // of a small fleet
	role         check.Role
	service      string // that is watched; "": none
	logDir       string
	set          []edit
	speed        float64 // of its CPUs, beside the others'
}

var machines = []machine{
	{prefix: "db", file: "postgres", per100: 45, least: 3, role: check.ProductionDB, service: "PostgreSQL",
		logDir: "/var/lib/postgresql/15/main/pg_wal", speed: 1, set: []edit{
			{"proc/meminfo", "SwapTotal:             0 kB", "SwapTotal:       1048572 kB"},
			{"proc/swaps", "", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swapfile                               " +
				"file\t\t1048572\t\t0\t\t-2"},
		}},
	{prefix: "wh", file: "twosocket", per100: 20, least: 1, role: check.ProductionDB, service: "PostgreSQL",
		logDir: "/srv/pg_wal", speed: 0.9, set: []edit{
			{"sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "", "performance"},
			{"proc/sys/kernel/numa_balancing", "", "0"}, {"proc/sys/vm/swappiness", "", "10"},
			{"sys/devices/virtual/dmi/id/product_name", "", "Standard PC (Q35 + ICH9, 2009)"},
		}},
	{prefix: "app", file: "bare", per100: 25, least: 3, role: check.ProductionApp, service: "shop.service",
		logDir: "/var/tmp", speed: 1},
	{prefix: "dev", file: "intel-core", per100: 10, least: 1, role: check.Development, logDir: "/var/tmp", speed: 0.95},
}

// load is what a state of a host does to what is measured there; 0 leaves it.
type load struct {
	clock  float64 // share of the highest frequency that CPUs reach
	work   float64 // share of the speed of all work
	commit float64 // times as long as a commit takes otherwise
}

// state is how a host differs from its machine for some time.
type state struct {
	name   string
	edits  []edit
	effect load
}

type fault struct {
	state
	on    string // prefix of the hosts
	check string // that finds it; "": none does, and only measurements show it
	shows string // the fact, or the measurement, in which the host differs
}

const policies = "sys/devices/system/cpu/cpufreq/policy*/"

var faults = []fault{
	{state{"governor powersave", []edit{{policies + "scaling_governor", "", "powersave"},
		{policies + "scaling_cur_freq", "", "1200000"}}, load{clock: 0.5}},
		"db", "PWR-001", "frequency.policies[].governor"},
	{state{"swappiness 60", []edit{{"proc/sys/vm/swappiness", "", "60"}}, load{}}, "db", "MEM-006", "memory.swappiness"},
	{state{"huge pages always", []edit{{"sys/kernel/mm/transparent_hugepage/enabled", "", "[always] madvise never"}},
		load{}}, "db", "MEM-001", "memory.thp_enabled"},
	{state{"a quota of 1.5 CPUs", []edit{{"sys/fs/cgroup/system.slice/postgresql-15.service/cpu.max", "",
		"150000 100000"}}, load{}}, "db", "VRT-002", ""},
	{state{"slow log device", nil, load{commit: 9}}, "db", "", "commit.overwritten.mean"},
	{state{"reclaim within a node", []edit{{"proc/sys/vm/zone_reclaim_mode", "", "1"}}, load{}}, "wh", "MEM-009",
		"memory.zone_reclaim_mode"},
	{state{"clock source acpi_pm", []edit{{"sys/devices/system/clocksource/clocksource0/current_clocksource", "",
		"acpi_pm"}}, load{work: 0.97}}, "app", "KRN-007", "kernel.clocksource"},
}

// slow is the twin that nothing but measurements and its firmware tell from the others.
var slow = state{"slow twin", []edit{{"sys/devices/virtual/dmi/id/bios_version", "", "1.14.0-2"}},
	load{work: 0.5, clock: 0.5}}

// older is the kernel that hosts had before they were updated.
var older = state{"older kernel", []edit{{"proc/sys/kernel/osrelease", "", "6.12.107+deb12-cloud-amd64"}}, load{}}

// seen is what a machine in some states is.
type seen struct {
	facts   *host.Facts
	results []check.Result
}

// looks reads each machine in each of its states once.
type looks struct{ done map[string]*seen }

func (l *looks) at(ctx context.Context, m *machine, states []state) (*seen, error) {
	key, edits := m.prefix, slices.Clone(m.set)
	for _, s := range states {
		key, edits = key+"/"+s.name, append(edits, s.edits...)
	}
	if have := l.done[key]; have != nil {
		return have, nil
	}
	data, err := archive(m.file)
	if err != nil {
		return nil, err
	}
	if data, err = edited(data, edits); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	dir, err := os.MkdirTemp("", "hostlab-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := host.ExtractArchive(data, dir); err != nil {
		return nil, err
	}
	facts := host.Collect(ctx, host.Options{Tree: host.Tree{Root: dir}})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &seen{facts, check.Run(facts, m.role, check.All())}
	l.done[key] = s
	return s, nil
}

// archive is a recorded machine in txtar form.
func archive(name string) ([]byte, error) {
	f, err := recorded.Open("machines/" + name + ".txtar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z) //nolint:gosec // our own, and small
}

// edited changes files of an archive. A file that is not there is an error: the fault would not be planted.
func edited(data []byte, edits []edit) ([]byte, error) {
	a := txtar.Parse(data)
	for _, e := range edits {
		found := false
		for i := range a.Files {
			f := &a.Files[i]
			if match, _ := path.Match(e.path, f.Name); !match {
				continue
			}
			if e.old != "" && !bytes.Contains(f.Data, []byte(e.old)) {
				return nil, fmt.Errorf("%s does not hold %q", f.Name, e.old)
			}
			found = true
			if e.old == "" {
				f.Data = []byte(strings.TrimSuffix(e.new, "\n") + "\n")
			} else {
				f.Data = bytes.Replace(f.Data, []byte(e.old), []byte(e.new), 1)
			}
		}
		if !found {
			return nil, errors.New("the recorded machine has no " + e.path)
		}
	}
	return txtar.Format(a), nil
}
