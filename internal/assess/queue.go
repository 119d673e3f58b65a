package assess

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
)

// erlangC is the chance that a job has to wait for one of c CPUs that are busy for a share
// rho of the time, where jobs come at random (M/M/c; Erlang, 1917).
func erlangC(c int, rho float64) float64 {
	if rho >= 1 {
		return 1
	}
	if rho <= 0 || c < 1 {
		return 0
	}
	// The blocking formula by its recursion, which does not overflow.
	a, b := rho*float64(c), 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b / (1 - rho*(1-b))
}

// queueing is the load on the CPUs as a closed queue: sessions that each want a CPU for a second, then do without one
// for a while.
type queueing struct {
	sessions float64
	pause    float64 // s between two seconds on a CPU
	cpus     float64 // of the host
	others   float64 // of them that other programs use
	quota    float64 // of the service
	allowed  float64 // CPUs that the service may use; 0: all
	active   float64 // sessions at work
	used     float64 // CPUs that they used
	clients  float64 // CPUs that their clients on this host used
	cooled   float64 // share of used that goes where nobody else's work comes between
}

// cooled is how much of its CPU time a service may win back where nobody comes between its turns: caches that others
// have filled, and switches. Chosen so that bounds hold in bench/causes: a pgbouncer won back 18 %, which then served
// more requests each time that it looked.
const cooled = 0.2

// queue is the service's. Its clients on this host use CPUs as it does.
func (m *Minute) queue() queueing {
	r, wall := &m.Report, max(m.Report.Wall, 1e-9)
	q := queueing{sessions: r.Elapsed / wall, cpus: float64(max(1, m.Host.CPUs)), quota: float64(max(1, m.Host.CPUs))}
	if m.Host.Allowed > 0 {
		q.allowed = float64(m.Host.Allowed)
	}
	cpu := r.Part(explain.DatabaseCPU).Seconds
	q.active, q.cooled = r.Busy/wall, cooled
	q.used = cpu / wall
	if e := r.Part(explain.DatabaseCPU).Share; e.Known() { // what it used at least
		q.used = min(q.used, e.Low*r.Elapsed/wall)
	}
	if !m.Alone { // a sibling that falls idle gives a core its whole speed
		q.cooled = greatestHarm
	}
	for _, t := range m.Takers {
		cpu += t.Seconds
		if m.ofClients(t) {
			q.clients += t.Seconds / wall
		}
	}
	for _, t := range m.others() {
		cpu -= t.Seconds
		q.others += t.Seconds / wall
	}
	if cpu > 0 {
		q.pause = max(0, r.Elapsed-cpu-r.Part(explain.RunQueue).Seconds) / cpu
	}
	if m.Ends != nil { // a session may have several workers
		if at := (floats.Sum(m.Ends.Ran) + floats.Sum(m.Ends.Waited)) / max(floats.Sum(m.Ends.Lengths),
			1e-9); at > q.sessions {
			q.sessions, q.active, q.pause = at, at, 0
		}
	}
	if m.Throttled != nil && m.Quota != nil && *m.Throttled > 0 {
		q.quota = min(q.quota, m.Quota.CPUs)
	}
	return q
}

// ofClients reports that all processes of a program are clients of the service.
func (m *Minute) ofClients(t Taker) bool {
	all := t.PIDs()
	return t.Processes == len(all) && !slices.ContainsFunc(all, func(pid int) bool { return !m.client(t, pid) })
}

// wait is how long a session waits for each second on one of so many CPUs, which need not be whole: the machine repair
// model (M/M/c//N), of which the states are how many sessions want a CPU.
func (q queueing) wait(cpus float64) float64 {
	n, cpus := max(1, math.Round(min(q.sessions, 10_000))), max(cpus, 0.01)
	if q.pause <= 0 {
		return n/min(n, cpus) - 1
	}
	chance, wanting, working := 1.0, 0.0, 0.0
	for k := 1.0; k <= n; k++ {
		chance *= (n - k + 1) / q.pause / min(k, cpus)
		if chance > 1e100 { // the sums count relative to each other
			chance, wanting, working = chance/1e100, wanting/1e100, working/1e100
		}
		wanting, working = wanting+k*chance, working+min(k, cpus)*chance
	}
	return max(0, wanting/working-1)
}

// spared are the shares of the waits for a CPU that end without the quota, then without other programs, then with twice
// the CPUs: what the one ends is not left for the next.
func (q queueing) spared() (quota, neighbour, cpus float64) {
	all, more := q.all()
	free := max(all-q.others*all/q.cpus, 0.01)
	now := q.wait(min(q.quota, free))
	if now <= 0 {
		return 0, 0, 0
	}
	freed, alone, twice := q.wait(free), q.wait(all), q.wait(more)
	if q.quota < free { // it uses no more, however many are free
		return lever.Unit((now - freed) / now), 0, 0
	}
	return lever.Unit((now - freed) / now), lever.Unit((freed - alone) / now), lever.Unit((alone - twice) / now)
}

// all are the CPUs that the service may use, and those that it would have with more of them.
func (q queueing) all() (now, more float64) {
	if q.allowed > 0 && q.allowed < q.cpus {
		return q.allowed, q.cpus
	}
	return q.cpus, 2 * q.cpus
}

// most is the share of active time that so many CPUs save at most. By the utilisation law (Denning and Buzen, The
// Operational Analysis of Queueing Network Models, 1978), CPUs do at most what their time allows, and a transaction
// takes as much of it as before, but for what cooled. Clients may use all CPUs of the host. That holds where each session comes back once it is served, and more requests a second are done:
// at a fixed rate of requests, waits may shrink by more.
func (q queueing) most(cpus float64) float64 {
	if q.active <= 0 {
		return 1
	}
	free := min(1-q.used*(1-q.cooled)/cpus, 1-(q.used+q.clients)*(1-q.cooled)/max(cpus, q.cpus))
	return lever.Unit(q.sessions * free / q.active)
}

// going is the share of active time that goes away at most where nothing stands still any more, as a quota makes it for
// a share of the time. It does then all the while what it does now in the rest: less it never did, as all that came
// meanwhile was waiting, and more by what each stop costs beyond itself. In each period it runs on all of its CPUs for
// as long as the quota lasts, at least.
func (q queueing) going(stood float64) float64 {
	if q.active <= 0 {
		return 1
	}
	return lever.Unit(q.sessions * (1 - (1-lever.Unit(stood))*(1-q.cooled)*(1-afterStop)) / q.active)
}

// afterStop is how much faster work becomes at most that is not stopped: bench/causes saw 1 - 0.39/0.43 of a redis, and
// 1 - 0.21/0.30 of a pgbouncer, whose requests come all at once after each stop.
const afterStop = 0.3
