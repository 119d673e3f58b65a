package predict

import (
	"cmp"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/model"
)

// Policies that are compared when none is asked for, by the system that has them.
var (
	windowsPolicies = []string{"balanced-rs1", "balanced-rs2", "power-saver"}
	linuxPolicies   = []string{"schedutil", "ondemand", "conservative", "powersave"}
)

// DefaultPolicies are compared on a machine when none is asked for: those of its system, the one in
// force first; with all those of the other one too. Of a machine without a known system, which the
// published ones are, the Windows plans of the published measurements and two governors.
func DefaultPolicies(m Machine, all bool) []string {
	switch {
	case m.System == model.Linux && all:
		return slices.Concat(m.offered, windowsPolicies)
	case m.System == model.Linux:
		return m.offered
	case m.System == model.Windows && !all:
		return windowsPolicies
	case all:
		return slices.Concat(windowsPolicies, linuxPolicies)
	}
	return append(slices.Clone(windowsPolicies), "ondemand", "schedutil")
}

// DefaultBaseline is what ratios are to when nothing is asked for: full speed, by the name that the
// first policy's system has for it.
func DefaultBaseline(first model.Policy, m Machine) string {
	system := cmp.Or(first.System(), m.System)
	if system == model.Linux {
		return "performance"
	}
	return "high-performance"
}

// system notes whose policies the host has, and whether it has any say in them.
func (r *reader) system() {
	r.System = model.Linux
	if r.f.Windows != nil {
		r.System = model.Windows
	}
	if v, ok := r.f.Virt.Technology(); ok && v != "none" && len(r.f.Frequency.Policies) == 0 {
		r.HostDecides = &HostDecides{Hypervisor: r.f.Virt.Hypervisor.Value, Ask: questions(v)}
	}
	r.offered = linuxPolicies
	if len(r.f.Frequency.Policies) > 0 {
		r.offered = offered(r.f.Frequency.Policies[0])
		r.InForce = inForce(r.f.Frequency.Policies[0])
	}
}

// offered are the modelled policies that a driver has, the one in force first.
func offered(p host.Policy) (list []string) {
	driver, now := p.Driver.Or(""), p.Governor.Or("")
	switch hardware := p.EPP.State == host.StateOK; {
	case driver == "amd-pstate-epp":
		return []string{"amd-pstate-epp", "schedutil", "ondemand"} // the hardware's own has only bounds
	case driver == "intel_pstate" && hardware:
		return []string{"hwp", "schedutil", "ondemand"}
	case driver == "intel_pstate": // its powersave is no lowest frequency
		return []string{"intel_pstate", "schedutil", "ondemand"}
	}
	has := strings.Fields(p.Governors.Or(""))
	for _, name := range linuxPolicies {
		switch {
		case name == now:
			list = slices.Insert(list, 0, name)
		case slices.Contains(has, name):
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return linuxPolicies
	}
	return list
}

// inForce is the modelled policy that a driver follows now; "" where it is none of them.
func inForce(p host.Policy) string {
	switch now := p.Governor.Or(""); {
	case now == "performance":
		return now
	case now != "" && slices.Contains(offered(p), now) && (p.Driver.Or("") != "intel_pstate" || now != "powersave"):
		return now
	case now == "powersave": // of a driver that sets its clock itself
		return offered(p)[0]
	}
	return ""
}

// HostDecides is a guest that has no say in its clock.
type HostDecides struct {
	Hypervisor string   `json:"hypervisor"`
	Ask        []string `json:"ask"` // of the owner of the hypervisor's host
}

// Text says so, and what follows from it.
func (h *HostDecides) Text() string {
	return h.brief() + " Ask the host's owner the questions below. The figures say what the host's policy may cost here."
}

func (h *HostDecides) brief() string {
	return "The hypervisor's host decides: this is a guest of " + h.Hypervisor +
		", and no policy set here changes its clock."
}

// questions are what to ask the owner of a hypervisor's host.
func questions(hypervisor string) []string {
	first := "Which power policy sets the CPU clock of that host? The one for performance keeps the clock high."
	switch hypervisor {
	case "kvm", "qemu", "xen":
		first = "Which governor does that host use (cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; with Xen: xenpm " +
			"get-cpufreq-para)? performance keeps the clock high."
	case "hyper-v":
		first = "Which power plan does that host use (powercfg /getactivescheme)? High performance keeps the clock high."
	case "vmware":
		first = "Which power policy does that host use (vSphere Client: Configure, Hardware, Overview, Power Management)? " +
			"High performance keeps the clock high."
	}
	return []string{first,
		"Does its firmware leave the clock to the operating system, or does a firmware power profile save energy?",
		"Are this guest's CPUs shared with other guests, or capped? Stolen CPU time looks like a slow clock; 'hostlab watch' shows " +
			"it as steal."}
}
