package hosttext

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/host/hosttest"
)

// section returns the lines below a title.
func section(text, title string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+title+"\n")
	body, _, _ := strings.Cut(rest, "\n\n")
	return strings.TrimSuffix(body, "\n") + "\n"
}

func TestHybrid(t *testing.T) {
	dir := t.TempDir()
	if err := hosttest.MadeHybrid(dir); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Write(&b, host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: dir}})); err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]string{
		"CPU topology": `  sockets             1                        .../topology/physical_package_id
  cores               6                        .../cpu*/topology/core_cpus_list
  threads             8                        /sys/devices/system/cpu/online
  online              0-7                      /sys/devices/system/cpu/online
  SMT control         on                       .../system/cpu/smt/control
  SMT active          yes                      .../devices/system/cpu/smt/active
  performance cores   capacity 1024 of 1024, cpus 0-3  .../cpu/cpu2/cpu_capacity
  efficiency cores    capacity 640 of 1024, cpus 4-7  .../cpu/cpu4/cpu_capacity
  L1d cache           2 x 48 KiB, each shared by 2 CPUs  .../cache/index0/size
  L1d cache           4 x 32 KiB, each for one CPU  .../cpu*/cache/index0/size
  L1i cache           2 x 32 KiB, each shared by 2 CPUs  .../cache/index1/size
  L1i cache           4 x 64 KiB, each for one CPU  .../cpu*/cache/index1/size
  L2 cache            2 x 2 MiB, each shared by 2 CPUs  .../cache/index2/size
  L2 cache            1 x 4 MiB, shared by 4 CPUs  .../cpu*/cache/index2/size
  L3 cache            1 x 24 MiB, shared by 8 CPUs  .../cpu*/cache/index3/size
  NUMA node           32 GiB, cpus 0-7         .../system/node/node0/meminfo
`,
		"Idle states": `  driver              intel_idle               .../cpu/cpuidle/current_driver
  governor            menu                     .../cpu/cpuidle/current_governor
  POLL                wakes in 0 s, pays from 0 s, enabled, cpus 0-7
  C1E                 wakes in 2.00 us, pays from 6.00 us, enabled, cpus 0-7
  C6                  wakes in 220 us, pays from 660 us, enabled, cpus 0-3
  C6                  wakes in 270 us, pays from 810 us, enabled, cpus 4-7
  latency of a CPU    no limit is set, cpus 0-7  .../pm_qos_resume_latency_us
  absent              latency limit
`,
	} {
		if d := cmp.Diff(want, section(b.String(), title)); d != "" {
			t.Errorf("%s (-want +got):\n%s", title, d)
		}
	}
	if got := section(b.String(), "Frequency"); !strings.Contains(got, "hardware maximum    5.20 GHz, cpus 0-1 ") ||
		!strings.Contains(got, "\n                      3.80 GHz, cpus 4-7 ") {
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
	var b strings.Builder
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SMT control         denied: " + fs.ErrPermission.Error(),
		"total               error: no line MemTotal",
		"a?[31m b?\n                      longlong",
		"pressure cpu        12.5 %",
		"whether disabled: denied",
		"hardware maximum    1.00 GHz to 9.00 GHz, cpus 0-8",
		"and 3 other values",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

func TestShorten(t *testing.T) {
	const path = "/sys/devices/system/cpu/online"
	for room, want := range map[int]string{30: path, 29: ".../devices/system/cpu/online", 20: ".../cpu/online", 10: ".../online", 9: "", 0: "", -5: ""} {
		if got := shorten(path, room); got != want {
			t.Errorf("in %d characters: %q, want %q", room, got, want)
		}
	}
}

func TestNoLineIsTooLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &printer{}
		p.put(rapid.String().Draw(t, "label"), rapid.String().Draw(t, "value"), "/"+rapid.String().Draw(t, "source"))
		for line := range strings.Lines(p.b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d characters: %q", n, line)
			}
		}
	})
}

func TestOfflinePoliciesAreOneLine(t *testing.T) {
	f := &host.Facts{}
	f.Topology.Online = host.Known([]int{0}, "", "x")
	busy := host.Unknown[string]("x", errors.New("device or resource busy"))
	f.Frequency.Policies = []host.Policy{
		{ID: 0, CPUs: host.Known([]int{0}, "", "x"), Governor: host.Known("ondemand", "", "x"), PStates: host.Known([]int64{2401e6, 2400e6}, "Hz", "x")},
		{ID: 1, CPUs: host.Unknown[[]int]("x", errors.New("busy")), Governor: busy}, {ID: 2, CPUs: host.Known([]int{2}, "", "x"), Governor: busy},
	}
	var b strings.Builder
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"without online CPU  policies 1-2", "governor            ondemand, cpu 0", "2401, 2400 MHz, cpu 0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "busy") {
		t.Errorf("offline policies are listed line by line:\n%s", b.String())
	}
}
