package check

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// with has servers of a kind, and facts.
func with(kind string, facts func(*host.Facts)) func(*host.Facts) {
	return func(f *host.Facts) {
		running(kind)(f)
		facts(f)
	}
}

func ages(expire, look float64) func(*host.Facts) {
	return mem(func(m *host.Memory) {
		m.DirtyExpire = host.Known(expire, "s", "/proc/sys/vm/dirty_expire_centisecs")
		m.DirtyWriteback = host.Known(look, "s", "/proc/sys/vm/dirty_writeback_centisecs")
	})
}

func autogroup(on int64) func(*host.Facts) {
	return kern(func(k *host.Kernel) { k.Autogroup = known(on, kernDir+"/sched_autogroup_enabled") })
}

func oops(panics int64) func(*host.Facts) {
	return kern(func(k *host.Kernel) { k.PanicOnOops = known(panics, kernDir+"/panic_on_oops") })
}

func openFiles(n uint64) func(*host.Facts) {
	return kern(func(k *host.Kernel) { k.FileMax = known(n, "/proc/sys/fs/file-max") })
}

// queues are message queues, where an SAP instance is.
func queues(n host.Fact[int64]) func(*host.Facts) {
	return with("sap", kern(func(k *host.Kernel) { k.MsgMni = n }))
}

func mitigated(text host.Fact[string]) func(*host.Facts) {
	return kern(func(k *host.Kernel) { k.Mitigations = []host.Mitigation{{Name: "mds", Text: text}} })
}

func accelerator(queues host.Fact[int64]) func(*host.Facts) {
	return func(f *host.Facts) { f.Offload = []host.Accelerator{{Name: "dsa0", Queues: queues}} }
}

const uncoreDir = "/sys/devices/system/cpu/intel_uncore_frequency/uncore00/"

// uncoreOf has an uncore with a limit in GHz, and the thresholds of its control in %.
func uncoreOf(ghz float64, low, high int64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Frequency.Uncore = []host.Uncore{{Name: "uncore00", Max: hz(ghz, uncoreDir+"max_freq_khz"),
			InitialMax:    hz(2.5, uncoreDir+"initial_max_freq_khz"),
			ELCFloor:      hz(0.8, uncoreDir+"elc_floor_freq_khz"),
			ELCLow:        host.Known(low, "%", uncoreDir+"elc_low_threshold_percent"),
			ELCHigh:       host.Known(high, "%", uncoreDir+"elc_high_threshold_percent"),
			ELCHighActive: known(true, uncoreDir+"elc_high_threshold_enable")}}
	}
}

func driver(vendor, name string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Identity.CPUVendor = known(vendor, "/proc/cpuinfo")
		f.Frequency.Policies = policies(2, func(p *host.Policy, dir string) { p.Driver = known(name, dir+"/scaling_driver") })
	}
}

var habitCases = []lookCase{
	{id: "MEM-010", name: "the kernel's defaults", want: Finding, facts: with("oracle", ages(30, 5)),
		evidence: "dirty_expire_centisecs = 30 s", remedy: "vm.dirty_expire_centisecs=500"},
	{id: "MEM-010", name: "never", want: Finding, facts: with("sqlserver", ages(5, 0)),
		remedy: "vm.dirty_writeback_centisecs=100"},
	{id: "MEM-010", name: "the profiles'", want: OK, facts: with("sqlserver", ages(5, 1))},
	{id: "MEM-010", name: "PostgreSQL", want: NotApplicable, facts: with("postgresql", ages(30, 5)),
		detail: "would apply to"},
	{id: "MEM-010", name: "denied", want: Unknown,
		facts: with("oracle", mem(func(m *host.Memory) { m.DirtyExpire = denied[float64]("dirty_expire_centisecs") }))},

	{id: "KRN-009", name: "nobody", want: Finding,
		facts: kern(func(k *host.Kernel) { k.ClockSynced = known(false, "adjtimex") }), remedy: "chronyc"},
	{id: "KRN-009", name: "kept", want: OK, facts: kern(func(k *host.Kernel) { k.ClockSynced = known(true, "adjtimex") })},
	{id: "KRN-009", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "KRN-009", name: "denied", want: Unknown,
		facts: kern(func(k *host.Kernel) { k.ClockSynced = denied[bool]("adjtimex") })},

	{id: "KRN-010", name: "no microcode", want: Finding,
		facts: mitigated(known("Vulnerable: Clear CPU buffers attempted, no microcode",
			"/sys/devices/system/cpu/vulnerabilities/mds")), remedy: "microcode"},
	{id: "KRN-010", name: "mitigated", want: OK, facts: mitigated(known("Mitigation: Clear CPU buffers; SMT vulnerable",
		"mds"))},
	{id: "KRN-010", name: "of guests", want: Finding, facts: mitigated(known("KVM: Vulnerable", "itlb_multihit"))},
	{id: "KRN-010", name: "of guests, mitigated", want: OK,
		facts: mitigated(known("KVM: Mitigation: VMX disabled", "itlb_multihit"))},
	{id: "KRN-010", name: "unknown to the kernel", want: Unknown,
		facts: mitigated(known("Unknown: No mitigations", "retbleed"))},
	{id: "KRN-010", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "KRN-010", name: "denied", want: Unknown, facts: mitigated(denied[string]("mds"))},

	{id: "KRN-011", name: "on", want: Finding, facts: with("postgresql", autogroup(1)),
		remedy: "kernel.sched_autogroup_enabled=0"},
	{id: "KRN-011", name: "off", want: OK, facts: with("postgresql", autogroup(0))},
	{id: "KRN-011", name: "Oracle", want: NotApplicable, facts: with("oracle", autogroup(1)), detail: "would apply to"},
	{id: "KRN-011", name: "denied", want: Unknown,
		facts: with("postgresql", kern(func(k *host.Kernel) { k.Autogroup = denied[int64]("sched_autogroup_enabled") }))},

	{id: "KRN-012", name: "goes on", want: Finding, facts: with("oracle", oops(0)), remedy: "kernel.panic_on_oops=1"},
	{id: "KRN-012", name: "stops", want: OK, facts: with("oracle", oops(1))},
	{id: "KRN-012", name: "PostgreSQL", want: NotApplicable, facts: with("postgresql", oops(0)), detail: "would apply to"},
	{id: "KRN-012", name: "denied", want: Unknown,
		facts: with("oracle", kern(func(k *host.Kernel) { k.PanicOnOops = denied[int64]("panic_on_oops") }))},

	{id: "KRN-013", name: "few", want: Finding, facts: with("oracle", openFiles(100000)), remedy: "fs.file-max=6815744"},
	{id: "KRN-013", name: "systemd's", want: OK, facts: with("oracle", openFiles(1<<63-1))},
	{id: "KRN-013", name: "PostgreSQL", want: NotApplicable, facts: with("postgresql", openFiles(100000)),
		detail: "would apply to"},
	{id: "KRN-013", name: "denied", want: Unknown,
		facts: with("oracle", kern(func(k *host.Kernel) { k.FileMax = denied[uint64]("file-max") }))},

	{id: "KRN-014", name: "few", role: ProductionApp, want: Finding, facts: queues(known[int64](16, kernDir+"/msgmni")),
		remedy: "kernel.msgmni=1024"},
	{id: "KRN-014", name: "the kernel's default", role: ProductionApp, want: OK,
		facts: queues(known[int64](32000, kernDir+"/msgmni"))},
	{id: "KRN-014", name: "no SAP instance", role: ProductionApp, want: NotApplicable,
		facts: kern(func(k *host.Kernel) { k.MsgMni = known[int64](16, "msgmni") })},
	{id: "KRN-014", name: "denied", role: ProductionApp, want: Unknown, facts: queues(denied[int64](kernDir + "/msgmni"))},

	{id: "KRN-015", name: "HANA", want: Finding, facts: with("hana", clock("kvm-clock", "kvm-clock tsc acpi_pm", "kvm")),
		remedy: "echo tsc"},
	{id: "KRN-015", name: "HANA with tsc", want: OK, facts: with("hana", clock("tsc", "kvm-clock tsc", "kvm"))},
	{id: "KRN-015", name: "no tsc offered", want: NotApplicable,
		facts: with("hana", clock("kvm-clock", "kvm-clock acpi_pm", "kvm"))},
	{id: "KRN-015", name: "PostgreSQL", want: NotApplicable,
		facts: with("postgresql", clock("kvm-clock", "kvm-clock tsc", "kvm")), detail: "would apply to"},
	{id: "KRN-015", name: "denied", want: Unknown, facts: with("hana", kern(func(k *host.Kernel) {
		k.Clocksource, k.Clocksources = denied[string]("current_clocksource"), known("kvm-clock tsc", "available_clocksource")
	}))},

	{id: "KRN-016", name: "none set up", want: Finding, facts: accelerator(known[int64](0, "/sys/bus/dsa/devices/dsa0")),
		remedy: "accel-config"},
	{id: "KRN-016", name: "four", want: OK, facts: accelerator(known[int64](4, "/sys/bus/dsa/devices/dsa0"))},
	{id: "KRN-016", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "KRN-016", name: "denied", want: Unknown, facts: accelerator(denied[int64]("/sys/bus/dsa/devices/dsa0"))},

	{id: "PWR-012", name: "limited", want: Finding, facts: uncoreOf(1.8, 0, 0), evidence: "1.8 GHz of 2.5 GHz",
		remedy: "echo 2500000"},
	{id: "PWR-012", name: "as started", want: OK, facts: uncoreOf(2.5, 0, 0)},
	{id: "PWR-012", name: "none", want: NotApplicable, facts: func(*host.Facts) {}},
	{id: "PWR-012", name: "development", role: Development, want: NotApplicable, facts: uncoreOf(1.8, 0, 0)},
	{id: "PWR-012", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		f.Frequency.Uncore = []host.Uncore{{Name: "a", Max: denied[int64](uncoreDir + "max_freq_khz"),
			InitialMax: hz(2.5, "b")}}
	}},

	{id: "PWR-013", name: "for power", want: Finding, facts: uncoreOf(2.5, 10, 94),
		remedy: "echo 0 | sudo tee */elc_low_threshold_percent"},
	{id: "PWR-013", name: "the upper threshold is off", want: Finding,
		remedy: "echo 1 | sudo tee */elc_high_threshold_enable", facts: func(f *host.Facts) {
			uncoreOf(2.5, 0, 0)(f)
			f.Frequency.Uncore[0].ELCHighActive = known(false, uncoreDir+"elc_high_threshold_enable")
		}},
	{id: "PWR-013", name: "for latency", want: OK, facts: uncoreOf(2.5, 0, 0)},
	{id: "PWR-013", name: "an older kernel", want: NotApplicable, facts: func(f *host.Facts) {
		f.Frequency.Uncore = []host.Uncore{{Name: "a", ELCLow: absent[int64]("elc_low_threshold_percent")}}
	}},
	{id: "PWR-013", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		f.Frequency.Uncore = []host.Uncore{{Name: "a", ELCLow: denied[int64]("elc_low_threshold_percent")}}
	}},

	{id: "PWR-014", name: "acpi-cpufreq on Intel", want: Finding, facts: driver("GenuineIntel", "acpi-cpufreq"),
		remedy: "/proc/cmdline"},
	{id: "PWR-014", name: "its own", want: OK, facts: driver("GenuineIntel", "intel_pstate")},
	{id: "PWR-014", name: "a guest", want: NotApplicable, facts: func(f *host.Facts) {
		driver("GenuineIntel", "acpi-cpufreq")(f)
		f.Virt.Hypervisor = known("kvm", "cpuid")
	}},
	{id: "PWR-014", name: "AMD", want: NotApplicable, facts: driver("AuthenticAMD", "acpi-cpufreq")},
	{id: "PWR-014", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		f.Identity.CPUVendor = known("GenuineIntel", "/proc/cpuinfo")
		f.Frequency.Policies = policies(1, func(p *host.Policy,
			dir string) {
			p.Driver = denied[string](dir + "/scaling_driver")
		})
	}},
}

func TestTheUnitOfAGroup(t *testing.T) {
	for group, want := range map[string]string{
		"/system.slice/postgresql.service":                                 "postgresql.service",
		"/system.slice/system-postgresql.slice/postgresql@15-main.service": "postgresql@15-main.service",
		`/system.slice/db\x2d1.service`:                                    `db\x2d1.service`,
		"/system.slice":                                                    "system.slice",
		"/":                                                                "",
		"":                                                                 "",
		"/system.slice/docker-0123.scope":                                  "",
		"/docker/0123":                                                     "",
		"/user.slice/user-1000.slice/session-3.scope":                              "",
		"/user.slice/user-1000.slice/user@1000.service":                            "",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/pg.service":       "",
		"/lxc.payload.db/system.slice/postgresql.service":                          "",
		"/machine.slice/systemd-nspawn@db.service/payload/system.slice/pg.service": "",
		"/system.slice/pg.service/libpod-payload-0123":                             "",
		"/../../system.slice/postgresql.service":                                   "",
	} {
		testkit.Is(t, want, unitOf(group), group, "is of the unit")
	}
	d := host.Database{Limits: host.Limits{Cgroup: known("/system.slice/db.service", "/proc/700/cgroup")}}
	for file, want := range map[string]string{
		"/sys/fs/cgroup/system.slice/db.service/memory.max":                   "db.service",
		"/sys/fs/cgroup/memory/system.slice/db.service/memory.limit_in_bytes": "db.service",
		"/sys/fs/cgroup/system.slice/memory.high":                             "system.slice",
		"/sys/fs/cgroup/memory.high":                                          "",
		"/sys/fs/cgroup/other.slice/memory.high":                              "",
	} {
		testkit.Is(t, want, limitedBy(d, file), file, "is of the unit")
	}
}

// A name that systemd gives to no unit gets into no remedy; one that it does stays data.
func TestUnitsWithHostileNames(t *testing.T) {
	for _, name := range append(testkit.Hostile, testkit.Tag+`\x2d$`, "../"+testkit.Tag) {
		for _, c := range serverCases {
			f := c.facts0()
			for i := range f.Databases {
				f.Databases[i].Limits.Cgroup = known("/system.slice/"+name+".service", "/proc/700/cgroup")
				f.Databases[i].Limits.MemoryMax.Source = "/sys/fs/cgroup/system.slice/" + name + ".service/memory.max"
			}
			if r := c.runOn(t, f); strings.Contains(r.Remedy, testkit.Tag) && name != "-"+testkit.Tag &&
				name != testkit.Tag+`\` {
				t.Errorf("%s: %q is in the remedy %s", c.id, name, r.Remedy)
			} else if strings.Contains(r.Remedy, testkit.Tag) {
				testkit.Intact(t, r.Remedy, name+".service")
			}
		}
	}
}

// anyWord are the facts by check that may have any word where all is well, and why.
var anyWord = map[string]string{
	"PWR-001 Driver": "it explains the governor", "PWR-010 ActiveScheme": "the states in it decide",
	"IDL-001 Name":       "the latency decides",
	"SMT-001 SMTControl": "what is active decides", "MEM-002 THPEnabled": "defrag decides",
	"MEM-002 THPDefrag":    "never leaves nothing to do",
	"KRN-007 Clocksources": "the one in use decides", "STO-006 FSType": "the class decides",
	"STO-007 FSType":      "the class decides",
	"SRV-006 sync_binlog": "without a binary log nothing is waited for",
	"SRV-006 Preload":     "few libraries take flushes away",
	"VRT-001 Hypervisor":  "the stolen time decides", "STO-004 Options": "no other option trims",
	"STO-009 Options": "few options take flushes away",
	"STO-010 Options": "no other option makes NFS soft",
}

// No check is content with a word that hostlab does not know, where a word decides.
func TestUnknownWordsAreNotOK(t *testing.T) {
	const nonsense = "hostlab-nonsense"
	tried := map[string]bool{}
	for _, c := range allCases() {
		if c.want != OK {
			continue
		}
		f := c.facts0()
		for _, fact := range wordFacts(reflect.ValueOf(f).Elem(), "") {
			word := fact.value
			was := word.String()
			word.SetString(nonsense)
			r := c.runOn(t, f)
			word.SetString(was)
			seen := slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return strings.Contains(e.Value, nonsense) })
			if !seen || strings.Contains(r.Detail, nonsense) && r.Status == Finding {
				continue
			}
			tried[c.id] = true
			if r.Status == OK && anyWord[c.id+" "+fact.name] == "" {
				t.Errorf("%s/%s is ok with %s %q in place of %q: %s %v", c.id, c.name, fact.name, nonsense, was, r.Detail,
					r.Evidence)
			}
		}
	}
	for _, id := range []string{"PWR-001", "PWR-003", "MEM-001", "MEM-002", "KRN-007", "KRN-010", "STO-001", "STO-008",
		"SRV-005", "SRV-006"} {
		if !tried[id] {
			t.Errorf("no word of %s was tried", id)
		}
	}
}

type wordFact struct {
	name  string // of the field, or of a server's setting
	value reflect.Value
}

// wordFacts are the values of facts that are words, as a file, an option or a server gives them.
func wordFacts(v reflect.Value, name string) (list []wordFact) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return wordFacts(v.Elem(), name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, wordFacts(v.Index(i), name)...)
		}
	case reflect.Struct:
		switch fact := v.Addr().Interface().(type) {
		case *host.Fact[string]:
			return []wordFact{{name, v.FieldByName("Value")}}
		case *host.Fact[host.Choice]:
			return []wordFact{{name, reflect.ValueOf(&fact.Value.Active).Elem()}}
		case *host.ServerSetting:
			return []wordFact{{fact.Name, v.FieldByName("Value").FieldByName("Value")}}
		}
		for i := range v.NumField() {
			list = append(list, wordFacts(v.Field(i), v.Type().Field(i).Name)...)
		}
	}
	return list
}
