package lever

import (
	"cmp"
	"fmt"

	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// degree is moved by the degree of parallelism. What is lost at the highest
// degree bounds what queries that run side by side could get back from a lower
// one. It does not recommend one: other load on the CPUs looks the same, and a
// single query may still end sooner. Only where a lower degree is faster even for
// one query is it worthwhile.
func (in *input) degree() *draft {
	l := in.new(Degree)
	var widest *result.Measurement
	top := 0
	family := in.known(probe.Efficiency)
	for i := range family {
		if d := family[i].Labels.Degree; d > top {
			top, widest = d, &family[i]
		}
	}
	l.bound.Of = "the CPU time of a cached query"
	if widest == nil || top < 2 {
		l.unbounded("no query was timed at more than one degree")
		why := in.whyUnmeasured("degree", probe.Efficiency)
		if top == 1 {
			why = "there is one CPU to use"
		}
		in.rest(l, why)
		return l
	}
	l.bound.Of = fmt.Sprintf("the CPU time of a cached query at degree %d", top)
	l.measurement = widest
	l.disturbed = widest.Labels.Disturbed
	e := widest.Estimate
	switch {
	case l.disturbed != "":
		l.unbounded(l.disturbed)
	case e.HasInterval():
		l.bounded(1-e.Low, Measured,
			fmt.Sprintf(
				"at degree %d each CPU did at least %s of the work that it does alone; the loss includes other load during "+
					"the test", top, Percent(max(0, e.Low))))
	default:
		l.unbounded("too few rounds for an interval")
	}
	r := decide([]result.Measurement{inverse(*widest)})
	l.cost = r.cost
	does := didWork(widest, top) + quotaSays(widest)
	best := in.overtaken(family, top, widest)
	gain := ""
	if e.Low*float64(top) <= 1 { // false without an interval
		gain = noGain(widest, top)
	}
	if l.cost {
		l.effect = 1 - e.High
		l.says = didWork(widest, top) + " (" + Count(widest) + ")"
	}
	switch {
	case e.Value > mostWork:
		l.cost = false
		l.decide(Implausible, in.assess(), "how a cached query speeds up was not measured",
			fmt.Sprintf("%d CPUs cannot do more than the work of %d: other work must have slowed the runs on one CPU", top, top))
	case r.reason == Costs && best > 0 && widest.Labels.Quota == 0:
		l.decide(Costs, in.setDegree(best), fmt.Sprintf("%s: a query is faster at degree %d than at %d, even alone", does,
			best, top))
	case len(l.todo) > 0:
		in.rest(l, "")
		l.add(does, r.why())
	case r.reason == Costs:
		l.decide(NoCause, in.assess(), does, "the degree, shared cores or other load may cost the rest",
			cmp.Or(gain, "a query still gains from using all"))
	case r.reason == NoEffect:
		l.decide(NoEffect, Next{}, does+": hardly anything is lost, so use all CPUs")
	default:
		l.decide(r.reason, in.assess(), does, r.why(), gain)
	}
	return l
}

// mostWork is what a CPU may do, of what it does alone, before the runs alone are in doubt.
const mostWork = 1.2

// didWork is "2 CPUs did the work of 2.0 [1.9, 2.1]".
func didWork(m *result.Measurement, top int) string {
	k, digits := float64(top), 1
	if top >= 100 {
		digits = 0
	}
	s := fmt.Sprintf("%d CPUs did the work of %.*f", top, digits, m.Estimate.Value*k)
	if m.Estimate.HasInterval() {
		s += fmt.Sprintf(" [%.*f, %.*f]", digits, m.Estimate.Low*k, digits, m.Estimate.High*k)
	}
	return s
}

// noGain says that parallelism was not seen to help.
func noGain(m *result.Measurement, top int) string {
	e := m.Estimate.Map(func(v float64) float64 { return v * float64(top) })
	e.Unit = "ratio"
	return fmt.Sprintf("a query ran at %s the speed of one CPU: no gain shown", e.Brief())
}

// quotaSays tells what a control group's limit did meanwhile.
func quotaSays(m *result.Measurement) string {
	quota := m.Labels.Quota
	if quota == 0 {
		return ""
	}
	s := fmt.Sprintf("; the CPU quota is %.3g CPUs", quota)
	if throttled := m.Labels.Throttled; throttled != "" {
		return s + "; it throttled " + throttled + " periods"
	}
	return s + ", and how often it stopped the query is not known"
}

// overtaken is the lower degree with the highest speed-up that is certainly above
// that at the highest degree; 0 where there is none. The speed-up at degree 1 is
// 1 by definition.
func (in *input) overtaken(family []result.Measurement, top int, widest *result.Measurement) int {
	e := widest.Estimate
	if !e.HasInterval() {
		return 0
	}
	best, low := 0, e.High*float64(top)*(1+Margin)
	if low < 1 {
		best, low = 1, 1
	}
	for _, m := range family {
		d := m.Labels.Degree
		clean := m.Labels.Disturbed == "" && m.Labels.Quota == 0 && m.Estimate.HasInterval()
		if d > 0 && d < top && clean && m.Estimate.Low*float64(d) > low {
			best, low = d, m.Estimate.Low*float64(d)
		}
	}
	return best
}

// setDegree is how to set a degree in the database at hand.
func (in *input) setDegree(best int) Next {
	for _, d := range in.facts.Databases {
		switch d.Kind {
		case "postgresql":
			// Workers come on top of the leader.
			next := Next{Command: fmt.Sprintf(
				`psql -c "alter system set max_parallel_workers_per_gather = %d" -c "select pg_reload_conf()"`, best-1)}
			if len(in.facts.Databases) > 1 {
				next.Note = "add -h and -p of the server that is meant"
			}
			return next
		case "sqlserver":
			return Next{Command: fmt.Sprintf(`sqlcmd -Q "exec sp_configure 'max degree of parallelism', %d; reconfigure"`, best)}
		}
	}
	return Next{Note: fmt.Sprintf(
		"try a degree of %d in the database (PostgreSQL max_parallel_workers_per_gather %d, SQL Server "+
			"MAXDOP %d)", best, best-1, best)}
}
