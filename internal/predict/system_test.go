package predict_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

// facts are those of a machine of four CPUs with a driver and its governors; without a driver it hides its clock.
func facts(driver, governor, governors, epp, hypervisor string) *host.Facts {
	f := &host.Facts{}
	f.Topology.Threads, f.Topology.Cores, f.Topology.Sockets = host.Known(4, "", ""), host.Known(4, "", ""),
		host.Known(1, "", "")
	f.Virt.Hypervisor = host.Known(hypervisor, "", "")
	if driver == "" {
		return f
	}
	p := host.Policy{Driver: host.Known(driver, "", ""), Governor: host.Known(governor, "", ""),
		Governors: host.Known(governors, "", ""),
		HWMin:     host.Known[int64](1e9, "Hz", ""), HWMax: host.Known[int64](2e9, "Hz", "")}
	if epp != "" {
		p.EPP = host.Known(epp, "", "")
	}
	f.Frequency.Policies = []host.Policy{p}
	return f
}

// A host is answered with the policies of its own system: those that its driver has, first the one in force.
func TestPoliciesOfTheSystem(t *testing.T) {
	windows := facts("", "", "", "", "none")
	windows.Windows = &host.Windows{}
	all := "performance powersave schedutil ondemand conservative userspace"
	for name, c := range map[string]struct {
		facts    *host.Facts
		all      bool
		want     string
		baseline string
	}{
		"schedutil": {facts("acpi-cpufreq", "schedutil", all, "", "none"), false,
			"schedutil ondemand conservative powersave", "performance"},
		"ondemand": {facts("acpi-cpufreq", "ondemand", all, "", "none"), false,
			"ondemand schedutil conservative powersave", "performance"},
		"two governors": {facts("acpi-cpufreq", "performance", "performance schedutil", "", "none"), false, "schedutil",
			"performance"},
		"intel_pstate": {facts("intel_pstate", "powersave", "performance powersave", "", "none"), false,
			"intel_pstate schedutil ondemand", "performance"},
		"hwp": {facts("intel_pstate", "powersave", "performance powersave", "balance_performance", "none"),
			false, "hwp schedutil ondemand", "performance"},
		"amd": {facts("amd-pstate-epp", "powersave", "performance powersave", "power", "none"), false,
			"amd-pstate-epp schedutil ondemand", "performance"},
		"guest": {facts("", "", "", "", "kvm"), false, "schedutil ondemand conservative powersave", "performance"},
		"all of Linux": {facts("", "", "", "", "kvm"), true,
			"schedutil ondemand conservative powersave balanced-rs1 balanced-rs2 power-saver", "performance"},
		"Windows":        {windows, false, "balanced-rs1 balanced-rs2 power-saver", "high-performance"},
		"all of Windows": {windows, true, "balanced-rs1 balanced-rs2 power-saver schedutil ondemand conservative powersave", "high-performance"},
		"no system":      {nil, false, "balanced-rs1 balanced-rs2 power-saver ondemand schedutil", "high-performance"},
	} {
		m := predict.Machine{}
		if c.facts != nil {
			var err error
			if m, err = predict.FromFacts(c.facts, "test"); err != nil {
				t.Fatal(err)
			}
		}
		list := predict.DefaultPolicies(m, c.all)
		testkit.Is(t, c.want, strings.Join(list, " "), name)
		testkit.Is(t, c.baseline, predict.DefaultBaseline(parse(t, list[0]), m), name, "baseline")
		if got := predict.DefaultBaseline(parse(t, "balanced"), m); got != "high-performance" {
			t.Errorf("%s: beside a plan the baseline is %s", name, got)
		}
	}
	for _, name := range model.PolicyNames() {
		if p := parse(t, strings.Replace(name, "PERCENT", "50", 1)); p.System() == "" != strings.HasPrefix(name, "fixed") {
			t.Errorf("%s is of %q", name, p.System())
		}
	}
}

// A guest without cpufreq hears first that the hypervisor's host decides, and what to ask there.
func TestHostDecides(t *testing.T) {
	for hypervisor, ask := range map[string]string{"kvm (Firecracker)": "scaling_governor",
		"hyper-v": "powercfg /getactivescheme", "vmware": "Power Management", "bhyve": "for performance"} {
		m := testkit.Must(predict.FromFacts(facts("", "", "", "", hypervisor), "test"))(t)
		q := question(t, "sap", "sap-dialog", []string{"schedutil"}, []float64{0.1})
		q.Machine, q.Options.Replications, q.Options.Steps = m, 2, 100
		a := testkit.Must(predict.Ask(context.Background(), q, nil))(t)
		var text, page, doc bytes.Buffer
		testkit.OK(t, errors.Join(document.WriteText(&text, a.Document(), document.TextOptions{Width: 80}),
			document.WriteHTML(&page, a.Document()), document.WriteJSON(&doc, a.Data())))
		begin := "The hypervisor's host decides: this is a guest of " + hypervisor + ","
		if said, _, _ := strings.Cut(text.String(), "\n\n"); !strings.Contains(strings.ReplaceAll(said, "\n", " "), begin) ||
			!strings.Contains(strings.Join(strings.Fields(text.String()), " "), ask) {
			t.Errorf("the text begins with %.100q", text.String())
		}
		if strings.Contains(page.String(), "Linux schedutil (schedutil)") {
			t.Error("the policy has its name twice")
		}
		if at, answer := strings.Index(page.String(), template.HTMLEscapeString(begin)),
			strings.Index(page.String(), ">Under Linux schedutil"); answer < 0 || at < answer {
			t.Errorf("the page says it at %d, the answer at %d", at, answer)
		}
		var d struct {
			HostDecides *predict.HostDecides `json:"host_decides"`
		}
		testkit.OK(t, json.Unmarshal(doc.Bytes(), &d))
		if d.HostDecides == nil || !slices.ContainsFunc(d.HostDecides.Ask,
			func(s string) bool { return strings.Contains(s, ask) }) ||
			bytes.Index(doc.Bytes(), []byte(`"host_decides"`)) > bytes.Index(doc.Bytes(), []byte(`"answer"`)) {
			t.Errorf("%.200s", doc.Bytes())
		}
	}
	for name, f := range map[string]*host.Facts{"bare": facts("", "", "", "", "none"),
		"with cpufreq": facts("acpi-cpufreq", "ondemand", "ondemand", "", "kvm")} {
		if m, err := predict.FromFacts(f, "test"); err != nil || m.HostDecides != nil {
			t.Errorf("%s: %v, %v", name, m.HostDecides, err)
		}
	}
}

// The policy in force is that of the model, whatever the driver calls it.
func TestInForce(t *testing.T) {
	for _, c := range []struct{ driver, governor, want string }{
		{"acpi-cpufreq", "ondemand", "ondemand"}, {"acpi-cpufreq", "powersave", "powersave"},
		{"acpi-cpufreq", "userspace", ""},
		{"intel_pstate", "powersave", "intel_pstate"}, {"intel_pstate", "performance", "performance"},
		{"amd-pstate-epp", "powersave", "amd-pstate-epp"},
	} {
		p := host.Policy{Driver: host.Known(c.driver, "", ""), Governor: host.Known(c.governor, "", ""),
			Governors: host.Known("performance powersave ondemand userspace", "", "")}
		f := &host.Facts{}
		f.Topology.Threads, f.Frequency.Policies = host.Known(2, "", ""), []host.Policy{p}
		if m, err := predict.FromFacts(f, "it"); err != nil || m.InForce != c.want {
			t.Errorf("%s, %s: %q, want %q (%v)", c.driver, c.governor, m.InForce, c.want, err)
		}
	}
}

// TestTemplates holds that what --show prints can be read, and says nothing false.
func TestTemplates(t *testing.T) {
	m := testkit.Must(predict.ReadMachine("host.toml", []byte(predict.MachineTemplate)))(t)
	if len(m.Assumptions) != 0 || m.CPUs() != 32 || m.Domain != model.PerCore || len(m.Turbo) != 2 ||
		len(m.IdleStates) != 2 {
		t.Errorf("%+v", m)
	}
	w := testkit.Must(predict.ReadWorkload("w.toml", strings.NewReader(predict.WorkloadTemplate), true))(t)
	if !w.Open() || w.Slices != 3 || w.Slice.Mean != 0.06 || w.MemoryShare != 0.1 {
		t.Errorf("%+v", w)
	}
	for name, text := range map[string]string{"host": predict.MachineTemplate, "workload": predict.WorkloadTemplate} {
		for i, l := range strings.Split(text, "\n") {
			if len(l) > 90 {
				t.Errorf("%s template, line %d is %d wide", name, i+1, len(l))
			}
		}
	}
}

const small = "sockets = 1\ncores_per_socket = 4\nnominal = 2e9\npstates = [1e9, 2e9]\n"

func TestReadMachine(t *testing.T) {
	m := testkit.Must(predict.ReadMachine("dir/small.toml", []byte(small)))(t)
	if m.Name != "small" || m.Domain != model.PerThread || len(m.Assumptions) != 3 {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", small + "soket = 1\n", `h.toml:5:1: unknown key "soket"; did you mean sockets?`},
		{"two unknown", small + "a = 1\nb = 2\n", `h.toml:5:1: unknown key "a" (and 1 more)`},
		{"unknown in a table", small + "[power]\ncore_wats = 2\n",
			`h.toml:6:1: unknown key "core_wats"; did you mean core_watts?`},
		{"unknown in a list", small + "[[turbo]]\nactive_core = 2\n",
			`h.toml:6:1: unknown key "active_core"; did you mean active_cores?`},
		{"type", strings.Replace(small, "= 1\n", "= 'x'\n", 1),
			"h.toml:1:11: sockets takes a whole number, not a text in quotes"},
		{"no TOML", "sockets == 1", "h.toml:1:10: not TOML:"},
		{"twice", small + "sockets = 2\n", "h.toml:5:1: not TOML:"},
		{"missing", "sockets = 1\n", "h.toml: cores_per_socket is missing; 'hostlab predict --show host'"},
		{"empty", "", "h.toml: sockets is missing"},
		{"no sockets", strings.Replace(small, "= 1\n", "= 0\n", 1), "h.toml:1: sockets is 0; it must be 1 to 256"},
		{"too many CPUs", "sockets = 200\ncores_per_socket = 1000\nnominal = 2e9\npstates = [2e9]\n",
			"sockets x cores_per_socket x threads_per_core is 200000"},
		{"no P-states", strings.Replace(small, "[1e9, 2e9]", "[]", 1), "h.toml:4: pstates is empty"},
		{"unsorted", strings.Replace(small, "[1e9, 2e9]", "[2e9, 1e9]", 1),
			"h.toml:4: pstates[1] is 1.00 GHz, not above pstates[0], 2.00 GHz"},
		{"not Hz", strings.Replace(small, "[1e9, 2e9]", "[1.0, 2.0]", 1),
			"h.toml:4: pstates[0] is 1.00 Hz; it must be 10.0 MHz to 20.0 GHz"},
		{"NaN", strings.Replace(small, "2e9\n", "nan\n", 1), "h.toml:3: nominal is NaN; it must be"},
		{"infinite", strings.Replace(small, "2e9\n", "inf\n", 1), "h.toml:3: nominal is +Inf; it must be"},
		{"domain", small + "domain = 'chip'\n", `h.toml:5: domain is "chip"; it must be thread, core or socket`},
		{"turbo", small + "[[turbo]]\nactive_cores = 9\nhz = 3e9\n",
			"h.toml:6: turbo[0].active_cores is 9; it must be 1 to 4"},
		{"idle", small + "[[idle_states]]\nexit_latency = -1.0\n", "h.toml:6: idle_states[0].exit_latency is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := predict.ReadMachine("h.toml", []byte(c.text)); err == nil ||
				!strings.HasPrefix(err.Error(), strings.Split(c.want, "~")[0]) && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nexpected %s", err, c.want)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestReadWorkload(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "w.toml: slice is missing"},
		{"no unit", "slice = '60'\n", `w.toml:1:9: slice: "60" has no unit; write 60ms or 60s`},
		{"a number", "slices = 2\nslice = 60\n", `w.toml: "60" has no unit; write 60ms or 60s`},
		{"zero", "slice = '0s'\n", "w.toml:1: slice: the mean is 0 s; it must be at least 1 us"},
		{"negative", "slice = '-5ms'\n", "w.toml:1:9: slice: -5ms: the mean is -0.005 s"},
		{"no slices", "slice = '5ms'\nslices = 0\n", "w.toml:2: slices is 0; it must be 1 to 10000"},
		{"kind", "slice = '5ms'\nkind = 'dialogue'\n", `w.toml:2: kind is "dialogue"; it must be dialog, batch, query or commit`},
		{"key", "slice = '5ms'\nmemory = 2\n", `w.toml:2:1: unknown key "memory"`},
		{"near key", "slice = '5ms'\nslicess = 2\n", `w.toml:2:1: unknown key "slicess"; did you mean slices?`},
		{"memory", "slice = '5ms'\nmemory_share = 2\n", "w.toml:2: memory_share is 2; it must be 0 to 1"},
		{"NaN", "slice = '5ms'\nmemory_share = nan\n", "w.toml:2: memory_share is NaN; it must be 0 to 1"},
		{"batch", "slice = '5ms'\nkind = 'batch'\nusers = 1\n", "w.toml: work is 0 s; it must be 0.001 to 1000000 s"},
		{"record", "{\n", "w.toml: line 1: not a record of bursts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := predict.ReadWorkload("w.toml", strings.NewReader(c.text), true); err == nil ||
				!strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\nexpected %s", err, c.want)
			}
		})
	}
}

func FuzzReadMachine(f *testing.F) {
	f.Add([]byte(predict.MachineTemplate))
	f.Add([]byte(small + "x.y = 1\n[[a]]\nb=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := predict.ReadMachine("h.toml", data)
		if err == nil {
			err = m.Validate()
		} else if strings.Contains(err.Error(), "goroutine") {
			t.Error(err)
		} else {
			return
		}
		if err != nil {
			t.Errorf("a machine that was read is invalid: %v", err)
		}
	})
}

func FuzzReadWorkload(f *testing.F) {
	f.Add([]byte(predict.WorkloadTemplate))
	f.Add([]byte("slice = 'values 5ms 6ms'\nusers = 3\nthink='exp 1s'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := predict.ReadWorkload("w.toml", bytes.NewReader(data), true)
		if err == nil {
			if err := w.Validate(); err != nil {
				t.Errorf("a workload that was read is invalid: %v", err)
			}
		}
	})
}
