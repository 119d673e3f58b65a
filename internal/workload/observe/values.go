package observe

import (
	"fmt"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// amount is a number, or why it is not known.
type amount struct {
	is  float64
	why string // "": it is known
}

func unknown(format string, args ...any) amount { return amount{why: fmt.Sprintf(format, args...)} }

// seen is what was seen in a stretch: sums, and the latency of the application.
type seen struct {
	wall                   float64 // s
	transactions, arrivals amount
	cpu, queue             amount // s, of the service's processes
	log, busy, elapsed     amount // s, of its sessions
	latency                latency
}

// latency is the application's, s.
type latency struct{ p50, p99, mean amount }

// untold fills in what a service tells that is no database, without a page: nothing.
func (s *seen) untold() {
	s.log = unknown("only a database's sessions show it")
	s.elapsed = s.log
	none := unknown("the parameters url and histogram, which would show it, are not given")
	s.latency = latency{none, none, none}
	s.transactions = unknown("the service does not count transactions; the parameters url and histogram would count requests")
}

// Lacks says why a service that is no database never has a response with such parameters; "": it may have it.
func Lacks(p *Params, name string) string {
	s := seen{wall: 1}
	s.untold()
	if p.URL != "" {
		s.latency, s.transactions = latency{}, amount{is: fewest}
	}
	s.arrivals = s.transactions
	for _, r := range offered {
		if r.Name == name {
			return r.of(&s).why
		}
	}
	return ""
}

// response is one of the workload's, and what a stretch gives for it.
type response struct {
	workload.Response
	of func(*seen) amount
}

// offered are all. A study that names none decides by the first.
var offered = []response{
	{low("cpu_per_transaction", "CPU time per transaction"), per(func(s *seen) amount { return s.cpu })},
	{low("cpu_s", "CPU time of the service"), func(s *seen) amount { return s.cpu }},
	{low("queue_per_transaction", "Wait for a CPU per transaction"), per(func(s *seen) amount { return s.queue })},
	{low("queue_s", "Wait of the service for a CPU, all threads together"), func(s *seen) amount { return s.queue }},
	{low("log_wait_per_transaction", "Log wait per transaction"), per(func(s *seen) amount { return s.log })},
	{low("log_wait_s", "Log wait of all sessions together"), func(s *seen) amount { return s.log }},
	{low("elapsed_per_transaction", "Mean time in the database per transaction"),
		per(func(s *seen) amount { return s.elapsed })},
	{low("elapsed_s", "Time in which sessions ran statements, all together"), func(s *seen) amount { return s.elapsed }},
	{low("busy_s",
		"Time of sessions within transactions, the application's pauses included; of a service without sessions, time of "+
			"threads on a CPU or ready for one"), func(s *seen) amount { return s.busy }},
	{low("latency_p50", "Median latency by the application's histogram"), func(s *seen) amount { return s.latency.p50 }},
	{low("latency_p99", "99th percentile of the latency by the application's histogram"),
		func(s *seen) amount { return s.latency.p99 }},
	{low("latency_mean", "Mean latency by the application's histogram"), func(s *seen) amount { return s.latency.mean }},
	{workload.Response{Name: "transactions_per_s", Title: "Transactions per second", Unit: "1/s", Better: "higher"},
		func(s *seen) amount {
			return amount{s.transactions.is / s.wall, s.transactions.why}
		}},
	{workload.Response{Name: "transactions", Title: "Transactions that ended", Better: "higher"},
		func(s *seen) amount { return s.transactions }},
	{workload.Response{Name: "arrivals", Title: "Load: requests of the application's histogram, else transactions",
		Better: "higher"}, func(s *seen) amount { return s.arrivals }},
}

func low(name, title string) workload.Response {
	return workload.Response{Name: name, Title: title, Unit: "s", Better: "lower"}
}

// fewest is how many transactions a ratio takes: a server without load does one now and then for
// itself.
const fewest = 10

// per divides a sum by transactions. Of next to none there is no ratio.
func per(sum func(*seen) amount) func(*seen) amount {
	return func(s *seen) amount {
		total, n := sum(s), s.transactions
		switch {
		case total.why != "":
			return total
		case n.why != "":
			return n
		case n.is == 0:
			return unknown("the service did no transaction in %s", result.Format(s.wall, "s"))
		case n.is < fewest:
			return unknown("the service did %s in %s, but a ratio takes %d", screen.Count(int(n.is), "transaction"),
				result.Format(s.wall, "s"), fewest)
		}
		return amount{is: total.is / n.is}
	}
}

func responses() (out []workload.Response) {
	for _, r := range offered {
		out = append(out, r.Response)
	}
	return out
}

// none is what to do about a response that may be 0.
const none = `compare = "difference" takes it`

// sample is the stretch as a run.
func (s *seen) sample() (out workload.Sample) {
	out.Zero = map[string]string{}
	for _, r := range offered {
		a := r.of(s)
		out.Give(r.Name, a.is, a.why)
		if a.why == "" && a.is == 0 {
			out.Zero[r.Name] = none
		}
	}
	out.Operations = int64(s.transactions.is)
	return out
}

// values are the stretch as a look.
func (s *seen) values() map[string]float64 {
	out := map[string]float64{}
	for _, r := range offered {
		if a := r.of(s); a.why == "" {
			out[r.Name] = a.is
		}
	}
	return out
}
