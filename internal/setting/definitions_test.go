package setting

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// recorded is a recorded machine in a tree that goes with the test.
func recorded(t *testing.T, name string) *System {
	t.Helper()
	data := testkit.Must(os.ReadFile("../host/testdata/" + name + ".txtar"))(t)
	return treeOf(t, testkit.Unpack(t, host.ExtractArchive, string(data)))
}

// opened is an open directory, and treeOf the machine that it stands for.
func opened(t *testing.T, dir string) *os.Root {
	t.Helper()
	root := testkit.Must(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return root
}

func treeOf(t *testing.T, dir string) *System {
	t.Helper()
	return Local(opened(t, dir))
}

// hybrid is the made machine with intel_pstate, EPB and two kinds of cores.
func hybrid(t *testing.T) *System {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(dir))
	return treeOf(t, dir)
}

func TestAllIsInOrderAndDescribed(t *testing.T) {
	testkit.Is(t, len(ofAll), len(texts()), "texts")
	for _, s := range ofAll {
		if text := s.Text(); text.About == "" || text.Source == "" {
			t.Errorf("%s has no text", s.Name)
		}
	}
	last := 0
	for _, s := range All() {
		if s.Order < last {
			t.Errorf("%s has rank %d, after one of %d", s.Name, s.Order, last)
		}
		last = s.Order
		if s.Name == "" || s.Title == "" || s.Values == "" || s.Absent == "" ||
			s.Takes == nil {
			t.Errorf("%s lacks a text or a function", s.Name)
		}
		for _, f := range s.Files {
			if !settable(f) && !s.Held {
				t.Errorf("%s: %q is no path of a file that can be set", s.Name, f)
			}
		}
		if got, ok := Find(s.Name); !ok || got.Title != s.Title {
			t.Errorf("Find(%q) is not it: the name is there twice", s.Name)
		}
	}
}

// What people know a setting by is its sysctl, and sysctl(8) takes dots and slashes.
func TestSysctlNames(t *testing.T) {
	for typed, want := range map[string]string{
		"swappiness": "swappiness", "vm.swappiness": "swappiness", "vm/swappiness": "swappiness",
		"/proc/sys/vm/swappiness": "swappiness",
		"fs.aio-max-nr":           "aio_max_nr", "kernel.sem": "sem", "governor": "governor", "net.core.somaxconn": "somaxconn",
		"vm.swapiness":     "vm.swapiness: no such sysctl is known; did you mean vm.swappiness?",
		"kernel.swappines": "kernel.swappines: no such sysctl is known; did you mean vm.swappiness?",
		"vn.swappiness":    "vn.swappiness: there is no such setting; did you mean swappiness?",
		"cpu.governor":     "cpu.governor: there is no such setting; did you mean governor?",
		"governr":          "governr: there is no such setting; did you mean governor?",
		"vm.min_free_kbytes": "vm.min_free_kbytes: hostlab does not set this sysctl; hostlab settings lists those that it " +
			"does",
	} {
		s, err := Named(typed)
		if got := s.Name; got != want && (err == nil || err.Error() != want) {
			t.Errorf("%s: %q, %v; want %s", typed, got, err, want)
		}
	}
	// Most sysctls that a person might try are none of ours, and near to none.
	for _, key := range []string{"vm.nr_hugepages", "vm.overcommit_memory", "vm.overcommit_ratio", "vm.stat_interval",
		"kernel.threads-max", "net.ipv4.tcp_fin_timeout", "net.core.netdev_budget", "fs.nr_open", "kernel.shm_rmid_forced"} {
		if _, err := Named(key); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", key, err)
		}
	}
	sys := recorded(t, "intel-core-cst")
	p, err := NewPlan(sys, []Assignment{{"vm.swappiness", "", "10"}})
	if err != nil || len(p.Steps) != 1 || p.Steps[0].Setting != "swappiness" {
		t.Errorf("%+v, %v", p, err)
	}
	if list, err := Offline([]Assignment{{"vm/swappiness", "", "10"}}); err != nil || list[0].Name != "swappiness" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, s := range All() {
		if file := "/proc/sys/" + strings.ReplaceAll(s.Sysctl, ".", "/"); s.Sysctl != "" && s.alone()[0].Path != file {
			t.Errorf("%s: %s is not %s", s.Name, s.alone()[0].Path, file)
		}
	}
}

// A share that is none of the steps, and a frequency between two, are said to be rounded.
func TestRoundedFrequencies(t *testing.T) {
	for want, note := range map[string]string{
		"60%": "rounded to a step: 60% of 2.401 GHz is 1.4406 GHz", "1%": "the lowest: 1% of 2.401 GHz is 24.01 MHz",
		"100%": "", "max": "", "1.8GHz": "",
		"1.5GHz": "no step here: the kernel rounds it to 1.2 GHz or 1.8 GHz",
	} {
		p := testkit.Must(NewPlan(recorded(t, "intel-core-cst"), []Assignment{{"max_freq", "policy0", want}}))(t)
		testkit.Is(t, note, slices.Concat(p.Steps, p.Same)[0].Note, want)
	}
}

// TestPlans holds what assignments mean on recorded machines: object, from, to.
func TestPlans(t *testing.T) {
	cases := []struct {
		machine, want string
		steps         []string // those of the first objects
		err           string
	}{
		{"intel-core-cst", "governor=performance", []string{"policy0: schedutil -> performance",
			"policy2: schedutil -> performance"}, ""},
		{"intel-core-cst", "max_freq=1.8GHz", []string{"policy0: 2401000 -> 1800000", "policy2: 2401000 -> 1800000"}, ""},
		{"intel-core-cst", "max_freq@policy2=1800 MHz", []string{"policy2: 2401000 -> 1800000"}, ""},
		{"intel-core-cst", "min_freq=max", []string{"policy0: 1200000 -> 2401000", "policy2: 1200000 -> 2401000"}, ""},
		{"intel-core-cst", "max_freq=57%", []string{"policy0: 2401000 -> 1200000", "policy2: 2401000 -> 1200000"}, ""},
		{"intel-core-cst", "max_freq=1500000", []string{"policy0: 2401000 -> 1500000", "policy2: 2401000 -> 1500000"},
			""}, // the kernel rounds, and that is reported
		{"intel-core-cst", "max_freq=1.1GHz", nil, "policy0 has 1.2 GHz to 2.401 GHz"},
		{"intel-core-cst", "cstate_latency@cpu1/state3=70us", []string{"cpu1/state3: 0 -> 1"}, ""},
		{"intel-core-cst", "cstate_latency@cpu1/state3=0.2ms", nil, ""},
		{"intel-core-cst", "cstate_latency@cpu1/state1=0", []string{"cpu1/state1: 0 -> 1"}, ""},
		{"intel-core-cst", "sem=250 32000 100 128", []string{": 32000 1024000000 500 32000 -> 250 32000 100 128"}, ""},
		{"intel-core-cst", "thp=madvise", []string{": never -> madvise"}, ""},
		{"intel-core-cst", "smt=off", []string{": on -> off"}, ""},
		{"intel-core-cst", "dirty_bytes=0", nil, "8192"},
		{"amd-epp", "epp=power", nil, "expected performance"}, // the governor performance allows no other
		{"amd-epp", "boost=on", []string{"cpufreq: 0 -> 1"}, ""},
		{"smt-off", "smt=on", []string{": off -> on"}, ""},
		{"twosocket", "smt=off", []string{": left out, the processor, or what the hypervisor shows of it, has no SMT"}, ""},
		{"twosocket", "smt=maybe", nil, "expected on or off"},
		{"cloud-guest", "io_scheduler=none", []string{"vda: mq-deadline -> none"}, ""},
		{"cloud-guest", "read_ahead_kb@vda=4MiB", []string{"vda: 8192 -> 4096"}, ""},
		{"cloud-guest", "read_ahead_kb@vda=4096kB", []string{"vda: 8192 -> 4096"}, ""},
		{"cloud-guest", "read_ahead_kb@vda=1G", []string{"vda: 8192 -> 1048576"}, ""},
		{"cloud-guest", "read_ahead_kb@vda=4096 KiB", []string{"vda: 8192 -> 4096"}, ""},
		{"cloud-guest", "read_ahead_kb@vda=4MB", nil, "a whole number from 0 to 4194304 KiB, or a size such as 600MiB"},
		{"cloud-guest", "read_ahead_kb@vda=5GiB", nil, "from 0 to 4194304"},
		{"cloud-guest", "read_ahead_kb@vda=0.5MiB", []string{"vda: 8192 -> 512"}, ""},
		{"cloud-guest", "read_ahead_kb@vda=0.3KiB", nil, "a whole number"},
		{"cloud-guest", "dirty_bytes=8192kB", nil, "a whole number from 8192"},
		{"cloud-guest", "pm_qos_resume_latency_us=0", nil, "but not 0"},
		{"cloud-guest", "read_ahead_kb@vda=MiB", nil, "a whole number"},
		{"cloud-guest", "dirty_bytes=600MiB", []string{": 0 -> 629145600"}, ""},
		{"cloud-guest", "dirty_bytes=629145600B", []string{": 0 -> 629145600"}, ""},
		{"cloud-guest", "dirty_bytes=18446744073709551615TiB", nil, "a whole number from 8192 to"},
		{"smt-off", "governor=performance", []string{"policy0: schedutil -> performance",
			"policy2: schedutil -> performance"}, ""}, // the others' files say EBUSY
		{"hybrid", "boost=off", []string{"intel_pstate: 0 -> 1"},
			""}, // no_turbo says the opposite
		{"hybrid", "epb@cpu3=performance", []string{"cpu3: 6 -> 0"}, ""},
		{"hybrid", "min_perf_pct=100%", []string{": 9 -> 100"}, ""},
		{"hybrid", "max_freq@policy0=100%", nil, ""},
		{"hybrid", "max_freq@policy7=60%", []string{"policy7: 3800000 -> 2280000"}, ""},
		{"hybrid", "max_freq=5GHz", nil, "policy4 has 400 MHz to 3.8 GHz"},
		{"hybrid", "uncore_max_freq=2.4GHz", []string{"package_00_die_00: 4500000 -> 2400000"}, ""},
		{"hybrid", "uncore_max_freq=60%", nil, "expected a frequency"},
		{"hybrid", "platform_profile=performance", []string{": balanced -> performance"}, ""},
	}
	machines := map[string]*System{"hybrid": hybrid(t)} // a plan changes nothing in them
	for _, c := range cases {
		if machines[c.machine] == nil {
			machines[c.machine] = recorded(t, c.machine)
		}
		t.Run(c.machine+" "+c.want, func(t *testing.T) {
			sys := machines[c.machine]
			left, value, _ := strings.Cut(c.want, "=")
			name, object, _ := strings.Cut(left, "@")
			p, err := NewPlan(sys, []Assignment{{name, object, value}})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, expected one with %q", err, c.err)
				}
				return
			}
			testkit.OK(t, err)
			var got []string
			for _, s := range p.Steps {
				got = append(got, s.Name+": "+s.From+" -> "+s.To)
			}
			for _, s := range p.Skipped {
				got = append(got, s.Name+": left out, "+s.Reason)
			}
			testkit.Same(t, c.steps, got, "steps (-expected +got)")
		})
	}
}

// TestReadsEverywhere holds that what is here has values, and what is not says why.
func TestReadsEverywhere(t *testing.T) {
	for _, m := range []string{"intel-core-cst", "amd-epp", "smt-off", "cloud-guest", "container", "twosocket", "stacks"} {
		sys := recorded(t, m)
		for _, s := range All() {
			states, err := s.Read(sys)
			if err != nil && err.Error() == "" || err == nil && len(states) == 0 {
				t.Errorf("%s on %s: neither objects nor a reason", s.Name, m)
			}
			for _, st := range states {
				if st.Problem == "" && st.Value == "" {
					t.Errorf("%s of %q on %s: no value and no problem", s.Name, st.Name, m)
				}
				if st.Problem == "" && strings.ContainsAny(st.Shown, "\n\t[]") {
					t.Errorf("%s of %q on %s is shown as %q", s.Name, st.Name, m, st.Shown)
				}
			}
		}
	}
}

func TestOfflinePoliciesAreNoObjects(t *testing.T) {
	sys := recorded(t, "smt-off")
	for _, p := range policies(sys) {
		if cpus, err := sys.text(p.Path + "/affected_cpus"); err != nil || cpus == "" {
			t.Errorf("%s has no CPU online and is an object", p.Name)
		}
	}
}

func TestJoin(t *testing.T) {
	cases := []struct{ names, want string }{
		{"cpu0 cpu1 cpu2 cpu5", "cpu0-2,5"},
		{"policy10 policy0 policy9", "policy0,9-10"},
		{"cpu0/state2 cpu1/state2 cpu0/state3", "cpu0-1/state2, cpu0/state3"},
		{"nvme0n1 nvme1n1", "nvme0n1, nvme1n1"},
		{"cpufreq intel_pstate", "cpufreq, intel_pstate"},
	}
	for _, c := range cases {
		testkit.Is(t, c.want, Join(strings.Fields(c.names)), "Join", c.names, ") =")
	}
}

func TestSpell(t *testing.T) {
	cases := []struct{ name, value, want string }{
		{"max_freq", "2.4 GHz", "2400000"}, {"max_freq", "60%", "60%"}, {"min_freq", "max", "max"}, {"max_freq", "fast", ""},
		{"cstate_latency", "0.1ms", "100"}, {"cstate_latency", "all", "all"}, {"boost", "off", "0"}, {"smt", "forceoff", ""},
		{"governor", "performance\nx", ""}, {"sem", "1,2,3,4", "1 2 3 4"}, {"epb", "normal", "6"}, {"swappiness", "-1", ""},
	}
	for _, c := range cases {
		s, _ := Find(c.name)
		got, err := s.Spell(c.value)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s=%q: %q, %v, expected %q", c.name, c.value, got, err, c.want)
		}
	}
}

// FuzzSpell holds that whatever is typed is refused or is one line for a profile's file.
func FuzzSpell(f *testing.F) {
	for _, v := range []string{"performance", "60%", "2.4GHz", "70us", "1 2 3 4", "on", "1e9", "\x00", "a\nb"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		for _, s := range All() {
			got, err := s.Spell(v)
			if err == nil && (got == "" || strings.ContainsAny(got, "\n\r\"'\\$`;<>|&")) {
				t.Errorf("%s=%q is taken as %q", s.Name, v, got)
			}
		}
	})
}

// TestAMachineWithoutSettings: where there can be none, one reason stands for all.
func TestAMachineWithoutSettings(t *testing.T) {
	sys := recorded(t, "intel-core-cst")
	testkit.Must(must(t, "governor").Read(sys))(t)
	sys.Missing = errors.New("none on this system")
	for _, s := range All() {
		if _, err := s.Read(sys); !errors.Is(err, sys.Missing) {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	p, err := NewPlan(sys, []Assignment{{Name: "governor", Value: "performance"}})
	if err != nil || len(p.Steps) != 0 || len(p.Skipped) != 1 || p.Skipped[0].Reason != "none on this system" {
		t.Errorf("%+v, %v", p, err)
	}
}

func must(t *testing.T, name string) Setting {
	t.Helper()
	s, ok := Find(name)
	if !ok {
		t.Fatalf("no setting %s", name)
	}
	return s
}

// TestNamesAreNoPatterns: the name of a device is taken as it is, whatever it is made of.
func TestNamesAreNoPatterns(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"*", "sda"} {
		file := filepath.Join(root, "sys/block", name, "queue/scheduler")
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, []byte("[none] mq-deadline\n"), 0o600)))
	}
	p, err := NewPlan(treeOf(t, root), []Assignment{{Name: "io_scheduler", Value: "mq-deadline"}})
	if err != nil || len(p.Steps) != 2 || p.Steps[0].Path != "/sys/block/*/queue/scheduler" || p.Steps[0].Name != "*" {
		t.Errorf("%+v, %v", p, err)
	}
}

// What has no other value here, or only one that the kernel refuses, cannot be set, although it is there.
func TestSettable(t *testing.T) {
	const clocks = "-- sys/devices/system/clocksource/clocksource0/current_clocksource --\ntsc\n-- " +
		"sys/devices/system/clocksource/clocksource0/available_clocksource --\n"
	const scheduler = "-- sys/block/sda/queue/scheduler --\n"
	for _, c := range []struct {
		name, archive, fixed string
	}{
		{"smt", "-- sys/devices/system/cpu/smt/control --\nnotsupported\n", "has no SMT"},
		{"smt", "-- sys/devices/system/cpu/smt/control --\nforceoff\n", "for good"},
		{"smt", "-- sys/devices/system/cpu/smt/control --\noff\n", ""},
		{"clocksource", clocks + "tsc\n", "nothing else"},
		{"clocksource", clocks + "tsc hpet\n", ""},
		{"io_scheduler", scheduler + "[none]\n", "nothing else"},
		{"io_scheduler", scheduler + "[none] mq-deadline\n", ""},
		{"swappiness", "-- proc/sys/vm/swappiness --\n60\n", ""},
	} {
		states, err := must(t, c.name).Read(treeOf(t, testkit.Unpack(t, host.ExtractArchive, c.archive)))
		if err != nil || len(states) != 1 {
			t.Fatalf("%s: %+v, %v", c.name, states, err)
		}
		if got := states[0].Fixed; !strings.Contains(got, c.fixed) || (got == "") != (c.fixed == "") ||
			Settable(states) != (c.fixed == "") {
			t.Errorf("%s of %s: fixed by %q, want %q", c.name, c.archive, got, c.fixed)
		}
	}
}

// What set refuses on any host a profile for other hosts does not take either.
func TestOffline(t *testing.T) {
	for _, c := range []struct{ want, err string }{ // err: how it begins; "" none
		{"dirty_bytes=600MiB dirty_ratio=10", "dirty_bytes and dirty_ratio exclude each other"},
		{"min_freq=3GHz max_freq=2GHz", "min_freq cannot be 3 GHz: max_freq is to be 2 GHz, which is below it"},
		{"max_freq=10% min_freq=50%", "min_freq cannot be 50%: max_freq is to be 10%, which is below it"},
		{"max_freq=min min_freq=max", "min_freq cannot be max"},
		{"max_freq=60% min_freq=max", "min_freq cannot be max"},
		{"max_freq=3GHz max_freq@policy4=2GHz min_freq=2.5GHz", "min_freq of policy4 cannot be 2.5 GHz"},
		{"max_freq=2GHz min_freq@policy4=2.5GHz", "min_freq of policy4 cannot be 2.5 GHz"},
		{"max_freq@policy4=2GHz max_freq=3GHz min_freq=2.5GHz", ""}, // the last word counts
		{"max_freq=2GHz min_freq=2GHz", ""},
		{"max_freq=2GHz min_freq=60%", ""}, // of what is not known
		{"max_freq=60% min_freq=min", ""},
		{"thp=neverr", `thp: "neverr": expected always, madvise, never; did you mean never?`},
		{"thp_defrag=bla", `thp_defrag: "bla": expected`},
		{"governor=bla", `governor: "bla": expected performance`},
		{"governor@policy0=bla", `governor of policy0: "bla"`},
		{"platform_profile=foo", `platform_profile: "foo": expected`},
		{"io_scheduler@sda=nonne", `io_scheduler of sda: "nonne"`},
		{"epp=fast", `epp: "fast": expected`},
		{"swappiness@sda=10", "swappiness@sda: swappiness has one value for the whole machine; leave out @sda"},
		{"smt@cpu1=off", "smt@cpu1: smt has one value"},
		{"swappines=10", "swappines: there is no such setting; did you mean swappiness?"},
		{"swappiness=", "swappiness: no value"},
		{"clocksource=kvm-clock io_scheduler=noop governor=schedutil boost@policy1=off cpu_online@cpu3=off epb@cpu0=0", ""},
	} {
		var want []Assignment
		for _, text := range strings.Fields(c.want) {
			left, value, _ := strings.Cut(text, "=")
			name, object, _ := strings.Cut(left, "@")
			want = append(want, Assignment{name, object, value})
		}
		_, err := Offline(want)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.want, err, c.err)
		}
	}
	got := testkit.Must(Offline([]Assignment{{"smt", "", "no"}, {"max_freq", "policy1", "2.4GHz"}, {"max_freq", "", "60 %"}}))(t)
	testkit.Same(t, []Assignment{{"smt", "", "off"}, {"max_freq", "policy1", "2400000"}, {"max_freq", "", "60%"}}, got)
}
