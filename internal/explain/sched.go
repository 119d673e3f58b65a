package explain

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"hostlab/internal/proc"
)

// Threads adds up what the threads of a server on this host have used that serve its
// clients, from /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst: ns on a CPU,
// ns ready and waiting for one). A thread is a process where the server has one for each
// session.
type Threads struct {
	// Read returns both of a thread; nil: SchedStat, by files that stay open.
	Read func(id int64) (run, queue time.Duration, err error)
	// Gone is what all threads that have ended had used in their lives, where those that
	// live have used so much; nil: not known. Between two looks a thread may do all its work
	// and end, as when clients reconnect.
	Gone func(live time.Duration) (time.Duration, error)
	// Turns are to be known, which takes a further file of each.
	Turns bool

	started    bool
	files      proc.Accounts
	tasks      map[int64]*task
	run, queue time.Duration // of clients' threads that have ended, until they were seen last
	gone, past time.Duration // Gone at the first look; what of it belongs to known ones until they were seen last
	lost       time.Duration // what ended ones used after that
	ended      int
	// What of queue lies between the last look at threads and their end: most likely, at most.
	unseen, most time.Duration
}

// task is a thread since its first reading.
type task struct {
	client     bool
	run, queue time.Duration // since the recording began
	last       [2]time.Duration
	first, at  time.Time // of the first reading and of the last one
	seen       bool
	moved      bool // between the last two
	// When it was first seen to move: how often it had slept, and what it had used.
	slept int64
	woke  time.Duration
}

// Forget begins anew, as a new recording does.
func (t *Threads) Forget() { *t = Threads{Read: t.Read, Gone: t.Gone, Turns: t.Turns, files: t.files} }

func (t *Threads) read(id int64) (run, queue time.Duration, err error) {
	if t.Read != nil {
		return t.Read(id)
	}
	return t.files.Read(id)
}

// Watch reads all threads that there are now. What one used before the first call is not
// counted: a thread that waits for its next session in a cache brings its past along. One
// that comes later counts whole, so others must be all of the server that serve no client.
// One that has served a client once is a client's.
func (t *Threads) Watch(clients, others []int64) {
	if t.tasks == nil {
		t.tasks = map[int64]*task{}
	}
	var live time.Duration
	now := time.Now()
	for i, id := range append(clients[:len(clients):len(clients)], others...) {
		run, queue, err := t.read(id)
		if err != nil {
			continue // it has just ended
		}
		x := t.tasks[id]
		switch {
		case x != nil && x.seen:
			continue
		case x != nil && run < x.last[0]: // another thread with the same number
			t.end(id, x, now)
			x = nil
		}
		if x == nil {
			x = &task{first: now}
			if !t.started {
				x.last = [2]time.Duration{run, queue}
			}
			t.tasks[id] = x
		}
		x.run, x.queue = x.run+run-x.last[0], x.queue+queue-x.last[1]
		if x.moved = run != x.last[0]; t.Turns && x.moved && x.woke == 0 { // hundreds of idle ones need not be asked
			x.slept, x.woke = leaves(id), run
		}
		x.last, x.at, x.seen, x.client = [2]time.Duration{run, queue}, now, true, x.client || i < len(clients)
		live += run
	}
	for id, x := range t.tasks {
		if !x.seen {
			t.end(id, x, now)
		}
		x.seen = false
	}
	if t.Gone != nil {
		gone, err := t.Gone(live)
		switch {
		case err != nil:
			t.Gone = nil
		case !t.started:
			t.gone = gone
		default:
			t.lost = max(t.lost, gone-t.gone-t.past)
		}
	}
	t.started = true
}

// Moved reports whether a thread has run between the last two looks at it, as far as they know it.
func (t *Threads) Moved(id int64) bool {
	x := t.tasks[id]
	return x == nil || x.moved
}

// Use is what a thread has used since it was seen first, s.
type Use struct {
	ID                  int64
	Run, Queue, Watched float64
	Turn                float64 // on a CPU between two sleeps, in the mean; 0: not known
}

// Uses are those of threads that have not ended; none, of a nil Threads.
func (t *Threads) Uses() (list []Use) {
	if t == nil {
		return nil
	}
	for id, x := range t.tasks {
		u := Use{ID: id, Run: x.run.Seconds(), Queue: x.queue.Seconds(), Watched: x.at.Sub(x.first).Seconds()}
		if x.woke > 0 && x.slept >= 0 { // an idle one is not asked here, either
			if slept := leaves(id); slept >= x.slept {
				u.Turn = (x.last[0] - x.woke).Seconds() / float64(slept-x.slept+1)
			}
		}
		list = append(list, u)
	}
	return list
}

// leaves is how often a thread has left a CPU of its own accord, as Linux counts it (proc_pid_status(5)); -1: not
// known.
func leaves(id int64) int64 {
	b, _ := os.ReadFile("/proc/" + strconv.FormatInt(id, 10) + "/status")
	_, after, _ := bytes.Cut(b, []byte("\nvoluntary_ctxt_switches:"))
	value, _, _ := bytes.Cut(after, []byte("\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// end keeps what a thread used. It ended at any time since the last look at it, and had
// waited for a CPU for a share of its life until then: most likely it did so to the end.
func (t *Threads) end(id int64, x *task, now time.Time) {
	delete(t.tasks, id)
	t.files.Forget(id)
	t.ended++
	t.past += x.last[0]
	if !x.client {
		return
	}
	t.run, t.queue = t.run+x.run, t.queue+x.queue
	gap := now.Sub(x.at)
	t.most += gap
	if life := max(x.at.Sub(x.first), x.run+x.queue); life > 0 {
		t.unseen += time.Duration(float64(x.queue) / float64(life) * float64(gap) / 2)
	}
}

// Total is what clients' threads used since the first call. What those had used that ended
// between two looks is in run where Gone knows it, but not in queue.
func (t *Threads) Total() (run, queue time.Duration) {
	run, queue = t.run+t.lost, t.queue
	for _, x := range t.tasks {
		if x.client {
			run, queue = run+x.run, queue+x.queue
		}
	}
	return run, queue
}

// Unseen is how long threads that ended waited for a CPU after the last look at them: most
// likely, and at most.
func (t *Threads) Unseen() (likely, most time.Duration) { return t.unseen, t.most }

// Missed is how many threads ended of which the last use is not known.
func (t *Threads) Missed() int {
	if t.Gone != nil {
		return 0
	}
	return t.ended
}

// Count puts the totals among a count's values, in ns.
func (t *Threads) Count(values map[string]int64) {
	run, queue := t.Total()
	values["cpu_run"], values["cpu_queue"] = int64(run), int64(queue)
	values["cpu_queue_unseen"], values["cpu_queue_most"] = int64(t.unseen), int64(t.most)
}

// Account is what grew of them.
func (t *Threads) Account(g Growth) *CPUTime {
	s := func(name string) float64 { return g.Get(name) * 1e-9 }
	queue := s("cpu_queue")
	return &CPUTime{Run: s("cpu_run"), Queue: queue + s("cpu_queue_unseen"), QueueLow: queue,
		QueueHigh: queue + s("cpu_queue_most"), Source: "schedstat"}
}

// Used is what one thread has used so far, in s; ok is false where that cannot be read. A
// nil Threads knows none.
func (t *Threads) Used(id int64) (seconds float64, ok bool) {
	if t == nil {
		return 0, false
	}
	run, _, err := t.read(id)
	return run.Seconds(), err == nil
}

// SchedStat reads a process's or a thread's own account on Linux.
func SchedStat(id int64) (run, queue time.Duration, err error) {
	return proc.Schedstat(strconv.FormatInt(id, 10))
}

// Tasks are the threads of the process that this thread belongs to, and the process.
func Tasks(id int64) (process int64, threads []int64, err error) {
	p, err := procfs.NewProc(int(id))
	if err != nil {
		return 0, nil, err
	}
	s, err := p.NewStatus()
	if err != nil {
		return 0, nil, err
	}
	all, err := procfs.AllThreads(s.TGID)
	for _, t := range all {
		threads = append(threads, int64(t.PID))
	}
	return int64(s.TGID), threads, err
}

// errElsewhere is a server whose processes do not show here.
var errElsewhere = errors.New("the server's processes are not of this host, or hidden")

// Here returns why nothing is known of the process or thread of this host that a server calls
// id: by its name it must be one that is called so, as behind a forwarded port or in a
// container the number is another's. here: the connection does not leave this host.
func Here(here bool, id int64, names ...string) error {
	if runtime.GOOS == "windows" {
		return errors.New("on Windows hostlab does not count that of sessions")
	}
	comm := ""
	if p, err := procfs.NewProc(int(id)); err == nil && here && id > 0 {
		comm, _ = p.Comm()
	}
	if comm == "" || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(comm, n) }) {
		return errElsewhere
	}
	if _, _, err := SchedStat(id); err != nil {
		return errors.New("this kernel has no schedstat")
	}
	return nil
}
