package check

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

// What settings say that checks advise is advice of a check that there is, in a value that can be set.
func TestAdviceOfSettings(t *testing.T) {
	n := 0
	for _, s := range setting.All() {
		for id, value := range s.Advice {
			n++
			if _, err := s.Spell(value); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
			if c, err := Find(id); err != nil || c.advise != nil || c.goals != nil || c.left != "" {
				t.Errorf("%s names %s, which is no check without another answer", s.Name, id)
			}
		}
	}
	if n < 11 {
		t.Errorf("only %d settings are advised", n)
	}
}

// TestAdviceIsTheRemedy holds that what is advised to set is what the check's own command does.
func TestAdviceIsTheRemedy(t *testing.T) {
	words := map[string]string{"on": "", "max": "cpuinfo_max_freq", "70us": "70"} // as commands write them
	advised := 0
	for _, c := range allCases() {
		res := c.run(t)
		if res.Status != Finding {
			continue
		}
		role := cmp.Or(c.role, ProductionDB)
		list, rest := Advise(c.facts0(), role, []Result{res}, Info)
		if len(list) == 0 && len(rest) != 1 {
			t.Errorf("%s, %s: neither advice nor left to a person", c.id, c.name)
		}
		for _, a := range list {
			advised++
			want := a.Value
			if w, ok := words[want]; ok {
				want = w
			}
			if !strings.Contains(res.Remedy, want) || a.Object != "" && !strings.Contains(res.Remedy, a.Object) {
				t.Errorf("%s, %s: advises %+v, and its remedy is %q", c.id, c.name, a, res.Remedy)
			}
			s, known := setting.Find(a.Name)
			switch {
			case !known:
				t.Errorf("%s is no setting", a.Name)
			case s.Effect == "" && !s.Limit:
				t.Errorf("%s is advised, and neither a limit nor has it an Effect: what else does a change of it do?", s.Name)
			case !strings.Contains(res.Remedy, s.Effect):
				t.Errorf("%s, %s: the remedy does not say that %s: %q", c.id, c.name, s.Effect, res.Remedy)
			}
		}
	}
	if advised < 20 {
		t.Errorf("only %d of the cases give advice", advised)
	}
}

func TestRecommended(t *testing.T) {
	testkit.Is(t, 0, len(Recommended(&host.Facts{}, Development, nil)), "a development system is told to set")
	db := map[string]string{}
	for _, a := range Recommended(&host.Facts{}, ProductionDB, nil) {
		db[a.Name] = a.Value
	}
	for name, want := range map[string]string{"governor": "performance", "io_scheduler": "none", "swappiness": "10",
		"aio_max_nr": ""} {
		testkit.Is(t, want, db[name], name)
	}
	if list, _ := Advise(&host.Facts{}, ProductionDB, nil, Low); len(list) != 0 {
		t.Errorf("no findings, and yet advice %v", list)
	}
}

// A profile is for the host's own disks, leaves those that rotate, and lowers no limit.
func TestRecommendedForAHost(t *testing.T) {
	f := &host.Facts{Block: []host.BlockDevice{disk("nvme0n1", host.ClassNVMe, "[none] mq-deadline", 0, 128),
		disk("sda", host.ClassDisk, "[mq-deadline] none", 0, 128), disk("sdb", host.ClassSSD, "[mq-deadline] none", 0, 128)}}
	f.Databases = []host.Database{{Kind: "hana"}, {Kind: "oracle"}}
	f.Memory.MaxMapCount, f.Kernel.AIOMaxNr = known[int64](2147483647, "x"), known[uint64](math.MaxUint64, "x")
	f.Kernel.Sem = known([]int{1, 1<<31 - 1, 1, 1}, "x")
	got := map[string]string{}
	for _, role := range []Role{ProductionDB, ProductionApp} {
		for _, a := range Recommended(f, role, nil) {
			got[a.Name+"@"+a.Object] = a.Value
		}
	}
	for name, want := range map[string]string{"io_scheduler@nvme0n1": "none", "io_scheduler@sdb": "none",
		"io_scheduler@sda": "", "io_scheduler@": "",
		"max_map_count@": "2147483647", "aio_max_nr@": "18446744073709551615", "sem@": "32000 2147483647 500 32000"} {
		testkit.Is(t, want, got[name], name)
	}
}

// Every setting is advised by a check, by its own data or in one of the cases. Those that no
// check judges stand here, so that one without advice is meant to have none.
func TestEverySettingIsAdvised(t *testing.T) {
	none := []string{"min_freq", "pm_qos_resume_latency_us", "cpu_dma_latency", "dirty_background_ratio", "dirty_ratio",
		"nomerges", "nr_requests", "min_perf_pct", "read_ahead_kb", "cpu_online", "smt", "irq_affinity"}
	advised := map[string]bool{}
	for _, c := range allCases() {
		list, _ := Advise(c.facts0(), cmp.Or(c.role, ProductionDB), []Result{c.run(t)}, Info)
		for _, a := range list {
			advised[a.Name] = true
		}
	}
	for _, s := range setting.All() {
		if advised[s.Name] == slices.Contains(none, s.Name) {
			t.Errorf("%s is advised: %v; put its advice into its value or the check's, or its name into the list of those "+
				"without", s.Name, advised[s.Name])
		}
	}
}

// What a profile holds for a role is what the check says: no finding of this host that a program may set is left out of
// it, and no other value stands in it. Values that hold for one host alone (ofOneHost) are left out of a profile for its kind.
func TestProfileDoesWhatTheCheckSays(t *testing.T) {
	ofOneHost := []string{"pid_max", "aio_max_nr", "max_map_count", "max_freq", "uncore_max_freq", "clocksource",
		"io_timeout", "nvme_io_timeout", "io_scheduler",
		"governor", "epp", "max_perf_pct", "power_scheme", "tcp_max_slot_table_entries", "tcp_rmem",
		"tcp_wmem"} // the last two: the first two sizes stay as they are here
	seen := 0
	for _, c := range allCases() {
		role, f, res := cmp.Or(c.role, ProductionDB), c.facts0(), c.run(t)
		if res.Severity < Low {
			continue
		}
		profile := map[string]string{}
		for _, a := range Recommended(f, role, nil) {
			profile[a.Name] = a.Value
		}
		advised, _ := Advise(f, role, []Result{res}, Low)
		for _, a := range advised {
			if slices.Contains(ofOneHost, a.Name) {
				continue
			}
			if seen++; profile[a.Name] != a.Value {
				t.Errorf("%s, %s: the check has %s=%s, and a profile %q", c.id, c.name, a.Name, a.Value, profile[a.Name])
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d settings are compared", seen)
	}
}

// A profile for HANA and SQL Server leaves alone what the check does not judge for them, and knows the system's
// release.
func TestRecommendedKnowsTheServer(t *testing.T) {
	for _, c := range []struct {
		os   string
		kind string
		want map[string]string // "": not in the profile
	}{
		{"SUSE Linux Enterprise Server 15 SP4", "hana",
			map[string]string{"thp": "never", "dirty_bytes": "", "pid_max": "4194304", "tcp_max_syn_backlog": "8192",
				"tcp_keepalive_time": "300", "tcp_slow_start_after_idle": "0", "panic_on_oops": "", "clocksource": "",
				"numa_balancing": "0"}},
		{"SUSE Linux Enterprise Server 15 SP5", "hana", map[string]string{"thp": "madvise"}},
		{"Ubuntu 24.04 LTS", "sqlserver", map[string]string{"thp": "always", "dirty_bytes": "", "max_map_count": "1600000",
			"rmem_max": "4194304"}},
		{"Oracle Linux Server 9.4", "oracle", map[string]string{"panic_on_oops": "1", "file_max": "6815744",
			"ip_local_port_range": "9000 65499", "dirty_bytes": "629145600"}},
		{"Debian GNU/Linux 12", "postgresql", map[string]string{"max_map_count": "", "pid_max": "", "aio_max_nr": "",
			"file_max": "", "numa_balancing": "", "dirty_bytes": "629145600"}},
	} {
		f := &host.Facts{Databases: []host.Database{{Kind: c.kind}}}
		f.Identity.OS = known(c.os, "/etc/os-release")
		got := map[string]string{}
		for _, a := range Recommended(f, ProductionDB, nil) {
			got[a.Name] = a.Value
		}
		for name, want := range c.want {
			testkit.Is(t, want, got[name], c.kind, "on", c.os, name)
		}
	}
}

// A profile for hosts like this one keeps what the checks accept here, whoever has set it.
func TestProfileKeepsWhatIsAccepted(t *testing.T) {
	pg := func(set func(m *host.Memory)) func(*host.Facts) { return also(serving("postgresql"), mem(set)) }
	for name, c := range map[string]struct {
		facts func(*host.Facts)
		want  map[string]string // "": not in the profile
	}{
		"swappiness of tuned mssql": {swapping(1, 8*gib), map[string]string{"swappiness": "1"}},
		"swappiness of the kernel":  {swapping(60, 8*gib), map[string]string{"swappiness": "10"}},
		"swappiness without swap":   {swapping(60, 0), map[string]string{"swappiness": ""}},
		"tuned postgresql": {also(serving("postgresql"), dirty(64*gib, 536870912, 67108864, 0, 0)),
			map[string]string{"dirty_bytes": "536870912", "dirty_background_bytes": "67108864"}},
		"shares of a small memory": {also(serving("postgresql"), dirty(4*gib, 0, 0, 20, 10)),
			map[string]string{"dirty_bytes": "", "dirty_background_bytes": ""}},
		"shares of a large memory": {also(serving("postgresql"), dirty(64*gib, 0, 0, 20, 10)),
			map[string]string{"dirty_bytes": "629145600", "dirty_background_bytes": "314572800"}},
		"THP off": {pg(func(m *host.Memory) {
			m.THPEnabled = pick("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
		}), map[string]string{"thp": "never"}},
		"one of three times": {with("hana", func(f *host.Facts) {
			f.Network.KeepaliveTime, f.Network.KeepaliveIntvl = known[int64](7200, "t"), known[int64](10, "i")
		}), map[string]string{"tcp_keepalive_time": "300", "tcp_keepalive_intvl": "10", "tcp_keepalive_probes": "9"}},
		"Oracle": {also(serving("oracle"), segmentLimit(128), semaphores(1, 1, 1, 1)),
			map[string]string{"shmmni": "4096", "sem": "250 32000 100 128"}},
		"HANA": {also(serving("hana"), segmentLimit(128), semaphores(1, 1, 1, 1)),
			map[string]string{"shmmni": "32768", "sem": "32000 1024000000 500 32000"}},
		"an SSD, for PostgreSQL": {also(serving("postgresql"),
			drives("none", disk("sda", host.ClassSSD, "[mq-deadline] none", 0, 128))), map[string]string{"io_scheduler": ""}},
	} {
		f, got := &host.Facts{}, map[string]string{}
		c.facts(f)
		for _, a := range Recommended(f, ProductionDB, nil) {
			got[a.Name] = a.Value
		}
		for setting, want := range c.want {
			testkit.Is(t, want, got[setting], name, setting, "in the profile")
		}
	}
}

// No case in which a check is content has its value replaced by a profile.
func TestNoProfileReplacesAnAcceptedValue(t *testing.T) {
	compared := 0
	for _, c := range allCases() {
		role, res := cmp.Or(c.role, ProductionDB), c.run(t)
		if res.Status != OK {
			continue
		}
		f := c.facts0()
		ck := testkit.Must(Find(c.id))(t)
		own := ck.advised(&host.Facts{Databases: f.Databases, Apps: f.Apps, Identity: f.Identity, Data: f.Data,
			Storage: f.Storage}, role)
		for _, a := range Recommended(f, role, nil) {
			s, known := setting.Find(a.Name)
			mine := slices.ContainsFunc(own, func(o setting.Assignment) bool { return o.Name == a.Name })
			if !known || !mine || s.Limit || len(s.Files) != 1 { // limits are only raised
				continue
			}
			for _, e := range res.Evidence {
				if e.Path != s.Files[0] || a.Object != "" {
					continue
				}
				value := strings.TrimSuffix(e.Value, " s")
				value, _, _ = strings.Cut(value, " B (")
				if _, chosen, is := strings.Cut(e.Value, "["); is {
					value, _, _ = strings.Cut(chosen, "]")
				}
				if compared++; value != a.Value {
					t.Errorf("%s, %s: a profile has %s, and the host's %s is accepted", c.id, c.name, a, e.Value)
				}
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d values are compared", compared)
	}
}

// Of every limit it is known what the host has, so that none is lowered.
func TestEveryLimitIsRead(t *testing.T) {
	f := &host.Facts{}
	for _, v := range []reflect.Value{reflect.ValueOf(&f.Memory).Elem(), reflect.ValueOf(&f.Kernel).Elem(),
		reflect.ValueOf(&f.Network).Elem()} {
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.Struct {
				continue
			}
			if state := v.Field(i).FieldByName("State"); state.IsValid() {
				state.SetString(string(host.StateOK))
			}
		}
	}
	f.Kernel.Sem, f.Network.TCPRmem, f.Network.TCPWmem = known([]int{1, 2, 3, 4}, "x"), known([]int{1, 2, 3}, "x"),
		known([]int{1, 2, 3}, "x")
	for _, s := range setting.All() {
		if s.Limit && f.AsRead(s.Files[0]) == "" {
			t.Errorf("%s may be lowered: no fact of memory, kernel or network has the tag read:%q", s.Name, s.Files[0])
		}
	}
}

// Each setting that some check advises is excused with that check, whether its advice depends on the host or not.
func TestAdvises(t *testing.T) {
	for _, want := range []struct {
		check, setting string
		is             bool
	}{{"PWR-001", "governor", true}, {"MEM-006", "swappiness", true}, {"MEM-001", "thp", true},
		{"MEM-006", "governor", false}} {
		c := testkit.Must(Find(want.check))(t)
		testkit.Is(t, want.is, c.Advises(want.setting), want.check, "advises", want.setting)
	}
	for _, s := range setting.All() {
		for id := range s.Advice {
			if c, err := Find(id); err != nil || !c.Advises(s.Name) {
				t.Errorf("%s does not advise %s, which names it", id, s.Name)
			}
		}
	}
}
