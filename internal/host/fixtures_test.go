package host

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hostlab/internal/testkit"
)

// fixtures are the machines of testdata, made by testbed/record.sh. Each line
// says what makes the machine worth having: a member and a part of its content.
var fixtures = map[string]map[string]string{
	"intel-core":      {policy + "0/freqdomain_cpus": "0 1", policy + "2/related_cpus": "2 3"},
	"intel-core-cst":  {sysCPU + "cpu3/cpuidle/state3/name": "C3", sysCPU + "cpuidle/current_driver": "acpi_idle"},
	"intel-socket":    {policy + "0/related_cpus": "0 1 2 3"},
	"intel-socket-hw": {policy + "3/related_cpus": "3", policy + "3/freqdomain_cpus": "0 1 2 3"},
	"intel-cpu":       {policy + "1/freqdomain_cpus": "1"},
	"smt-off":         {policy + "1/scaling_governor": "!errno EBUSY", sysCPU + "online": "0,2", sysCPU + "smt/control": "off"},
	"tuned":           {policy + "0/scaling_governor": "performance", sysCPU + "cpu0/cpuidle/state2/disable": "1"},
	"twosocket":       {sysCPU + "cpu2/topology/physical_package_id": "1", "/sys/devices/system/node/node1/distance": "21 10"},
	"amd-epp":         {policy + "0/scaling_driver": "amd-pstate-epp", policy + "3/energy_performance_preference": "performance"},
	"bare":            {sysCPU + "cpuidle/current_driver": "none"},
	"pmem-raw":        {"/.hostlab/statx/mnt/p/log/.attr": "dax=0", "/proc/self/mountinfo": "/mnt/p rw"},
	"pmem-fsdax":      {"/.hostlab/statx/mnt/p/log/.attr": "dax=1", "/proc/self/mountinfo": "dax=always"},
	"dm-delay":        {"/sys/devices/virtual/block/dm-0/dm/name": "slow", "/proc/self/mountinfo": "ext4 /dev/mapper/slow"},
	"stacks":          {"/sys/devices/virtual/block/md0/md/level": "raid1", "/sys/devices/virtual/block/dm-0/dm/uuid": "LVM"},
	"container":       {"/sys/fs/cgroup/cpu.max": "150000 100000", "/sys/fs/cgroup/memory.max": "268435456", "/proc/self/status": "65534"},
	"postgres":        {"/sys/fs/cgroup/system.slice/postgresql-15.service/memory.max": "max", "/.hostlab/cpu_dma_latency": "1"},
	"mariadb":         {"/sys/fs/cgroup/system.slice/mariadb.service/cpu.max": "150000 100000"},
	"vendors":         {"/.hostlab/cpu_dma_latency": "2000000000"},
	"cloud-guest":     {"/proc/cpuinfo": " hypervisor ", "/proc/self/cgroup": ":memory:"},
}

const (
	sysCPU = cpuDir + "/"
	policy = sysCPU + "cpufreq/policy"
)

func readFixture(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	return testkit.Must(txtar.ParseFile(filepath.Join("testdata", name+".txtar")))(t)
}

func TestFixturesAreListed(t *testing.T) {
	files := testkit.Must(filepath.Glob("testdata/*.txtar"))(t)
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".txtar"); fixtures[name] == nil {
			t.Errorf("%s is not in the list of fixtures", f)
		}
	}
	testkit.Is(t, len(fixtures), len(files), "files for", "fixtures")
}

// Everything that names one machine, person or network. What recordMask makes of
// them does not match.
var privateText = []*regexp.Regexp{
	regexp.MustCompile(`\b[1-9a-f][0-9a-f]{7}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	regexp.MustCompile(`\b[1-9a-f][0-9a-f]{31,}\b`),
	regexp.MustCompile(`(?i)(serial|uuid|wwid|machine-id|password|secret|token)[^\n]* --$`),
	regexp.MustCompile(`(?i)(passw|secret|token)\w*=[^r]`),
	regexp.MustCompile(`\b[\w.-]+@[\w-]+\.[\w.-]+\b`),
	regexp.MustCompile(`(?m)(^|[\s=,"])/(home|root|work|tmp|mnt/[^pdl])[/\w]`),
}

var (
	macText  = regexp.MustCompile(`\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b`)
	ipv4Text = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`)
)

func TestFixtures(t *testing.T) {
	for name, want := range fixtures {
		t.Run(name, func(t *testing.T) {
			a := readFixture(t, name)
			tree := unpack(t, a)
			text := txtar.Format(a)
			if len(text) > 400<<10 {
				t.Errorf("%d bytes are too many for a file that people read", len(text))
			}
			testkit.Has(t, strings.TrimSpace(string(a.Comment)), "ecorded by testbed/record.sh on 20", "the head does not say where it is from")
			for _, re := range privateText {
				if s := re.Find(text); s != nil {
					t.Errorf("private data: %q", s)
				}
			}
			for _, mac := range macText.FindAllString(string(text), -1) {
				if !strings.HasPrefix(mac, "00:00:5e:00:53:") {
					t.Errorf("private data: %q", mac)
				}
			}
			for _, f := range []string{"/proc/cmdline", "/proc/self/mountinfo", "/proc/self/mounts"} {
				for _, ip := range ipv4Text.FindAllString(tree.Text(f).Or(""), -1) {
					t.Errorf("%s: address %q", f, ip)
				}
			}
			testkit.Is(t, "host", tree.Text("/proc/sys/kernel/hostname").Or("host"), "host name")
			checkMembers(t, tree, a)

			online, ok := tree.List(sysCPU + "online").Get()
			if !ok || len(online) == 0 {
				t.Errorf("online CPUs: %v", tree.List(sysCPU+"online"))
			}
			for _, c := range online {
				dir := sysCPU + "cpu" + FormatList([]int{c})
				siblings := firstKnown(tree.List(dir+"/topology/core_cpus_list"), tree.List(dir+"/topology/thread_siblings_list"))
				if l, ok := siblings.Get(); !ok || !slices.Contains(l, c) {
					t.Errorf("CPU %d has the siblings %v", c, l)
				}
			}
			for f, part := range want {
				b, err := os.ReadFile(tree.Join(f))
				if !strings.Contains(string(b), part) || err != nil {
					t.Errorf("%s holds %q, want %q in it (%v)", f, b, part, err)
				}
			}
		})
	}
}

// checkMembers checks names, order and links.
func checkMembers(t *testing.T, tree Tree, a *txtar.Archive) {
	t.Helper()
	seen := map[string]bool{}
	last := ""
	for _, f := range a.Files {
		name, target, link := strings.Cut(f.Name, " -> ")
		clean := strings.TrimSuffix(name, "/")
		if path.IsAbs(name) || path.Clean(clean) != clean || seen[clean] {
			t.Errorf("member %q", f.Name)
		}
		if seen[clean] = true; naturalKey(name) < naturalKey(last) {
			t.Errorf("member %q after %q", name, last)
		}
		last = name
		if link && path.Base(path.Dir(name)) != "ns" { // those of namespaces lead to no path on a machine either
			if _, err := os.Stat(tree.Join("/" + name)); path.IsAbs(target) || err != nil {
				t.Errorf("link %q: %v", f.Name, err)
			}
		}
		if bad, ok := strings.CutPrefix(string(f.Data), errnoMark); ok && regexp.MustCompile(`^E[A-Z0-9]+\n$`).FindString(bad) == "" {
			t.Errorf("member %q: %q", f.Name, f.Data)
		}
	}
}

// A recording of a recorded machine tells the same facts, and a recording of that is the
// same text: nothing that is read is lost or changed on the way.
func TestFixturesRecordAgain(t *testing.T) {
	for _, name := range testkit.Sample(slices.Sorted(maps.Keys(fixtures)), 6) {
		t.Run(name, func(t *testing.T) {
			a := readFixture(t, name)
			var asked []string
			for _, f := range a.Files {
				if p, ok := strings.CutPrefix(f.Name, ".hostlab/statx"); ok {
					asked = append(asked, path.Dir(p))
				}
			}
			first := unpack(t, a)
			again := record(t, first, string(a.Comment), asked)
			second := unpack(t, again)
			testkit.Same(t, factsText(t, first, asked), factsText(t, second, asked), "(-recorded +recorded again)")
			third := record(t, second, string(a.Comment), asked)
			testkit.Same(t, string(txtar.Format(again)), string(txtar.Format(third)), "(-recorded again +a third time)")
		})
	}
}

func factsText(t *testing.T, tree Tree, asked []string) string {
	t.Helper()
	var q []PathQuery
	for _, p := range asked {
		q = append(q, PathQuery{Path: p})
	}
	b := testkit.Must(json.MarshalIndent(Collect(t.Context(), Options{Tree: tree, Paths: q}), "", " "))(t)
	return string(b)
}

// The longest stack in use: two file systems, a loop device, LVM, RAID 1 and NVMe
// partitions, of which none may be lost or stand in the wrong place.
func TestFixtureStacks(t *testing.T) {
	tree := unpack(t, readFixture(t, "stacks"))
	below := func(deeper string) []string {
		return []string{
			deeper + "dm-0 lvm vg-data", deeper + "-md0 md-raid1 2 disks",
			deeper + "--nvme0n1p1 partition", deeper + "---nvme0n1 nvme QEMU NVMe Ctrl",
			deeper + "--nvme1n1p1 partition", deeper + "---nvme1n1 nvme QEMU NVMe Ctrl",
		}
	}
	for p, want := range map[string][]string{
		"/mnt/data": append([]string{"virtual on /mnt/data xfs"}, below("")...),
		"/mnt/log":  append([]string{"virtual on /mnt/log ext4", "loop0 loop /mnt/data/log.img"}, below("-")...),
	} {
		testkit.Same(t, want, show(StorageOf(tree, p)), p)
	}
}
