package lever

// Reason says why a verdict is what it is.
type Reason string

// The reasons. Those from Spoilt on leave a measurement undecided.
const (
	BoundedHere Reason = "bounded"       // a share of the service's time bounds it
	NotSeen     Reason = "not_seen"      // nothing of the service's time shows it
	FewSamples  Reason = "few_samples"   // too few moments of the service were seen
	Costs       Reason = "costs"         // a cost was measured here, beyond noise and margin
	NoEffect    Reason = "no_effect"     // measured here, too small to matter
	Recommended Reason = "recommended"   // a source recommends it; its gain was not measured here
	Settled     Reason = "settled"       // checked, and already as it should be
	Untested    Reason = "untested"      // neither probes nor checks could look
	OtherRole   Reason = "other_role"    // a cost is here that this role should bear
	Elsewhere   Reason = "set_elsewhere" // nothing on this host sets it; Owner says who does
	NoSiblings  Reason = "no_siblings"   // no two CPUs share a core

	Spoilt      Reason = "disturbed"    // others worked meanwhile
	Evicted     Reason = "evicted"      // others may have emptied the caches meanwhile
	Inverted    Reason = "inverted"     // faster after the pause: a broken measurement, or a CPU that was throttled
	Slight      Reason = "slight"       // the cost may be less than the margin
	TooFew      Reason = "too_few"      // rounds for an interval
	Unfloored   Reason = "no_floor"     // there is no noise floor
	Rising      Reason = "rising"       // the reference was still getting faster
	WithinNoise Reason = "within_noise" // the noise is as large as the cost
	IncludesOne Reason = "includes_one" // the interval includes no effect
	Diluted     Reason = "diluted"      // others had the CPU in pauses, so that a cost may be larger than it looks
	NoControl   Reason = "no_control"   // something to compare with is missing
	NoCause     Reason = "no_cause"     // a cost whose cause is not known
	Capped      Reason = "capped"       // a clock that is always low shows nothing here
	OfJob       Reason = "of_job"       // it depends on what the job waits for
	InMemory    Reason = "in_memory"    // the log directory is in memory, which forgets
	Implausible Reason = "implausible"  // CPUs did more than they can
)

// verdict is what follows from a reason; of an undecided measurement, by whether it leaves a bound.
func (r Reason) verdict(bounded bool) Verdict {
	switch r {
	case Costs:
		return Worthwhile
	case Recommended:
		return Possible
	case NoEffect, Settled:
		return Negligible
	case OtherRole, Elsewhere, NoSiblings:
		return NotHere
	}
	if bounded {
		return Possible
	}
	return Unknown
}

// open reports that something was measured, and decides nothing.
func (r Reason) open() bool {
	return r != "" && r != Recommended && r != Untested && r.verdict(true) == Possible
}

// sentences say why a platform's measurements decide nothing.
var sentences = map[Reason]string{
	Spoilt:      "This host was busy during the measurements",
	Evicted:     "Other work on the CPUs may have emptied their caches",
	Inverted:    "A CPU was faster after a pause, so the measurement is wrong, or the CPU was throttled",
	Slight:      "A cost was measured that may be less than 5 %",
	TooFew:      "There were too few rounds for an interval",
	Unfloored:   "A probe has no noise floor to compare with",
	Rising:      "A CPU was still getting faster while it was busy",
	WithinNoise: "The noise of this host is as large as the cost",
	IncludesOne: "The cost that was measured may be chance: its 95 % interval includes 0",
	Diluted:     "The CPUs were seldom idle: on a quiet host a pause may cost more",
	NoControl:   "A comparison is missing for some of the measurements",
	NoCause:     "A cost was measured, and its cause is not known",
	Capped:      "The clock may be capped, which these tests cannot see",
	OfJob:       "What a faster log device or shorter wake-ups save depends on the job",
	InMemory:    "The log directory is in memory, so its commits say nothing of a log device",
	Implausible: "The runs on one CPU were slowed by other work",
}
