package check

import (
	"fmt"

	"hostlab/internal/host"
)

// governed makes policies under a driver and governor; epp "" means no such file.
func governed(n int, driver, gov, epp string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Frequency.Policies = policies(n, func(p *host.Policy, dir string) {
			p.Driver = known(driver, dir+"/scaling_driver")
			p.Governor = known(gov, dir+"/scaling_governor")
			p.EPP = absent[string](dir + "/energy_performance_preference")
			if epp != "" {
				p.EPP = known(epp, dir+"/energy_performance_preference")
			}
		})
	}
}

func biased(values ...int64) func(*host.Facts) {
	return func(f *host.Facts) {
		for i, v := range values {
			f.Frequency.EPB = append(f.Frequency.EPB, host.CPUValue[int64]{CPU: i,
				Value: known(v, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/power/energy_perf_bias", i))})
		}
	}
}

var powerCases = []lookCase{
	{id: "PWR-001", name: "acpi-cpufreq powersave on 512 CPUs", facts: governed(512, "acpi-cpufreq", "powersave", ""),
		want:     Finding,
		evidence: cpufreqDir + "{0-511}/scaling_governor = powersave",
		remedy:   "tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"},
	{id: "PWR-001", name: "ondemand on an application server", role: ProductionApp,
		facts: governed(4, "acpi-cpufreq", "ondemand", ""), want: Finding},
	{id: "PWR-001", name: "performance", facts: governed(2, "acpi-cpufreq", "performance", ""), want: OK},
	{id: "PWR-001", name: "development may save", role: Development, facts: governed(2, "acpi-cpufreq", "powersave", ""),
		want:   NotApplicable,
		detail: "may save energy"},
	{id: "PWR-001", name: "intel_pstate without HWP computes in the kernel",
		facts: governed(2, "intel_pstate", "powersave", ""), want: Finding},
	{id: "PWR-001", name: "intel_pstate with HWP is another check's",
		facts: governed(2, "intel_pstate", "powersave", "balance_performance"),
		want:  NotApplicable, detail: "PWR-003"},
	{id: "PWR-001", name: "intel_cpufreq is passive",
		facts: governed(2, "intel_cpufreq", "schedutil", "balance_performance"), want: Finding},
	{id: "PWR-001", name: "one policy differs", want: Finding, evidence: cpufreqDir + "3/scaling_governor = ondemand",
		detail: "1 of 4", facts: func(f *host.Facts) {
			governed(4, "acpi-cpufreq", "performance", "")(f)
			f.Frequency.Policies[3].Governor.Value = "ondemand"
		}},
	{id: "PWR-001", name: "the others are shown as well", want: Finding,
		evidence: cpufreqDir + "{0-2}/scaling_governor = performance",
		facts: func(f *host.Facts) {
			governed(4, "acpi-cpufreq", "performance", "")(f)
			f.Frequency.Policies[3].Governor.Value = "ondemand"
		}},
	{id: "PWR-001", name: "governor module not loaded", want: Finding, remedy: "modprobe cpufreq_performance",
		facts: func(f *host.Facts) {
			governed(1, "acpi-cpufreq", "ondemand", "")(f)
			f.Frequency.Policies[0].Governors = known("ondemand userspace", cpufreqDir+"0/scaling_available_governors")
		}},
	{id: "PWR-001", name: "denied", want: Unknown, evidence: "scaling_governor = denied", detail: "run as root",
		facts: func(f *host.Facts) {
			governed(1, "acpi-cpufreq", "performance", "")(f)
			f.Frequency.Policies[0].Governor = denied[string](cpufreqDir + "0/scaling_governor")
		}},
	{id: "PWR-001", name: "unreadable driver under powersave", want: Unknown, facts: func(f *host.Facts) {
		governed(1, "acpi-cpufreq", "powersave", "")(f)
		f.Frequency.Policies[0].Driver = failed[string](cpufreqDir + "0/scaling_driver")
	}},
	{id: "PWR-001", name: "no cpufreq in a guest", facts: func(*host.Facts) {}, want: NotApplicable, detail: "guest"},

	{id: "PWR-003", name: "balance", facts: governed(8, "intel_pstate", "powersave", "balance_performance"), want: Finding,
		evidence: "policy{0-7}/energy_performance_preference",
		remedy:   "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"},
	{id: "PWR-003", name: "kept an older value, locked by the governor",
		facts: governed(2, "intel_pstate", "performance", "balance_power"),
		want:  Finding, remedy: "echo powersave | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor\n"},
	{id: "PWR-003", name: "kept an older value that can be written", want: Finding, detail: "kept an older value",
		remedy: "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
		facts: func(f *host.Facts) {
			governed(2, "intel_pstate", "performance", "balance_power")(f)
			f.Identity.Kernel = known("5.10.0", "uname")
		}},
	{id: "PWR-003", name: "performance", facts: governed(2, "intel_pstate", "powersave", "performance"), want: OK},
	{id: "PWR-003", name: "raw 0", facts: governed(2, "amd-pstate-epp", "powersave", "0"), want: OK},
	{id: "PWR-003", name: "none", facts: governed(2, "acpi-cpufreq", "powersave", ""), want: NotApplicable},
	{id: "PWR-003", name: "error", want: Unknown, evidence: "error: broken", facts: func(f *host.Facts) {
		governed(1, "intel_pstate", "powersave", "x")(f)
		f.Frequency.Policies[0].EPP = failed[string](cpufreqDir + "0/energy_performance_preference")
	}},

	{id: "PWR-004", name: "normal on all", facts: biased(6, 6, 6, 6), want: Finding,
		evidence: "/sys/devices/system/cpu/cpu{0-3}/power/energy_perf_bias = 6", remedy: "echo 0"},
	{id: "PWR-004", name: "performance", facts: biased(0, 0), want: OK},
	{id: "PWR-004", name: "none", facts: biased(), want: NotApplicable},
	{id: "PWR-004", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		biased(0, 0)(f)
		f.Frequency.EPB[1].Value = denied[int64]("/sys/devices/system/cpu/cpu1/power/energy_perf_bias")
	}},
}
