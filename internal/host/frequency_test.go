package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

const cpuFiles = "sys/devices/system/cpu/"

// cpuTree makes an archive of files below /sys/devices/system/cpu from "name:
// content" lines.
func cpuTree(t *testing.T, lines string) *host.Facts {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(lines) {
		name, content, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			name = strings.TrimSuffix(name, ":")
		}
		if name != "" {
			fmt.Fprintf(&b, "-- %s%s --\n%s\n", cpuFiles, name, content)
		}
	}
	return host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, b.String())}})
}

// core2x2 is one socket of two cores of two threads: 0 and 1, 2 and 3.
const core2x2 = `online: 0-3
offline:
cpu0/topology/physical_package_id: 0
cpu1/topology/physical_package_id: 0
cpu2/topology/physical_package_id: 0
cpu3/topology/physical_package_id: 0
cpu0/topology/core_id: 0
cpu1/topology/core_id: 0
cpu2/topology/core_id: 1
cpu3/topology/core_id: 1
cpu0/topology/core_cpus_list: 0-1
cpu1/topology/core_cpus_list: 0-1
cpu2/topology/core_cpus_list: 2-3
cpu3/topology/core_cpus_list: 2-3
`

func TestDomainScope(t *testing.T) {
	own := "cpufreq/policy0/related_cpus: 0\ncpufreq/policy1/related_cpus: 1\ncpufreq/policy2/related_cpus: 2\ncpufreq/policy3/related_cpus: 3\n"
	for _, c := range []struct{ name, files, want string }{
		{"a policy for each thread", own, "thread"},
		{"coordinated by software, a core", "cpufreq/policy0/related_cpus: 0 1\ncpufreq/policy2/related_cpus: 2 3\n", "core"},
		{"coordinated by software, the socket", "cpufreq/policy0/related_cpus: 0 1 2 3\n", "socket"},
		{"coordinated by hardware, the socket", own + "cpufreq/policy0/freqdomain_cpus: 0 1 2 3\ncpufreq/policy1/freqdomain_cpus: 0 1 2 3\n" +
			"cpufreq/policy2/freqdomain_cpus: 0 1 2 3\ncpufreq/policy3/freqdomain_cpus: 3 2 1 0\n", "socket"},
		{"a core with an offline third thread", "cpufreq/policy0/related_cpus: 0 1 9\ncpufreq/policy2/related_cpus: 2 3\n", "core"},
		{"three CPUs", "cpufreq/policy0/related_cpus: 0 1 2\n", "other"},
		{"differing", "cpufreq/policy0/related_cpus: 0 1\ncpufreq/policy2/related_cpus: 2\n", "mixed"},
		{"garbled, and none else", "cpufreq/policy0/related_cpus: zero\n", "absent"},
		{"an offline policy does not count", "cpufreq/policy0/related_cpus: 0 1\ncpufreq/policy8/related_cpus: 8\n", "core"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := cpuTree(t, core2x2+c.files).Frequency.DomainScope
			testkit.Is(t, c.want, got.Or(string(got.State)), "scope", "from", got.Source)
		})
	}
}

func TestBoost(t *testing.T) {
	for _, c := range []struct{ name, files, want string }{
		{"turbo is not off", "intel_pstate/no_turbo: 0", "true"},
		{"turbo is off", "intel_pstate/no_turbo: 1", "false"},
		{"acpi-cpufreq", "cpufreq/boost: 1", "true"},
		{"one that forbids is enough", "intel_pstate/no_turbo: 0\ncpufreq/boost: 0", "false"},
		{"all policies off under a global 1", "cpufreq/boost: 1\ncpufreq/policy0/boost: 0\ncpufreq/policy2/boost: 0", "false"},
		{"policies on", "cpufreq/policy0/boost: 1\ncpufreq/policy2/boost: 1", "true"},
		{"policies differ", "cpufreq/policy0/boost: 1\ncpufreq/policy2/boost: 0", "error on for policies 0, off for 2"},
		{"EAGAIN while the driver is off", "intel_pstate/no_turbo: !errno EAGAIN", "error resource temporarily unavailable"},
		{"denied", "cpufreq/boost: !errno EACCES", "denied permission denied"},
		{"none", "", "absent none of intel_pstate/no_turbo, cpufreq/boost and policy*/boost is there"},
		{"garbled", "cpufreq/boost: 2", `error expected 0 or 1, found "2"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := stateText(cpuTree(t, core2x2+c.files).Frequency.Boost)
			testkit.Is(t, c.want, got, "boost")
		})
	}
}

// stateText is a fact's value, or its state and reason.
func stateText(f host.AnyFact) string {
	v, _, _, state, why := f.Any()
	if state == host.StateOK {
		return fmt.Sprint(v)
	}
	return string(state) + " " + why
}

func TestPolicyFields(t *testing.T) {
	f := cpuTree(t, core2x2+`cpufreq/policy10/related_cpus: 10
cpufreq/policy10/affected_cpus:
cpufreq/policy10/scaling_governor: !errno EBUSY
cpufreq/policy2/related_cpus: 2 3
cpufreq/policy2/affected_cpus: 2 3
cpufreq/policy2/scaling_driver: acpi-cpufreq
cpufreq/policy2/scaling_governor: ondemand
cpufreq/policy2/scaling_available_frequencies: 1200000 2400000 1800000 2401000
cpufreq/policy2/cpuinfo_min_freq: 1200000
cpufreq/policy2/cpuinfo_max_freq: 2400000
cpufreq/policy2/cpuinfo_transition_latency: 10000
cpufreq/policy2/scaling_cur_freq: 1800000
cpufreq/policy2/bios_limit: 0
cpufreq/policy2/energy_performance_preference:
cpufreq/policy0/related_cpus: 0 1
cpufreq/policy0/affected_cpus: 0 1
cpufreq/policy0/cpuinfo_max_freq: fast
cpufreq/policy0/cpuinfo_transition_latency: 4294967295
cpufreq/policy0/scaling_cur_freq: <unknown>
cpu0/acpi_cppc/nominal_freq: 2250
`)
	var ids []int
	for _, p := range f.Frequency.Policies {
		ids = append(ids, p.ID)
	}
	if d := cmp.Diff([]int{0, 2, 10}, ids); d != "" {
		t.Fatal("policies are not in natural order:\n" + d)
	}
	p0, p2, p10 := f.Frequency.Policies[0], f.Frequency.Policies[1], f.Frequency.Policies[2]
	cur := f.Frequency.Current
	for _, c := range []struct {
		what string
		got  host.AnyFact
		want string
	}{
		{"P-states fall, in Hz", p2.PStates, "[2401000000 2400000000 1800000000 1200000000]"},
		{"latency in s", p2.Latency, "1e-05"},
		{"CPUFREQ_ETERNAL", p0.Latency, "absent the driver does not know it"},
		{"a limit of 0", p2.BIOSLimit, "error 0 is no frequency"},
		{"an empty file", p2.EPP, "error the file is empty"},
		{"text for a number", p0.HWMax, `error expected a whole number, found "fast"`},
		{"CPPC's nominal frequency", p0.Base, "2250000000"},
		{"offline policy", p10.Governor, "error device or resource busy"},
		{"offline policy's CPUs", p10.CPUs, "[10]"},
		{"offline policy's online CPUs", p10.Affected, "[]"},
		{"<unknown>", cur[0].Frequency, "error the kernel says <unknown>"},
		{"share of an unknown one", cur[1].Percent, "error the kernel says <unknown>"},
		{"current", cur[3].Frequency, "1800000000"},
		{"share of maximum", cur[3].Percent, "75"},
	} {
		testkit.Is(t, c.want, stateText(c.got), c.what)
	}
}

func TestGuestWithoutCpufreq(t *testing.T) {
	f := cpuTree(t, core2x2)
	if len(f.Frequency.Policies) != 0 || len(f.Frequency.EPB) != 0 || len(f.Frequency.Uncore) != 0 {
		t.Errorf("found policies, EPB or uncore where there are none: %+v", f.Frequency)
	}
	if n := len(f.Frequency.Current); n != 4 {
		t.Fatalf("%d current frequencies, want one for each online CPU", n)
	}
	for _, c := range f.Frequency.Current {
		if c.Frequency.State != host.StateAbsent || c.Percent.State != host.StateAbsent || c.Frequency.Reason == "" {
			t.Errorf("cpu%d: %s", c.CPU, stateText(c.Frequency))
		}
	}
	testkit.Is(t, host.StateAbsent, f.Frequency.DomainScope.State, "domain scope is")
}

// Before Linux 4.3 there were no policy directories.
func TestPoliciesOfOldKernels(t *testing.T) {
	f := cpuTree(t, core2x2+"cpu0/cpufreq/related_cpus: 0 1\ncpu1/cpufreq/related_cpus: 0 1\ncpu2/cpufreq/related_cpus: 2 3\ncpu2/cpufreq/scaling_governor: ondemand\n")
	if len(f.Frequency.Policies) != 2 || f.Frequency.Policies[1].ID != 2 || f.Frequency.Policies[1].Governor.Value != "ondemand" {
		t.Errorf("policies: %+v", f.Frequency.Policies)
	}
	testkit.Is(t, "core", f.Frequency.DomainScope.Or("?"), "domain scope")
}
