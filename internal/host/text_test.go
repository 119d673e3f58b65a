package host_test

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func render(t *testing.T, f *host.Facts) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, f.Document(time.Time{}, ""), document.TextOptions{}))
	return b.String()
}

// flat is a text without its layout.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// section returns the lines below a title.
func section(text, title string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+title+"\n")
	if next := regexp.MustCompile(`\n\n[A-Z ]+\n`).FindStringIndex(rest); next != nil {
		rest = rest[:next[0]]
	}
	return strings.TrimRight(rest, "\n") + "\n"
}

func TestHybridText(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(dir))
	b := render(t, host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: dir}}))
	for title, want := range map[string]string{
		"TOPOLOGY": `  online          0-7                           /sys/devices/system/cpu/online
  offline         none                          /sys/devices/system/cpu/offline
  present         0-7                           /sys/devices/system/cpu/present
  sockets         1                             .../topology/physical_package_id
  cores           6                             .../cpu*/topology/core_cpus_list
  threads         8                             /sys/devices/system/cpu/online
  SMT control     on                            .../system/cpu/smt/control
  SMT active      yes                           .../system/cpu/smt/active
  NUMA memory     32 GiB, cpus 0-7              .../node/node0/meminfo MemTotal
  NUMA distances  10, cpus 0-7                  .../system/node/node0/distance
  socket          0, cpus 0-7                   .../topology/physical_package_id
  die             0, cpus 0-7                   .../cpu/cpu*/topology/die_id
  cluster         0, cpus 0-1                   .../cpu/cpu*/topology/cluster_id
                  8, cpus 2-3                   .../cpu/cpu*/topology/cluster_id
                  16, cpus 4-7                  .../cpu/cpu*/topology/cluster_id
  core            0, cpus 0-1                   .../cpu/cpu*/topology/core_id
                  4, cpus 2-3                   .../cpu/cpu*/topology/core_id
                  8, cpu 4                      .../cpu/cpu4/topology/core_id
                  9, cpu 5                      .../cpu/cpu5/topology/core_id
                  10, cpu 6                     .../cpu/cpu6/topology/core_id
                  11, cpu 7                     .../cpu/cpu7/topology/core_id
  siblings        0-1, cpus 0-1                 .../cpu*/topology/core_cpus_list
                  2-3, cpus 2-3                 .../cpu*/topology/core_cpus_list
                  4, cpu 4                      .../cpu4/topology/core_cpus_list
                  5, cpu 5                      .../cpu5/topology/core_cpus_list
                  6, cpu 6                      .../cpu6/topology/core_cpus_list
                  7, cpu 7                      .../cpu7/topology/core_cpus_list
  NUMA node       0, cpus 0-7                   .../system/node/node*/cpulist
  absent          isolated

  core types
  CPUs  name         capacity
  0-3   performance  1024
  4-7   efficiency   640

  caches
  CPUs              level  type         size    line  ways
  0-3               1      Data         48 KiB  64 B  12
  2 of 2 CPUs each
  4-7               1      Data         32 KiB  64 B  12
  4 of 1 CPU each
  0-3               1      Instruction  32 KiB  64 B  12
  2 of 2 CPUs each
  4-7               1      Instruction  64 KiB  64 B  12
  4 of 1 CPU each
  0-3               2      Unified      2 MiB   64 B  12
  2 of 2 CPUs each
  4-7               2      Unified      4 MiB   64 B  12
  0-7               3      Unified      24 MiB  64 B  12
`,
		"IDLE": `  driver          intel_idle                    .../cpu/cpuidle/current_driver
  governor        menu                          .../cpu/cpuidle/current_governor
  resume latency  no limit is set, cpus 0-7     .../pm_qos_resume_latency_us
  absent          CPU DMA latency

  states
  CPUs  index  name  desc   latency  residency  disable
  0-7   0      POLL  MWAIT  0 s      0 s        no
  0-7   1      C1E   MWAIT  2.00 us  6.00 us    no
  0-3   2      C6    MWAIT  220 us   660 us     no
  4-7   2      C6    MWAIT  270 us   810 us     no
`,
	} {
		testkit.Same(t, want, section(b, title), title)
	}
	if got := section(b, "FREQUENCY"); !strings.Contains(flat(got), "hardware max 5.20 GHz, cpus 0-1 ") ||
		!strings.Contains(flat(got), " 3.80 GHz, cpus 4-7 ") {
		t.Errorf("policies that differ are not listed apart:\n%s", got)
	}
}

func TestStatesAreSaid(t *testing.T) {
	f := &host.Facts{}
	f.Topology.SMTControl = host.Unknown[string]("/sys/x", fs.ErrPermission)
	f.Memory.Total = host.Unknown[int64]("/proc/meminfo", errors.New("no line MemTotal"))
	f.Kernel.Cmdline = host.Known("a\x1b[31m\nb\xff "+strings.Repeat("long", 30), "", "/proc/cmdline")
	f.Kernel.PressureCPU = host.Known(0.125, "", "/proc/pressure/cpu")
	f.Idle.States = []host.IdleState{{Name: host.Known("C6", "", "x"), Latency: host.Known(1e-4, "s", "x"), CPUs: []int{0, 1, 2}, Unread: []int{0, 1, 2},
		Disable: host.Unknown[bool]("x", fs.ErrPermission)}}
	for i := range 9 {
		f.Frequency.Policies = append(f.Frequency.Policies, host.Policy{ID: i, CPUs: host.Known([]int{i}, "", "x"),
			HWMax: host.Known(int64(1+i)*1e9, "Hz", "/policy1/x"), Governor: host.Known(strings.Repeat("g", i+1), "", "/policy1/y")})
	}
	b := render(t, f)
	for _, want := range []string{
		"SMT control denied: " + fs.ErrPermission.Error(),
		"total error: no line MemTotal",
		"a?[31m b? longlong",
		"pressure CPU 12.5 %",
		"0-2 0 C6 100 us 0-2 denied",
		"hardware max 1.00 GHz to 9.00 GHz, cpus 0-8",
		"and 3 other values",
	} {
		testkit.Has(t, flat(b), want, b)
	}
	for line := range strings.Lines(b) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

func TestOfflinePoliciesAreOneLine(t *testing.T) {
	f := &host.Facts{}
	f.Topology.Online = host.Known([]int{0}, "", "x")
	busy := host.Unknown[string]("x", errors.New("device or resource busy"))
	f.Frequency.Policies = []host.Policy{
		{ID: 0, CPUs: host.Known([]int{0}, "", "x"), Governor: host.Known("ondemand", "", "x"), PStates: host.Known([]int64{2401e6, 2400e6}, "Hz", "x")},
		{ID: 1, CPUs: host.Unknown[[]int]("x", errors.New("busy")), Governor: busy}, {ID: 2, CPUs: host.Known([]int{2}, "", "x"), Governor: busy},
	}
	b := render(t, f)
	for _, want := range []string{"without online CPU policies 1-2", "governor ondemand, cpu 0", "2401, 2400 MHz, cpu 0"} {
		testkit.Has(t, flat(b), want, b)
	}
	if strings.Contains(b, "busy") {
		t.Errorf("offline policies are listed line by line:\n%s", b)
	}
}
