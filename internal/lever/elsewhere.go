package lever

// firmware is who sets what a machine without a hypervisor has no knob for.
const firmware = "the firmware"

// owner says who sets a lever whose knob is not on this host; "" where it is here, or
// where that is not known.
func (in *input) owner(name string) string {
	hv, known := in.facts.Virt.Hypervisor.Get()
	guest := known && hv != "none" && hv != ""
	switch name {
	case Clock:
		if held := in.held(); held != nil && held.by != "" {
			return held.by
		}
		if in.hasFrequencyKnob() {
			return ""
		}
	case Idle:
		// A guest's own states, as haltpoll's, only hand the CPU back to the hypervisor.
		deep := in.deepest()
		if in.facts.Windows != nil || deep != nil && deep.Latency.Or(0) > deepLatency || !guest &&
			len(in.facts.Idle.States) > 0 {
			return ""
		}
	default:
		return ""
	}
	switch {
	case guest:
		return "the owner of the " + hv + " hypervisor"
	case known:
		return firmware
	}
	return ""
}

// elsewhere says of a lever who sets it, where this host does not. What nobody here can
// move is not left undecided here either.
func (in *input) elsewhere(l *draft) {
	l.owner = in.owner(l.name)
	switch {
	case l.owner == "" || !l.reason.open() && l.reason != Untested:
		return
	case l.reason == Untested && len(l.blind) > 0:
		return // a knob may be here, and hidden
	case l.reason == Untested:
		l.checks = ""
		l.decide(Elsewhere, in.ask(l), notMeasured(l.unmeasured))
	default:
		l.doubt = l.reason
		l.decide(Elsewhere, in.ask(l), l.text)
	}
}

// ask is the next step with a lever that is set elsewhere.
func (in *input) ask(l *draft) Next {
	what := map[string]string{Clock: "under which power policy its CPUs run",
		Idle: "which idle states its CPUs may enter"}
	if l.owner == firmware {
		what = map[string]string{Clock: "power profile", Idle: "idle states (C-states)"}
		return Next{Note: "look at the " + what[l.name] + " in the firmware's setup"}
	}
	return Next{Note: "ask " + l.owner + " " + what[l.name]}
}
