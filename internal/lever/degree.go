package lever

import (
	"fmt"
	"strconv"

	"hostlab/internal/check"
	"hostlab/internal/result"
)

// degree is moved by the degree of parallelism. What is lost at the highest
// degree bounds what queries that run side by side could get back from a lower
// one. It does not recommend one: other load on the CPUs looks the same, and a
// single query may still end sooner. Only where a lower degree is faster even for
// one query is it worthwhile.
func (in *input) degree() Lever {
	l := in.new(check.LeverDegree, "Parallelism")
	var widest *result.Measurement
	top := 0
	family := in.known("degree.efficiency.")
	for i := range family {
		if d, err := strconv.Atoi(family[i].Labels["degree"]); err == nil && d > top {
			top, widest = d, &family[i]
		}
	}
	l.BoundOf = "the CPU time of a cached query"
	if widest == nil || top < 2 {
		l.BoundWhy = "unknown: no query was timed at more than one degree"
		why := in.whyUnmeasured("degree", "degree.")
		if top == 1 {
			why = "there is one CPU to use"
		}
		in.rest(&l, why)
		return l
	}
	l.BoundOf = fmt.Sprintf("the CPU time of a cached query at degree %d", top)
	l.Measurement = widest
	e := widest.Estimate
	if e.HasInterval() {
		b := max(0, 1-e.Low)
		l.Bound = &b
		l.BoundWhy = fmt.Sprintf("at degree %d each CPU did as little as %s of the work that it does alone; a lower degree can give back no more", top, Percent(max(0, e.Low)))
	} else {
		l.BoundWhy = "unknown: too few rounds for an interval"
	}
	r := decide([]result.Measurement{inverse(*widest)})
	todo := actionable(in.findings(l.Name))
	does := fmt.Sprintf("%d CPUs do the work of %.1f", top, e.Value*float64(top))
	best := overtaken(family, top, e)
	switch {
	case r.call == costs && best > 0:
		l.Verdict = Worthwhile
		l.Summary = fmt.Sprintf("%s: a query is faster at degree %d than at %d, even alone", does, best, top)
		l.Next = in.setDegree(best)
	case r.call == costs && len(todo) == 0:
		l.Verdict, l.Next = Unresolved, in.assess()
		l.Summary = does + "; whether the degree, shared cores or other load takes the rest cannot be told, and a query still gains from all"
	case r.call == small:
		l.Verdict = NoEffect
		l.Summary = does + ": all CPUs can be used, nothing that matters is lost"
		if len(todo) > 0 {
			in.rest(&l, "")
		}
	default:
		if len(todo) > 0 {
			in.rest(&l, "")
			return l
		}
		l.Verdict, l.Summary, l.Next = Unresolved, does+"; "+r.why, in.assess()
	}
	return l
}

// overtaken is the lower degree with the highest speed-up that is certainly above
// that at the highest degree, whose efficiency is e; 0 where there is none. The
// speed-up at degree 1 is 1 by definition.
func overtaken(family []result.Measurement, top int, e *result.Estimate) int {
	if !e.HasInterval() {
		return 0
	}
	best, low := 0, e.High*float64(top)*(1+Margin)
	if low < 1 {
		best, low = 1, 1
	}
	for _, m := range family {
		d, err := strconv.Atoi(m.Labels["degree"])
		if err == nil && d < top && m.Estimate.HasInterval() && m.Estimate.Low*float64(d) > low {
			best, low = d, m.Estimate.Low*float64(d)
		}
	}
	return best
}

// setDegree is how to set a degree in the database at hand.
func (in *input) setDegree(best int) string {
	for _, d := range in.facts.Databases {
		switch d.Kind {
		case "postgresql":
			// Workers come on top of the leader.
			return fmt.Sprintf(`psql -c "alter system set max_parallel_workers_per_gather = %d" -c "select pg_reload_conf()"`, best-1)
		case "sqlserver":
			return fmt.Sprintf(`sqlcmd -Q "exec sp_configure 'max degree of parallelism', %d; reconfigure"`, best)
		}
	}
	return fmt.Sprintf("# try a degree of %d in the database (PostgreSQL max_parallel_workers_per_gather %d, SQL Server MAXDOP %d)", best, best-1, best)
}
