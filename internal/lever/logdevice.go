package lever

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// logDevice is moved by where commits go. The probe bounds what any device can
// take from a commit; what that is worth to a job depends on the job's share of
// log waits, which only the database knows, so a gain is never a recommendation
// by itself.
func (in *input) logDevice() *draft {
	l := in.new(Log)
	l.bound.Of, l.bound.By = "a commit's time", "any faster device"
	file, into := probe.Recycled, "into a recycled log"
	if !known(in.first(file.Of(probe.Median))) { // a probe that only writes blocks for the first time
		file, into = probe.NewBlocks, "into newly allocated blocks"
	}
	log, mean := in.first(file.Of(probe.Median)), in.first(file.Of(probe.Mean))
	mem, gain := in.first(probe.InMemory.Of(probe.Median)), in.first(probe.CommitGain)
	if l.measurement = log; known(mean) {
		l.measurement = mean
	}
	if !known(log) {
		l.unbounded("no commit was timed")
		in.rest(l, in.whyUnmeasured("commit", probe.NewBlocks.Of(probe.Median)))
		return l
	}
	l.disturbed = log.Labels.Disturbed
	if l.disturbed == "" && known(gain) {
		l.disturbed = gain.Labels.Disturbed
	}
	takes := fmt.Sprintf("a commit takes %s %s (%s)", short(log), into, Count(log))
	if known(mean) {
		takes = fmt.Sprintf("a commit %s takes %s on average", into, short(mean))
		if p99 := in.first(file.Of(probe.Tail)); known(p99) {
			takes += ", " + short(p99) + " at the 99th percentile"
		}
		takes += fmt.Sprintf(" and %s at the median (%s)", result.Format(log.Estimate.Value, "s"), Count(mean))
		takes += in.drifted()
	}
	if in.logClass() == host.ClassMemory {
		in.logInMemory(l)
		return l
	}
	l.says = fmt.Sprintf("the median commit takes %s (%s)", short(log), Count(log))
	if known(mean) {
		l.says = fmt.Sprintf("a commit takes %s on average (%s)", short(mean), Count(mean))
	}
	in.logBound(l, log, mem, gain)
	in.meanBound(l, mean, in.first(probe.InMemory.Of(probe.Mean)))
	switch {
	case len(l.todo) > 0:
		in.rest(l, "")
		l.add(takes)
	case in.role == check.ProductionApp && len(in.facts.Databases) == 0:
		l.says = ""
		l.decide(OtherRole, Next{Command: "hostlab assess --role production-db", Note: "on the database server"},
			takes+", but an application server commits on its database server: assess that one")
	case l.disturbed != "":
		l.decide(Spoilt, in.assess(), takes, l.disturbed)
	case l.bound.AtMost != nil && *l.bound.AtMost < Margin && known(gain) && gain.Estimate.HasInterval() &&
		gain.NoiseFloor <= Margin:
		l.decide(NoEffect, Next{}, takes+", nearly as fast as in memory: no device can do better")
	default:
		l.decide(OfJob, in.logShare(), takes, "what a faster device saves depends on how long the job waits for its log")
	}
	return l
}

// logBound compares the log directory with memory.
func (in *input) logBound(l *draft, log, mem, gain *result.Measurement) {
	ratio, from := math.NaN(), Measured // memory over log, at its lowest
	switch {
	case known(gain):
		if ratio = gain.Estimate.Value; gain.Estimate.HasInterval() {
			ratio = gain.Estimate.Low
		}
	case known(mem) && log.Estimate.Value > 0:
		ratio, from = mem.Estimate.Value/log.Estimate.Value, Computed
	}
	switch {
	case l.disturbed != "":
		l.unbounded(l.disturbed)
		return
	case math.IsNaN(ratio):
		l.unbounded("no memory file system to compare with")
		return
	}
	why := fmt.Sprintf("half of the commits take under %s", result.Format(log.Estimate.Value, "s"))
	if known(mem) {
		why += fmt.Sprintf("; in memory, which loses them at a power cut, %s", result.Format(mem.Estimate.Value, "s"))
	}
	l.logBounded(1-ratio, from, why)
}

// logBounded sets a bound with what it is made of.
func (l *draft) logBounded(share float64, from Basis, why string) {
	l.bounded(share, from, "")
	l.bound.Why = why
}

// meanBound widens the bound where stalls make the mean lose more than the median: a job
// waits for all commits, not for the typical one.
func (in *input) meanBound(l *draft, log, mem *result.Measurement) {
	if l.bound.AtMost == nil || !known(log) || !known(mem) || !log.Estimate.HasInterval() {
		return
	}
	if share := 1 - mem.Estimate.Value/log.Estimate.High; share > *l.bound.AtMost {
		l.logBounded(share, Measured,
			fmt.Sprintf("a commit takes up to %s on average; in memory, which loses it at a power cut, %s",
				result.Format(log.Estimate.High, "s"), result.Format(mem.Estimate.Value, "s")))
	}
}

// drifted says that the device was not the same all the time; "" where it was.
func (in *input) drifted() string {
	if m := in.first(probe.CommitDrift); known(m) && m.Labels.Drift && len(m.Warnings) > 0 {
		return "; " + m.Warnings[0]
	}
	return ""
}

// logInMemory is for a directory that forgets: its latency says nothing of the
// device that a database's log must be on.
func (in *input) logInMemory(l *draft) {
	l.unbounded("the log directory is in memory, and a log must survive a power cut")
	const why = "the log directory is in memory: its commits do not survive a power cut and say nothing about a real log device"
	if len(l.todo) > 0 {
		in.rest(l, "")
		l.add(why)
		return
	}
	l.decide(InMemory, Next{Command: in.assess().Command + " --log-dir DIR",
		Note: "a directory on the device of the database's log"},
		why)
}

// logClass is the class of what lies under the log directory.
func (in *input) logClass() string {
	for _, s := range in.facts.Storage {
		if s.Purpose == "log-dir" {
			return s.Class.Or("")
		}
	}
	return ""
}

func known(m *result.Measurement) bool { return m != nil && m.Known() }

// logShare is how to learn the share of log waits from the database at hand: assess finds
// those by itself that listen on a socket file.
func (in *input) logShare() Next {
	of := "--dsn DSN "
	if slices.ContainsFunc(in.facts.Databases,
		func(d host.Database) bool { return slices.Contains([]string{"postgresql", "mariadb", "mysql"}, d.Kind) }) {
		of = ""
	}
	return Next{Command: "hostlab assess --only service " + of + "--for 5m",
		Note: "while the job runs; shows the most that a faster log device can save"}
}
