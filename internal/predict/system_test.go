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
			strings.Index(page.String(), ">Linux schedutil"); answer < 0 || at < answer {
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
