package proc

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// Load is what a CPU has done since boot, in seconds.
type Load struct {
	Busy  float64 // for anybody, without what the hypervisor took
	Steal float64 // taken by the hypervisor, where it says so
}

// Share returns which part of wall seconds on some CPUs went to others than us, who
// used own seconds of it in all. Steal counts as others', and one tick as nobody's.
func Share(before, after map[int]Load, own, wall float64) float64 {
	busy, steal, n := taken(before, after)
	if n == 0 || wall <= 0 {
		return 0
	}
	return min(1, max(0, busy+steal-own-Tick.Seconds())/(wall*float64(n)))
}

// taken returns what n CPUs did between two readings.
func taken(before, after map[int]Load) (busy, steal float64, n int) {
	for cpu, a := range after {
		if b, ok := before[cpu]; ok {
			busy += a.Busy - b.Busy
			steal += a.Steal - b.Steal
			n++
		}
	}
	return busy, steal, n
}

// LoadOf reads the load of one CPU.
func LoadOf(cpu int) (Load, bool) {
	loads, ok := Loads([]int{cpu})
	l, there := loads[cpu]
	return l, ok && there
}

// Others watches what others do on some CPUs.
type Others struct {
	cpus   []int
	names  []string
	before map[int]Load
	own    float64
	ours   times
	began  time.Time
	ok     bool
}

// Watch starts watching CPUs, all with nil. Processes of the names given, as ps
// shows them, are ours beside this process and what it started.
func Watch(cpus []int, ours ...string) *Others {
	n := &Others{cpus: cpus, names: ours, began: time.Now(), own: family()}
	n.ours = readOurs(ours)
	n.before, n.ok = Loads(cpus)
	return n
}

// Taken is what others took of the CPUs' time.
type Taken struct {
	Foreign    float64 // share that other processes took, 0 to 1
	Steal      float64 // share that the hypervisor took
	Resolution float64 // share that a reading may be wrong by: much for short times
}

// Share returns which part of the CPUs' time others have taken since, steal
// included, from 0 to 1, and whether that is known here.
func (n *Others) Share() (share float64, ok bool) {
	after, ok := Loads(n.cpus)
	if !ok || !n.ok {
		return 0, false
	}
	own := family() - n.own + n.ours.until(readOurs(n.names))
	return Share(n.before, after, own, time.Since(n.began).Seconds()), true
}

// Taken returns what others took since, steal apart, and whether that is known
// here.
func (n *Others) Taken() (Taken, bool) {
	after, ok := Loads(n.cpus)
	wall := time.Since(n.began).Seconds()
	if !ok || !n.ok || wall <= 0 {
		return Taken{}, false
	}
	busy, steal, cpus := taken(n.before, after)
	if cpus == 0 {
		return Taken{}, false
	}
	own := family() - n.own + n.ours.until(readOurs(n.names))
	all := wall * float64(cpus)
	return Taken{
		Foreign:    min(1, max(0, busy-own)/all),
		Steal:      min(1, max(0, steal)/all),
		Resolution: min(1, Tick.Seconds()/wall), // of every CPU's counter
	}, true
}

// times are the processes that bear one of our names.
type times map[Identity]Stat

// until returns the CPU seconds that processes used between two readings. What one
// used that is gone is in its parent's children; the part from before the first
// reading is taken out of them if the parent is one of ours, and if it is not,
// what the process used since is not known and counts as nothing.
func (before times) until(after times) (s float64) {
	alive := map[int]bool{}
	for p, a := range after {
		alive[p.PID] = true
		b := before[p]
		s += (a.CPU - b.CPU + a.Reaped - b.Reaped).Seconds()
	}
	for p, b := range before {
		if _, still := after[p]; !still && alive[b.Parent] {
			s -= (b.CPU + b.Reaped).Seconds()
		}
	}
	return max(0, s)
}

// family returns the CPU seconds of this process and of all that it started, also
// while they still run.
func family() float64 {
	// Those that run come first: one that ends in between is counted twice rather
	// than not at all, so that others are blamed for nothing.
	s := living(os.Getpid())
	return s + Own()
}

// living returns the CPU seconds of a process's descendants. Where the kernel does not
// list children, those that still run are not known.
func living(pid int) (s float64) {
	list, _ := descendants(pid)
	for _, p := range list {
		s += (p.CPU + p.Reaped).Seconds()
	}
	return s
}

// maxName is what the kernel keeps of a process's name (TASK_COMM_LEN less one).
const maxName = 15

// readOurs reads the times of all processes of some names, but not of those that
// Own counts: ourselves and what we started.
func readOurs(names []string) times {
	if len(names) == 0 {
		return nil
	}
	all := All()
	started := Below(all, os.Getpid())
	out := times{}
	for _, s := range all {
		named := slices.ContainsFunc(names, func(n string) bool { return n[:min(len(n), maxName)] == s.Name })
		if named && !slices.Contains(started, s) {
			out[s.Identity()] = s
		}
	}
	return out
}

// A process that is stopped measures nothing: the clock of a run goes on, and its
// workload stands still, or works without being watched. What counts is measured by the
// run: the same stop is nothing in an hour and all of a short run.
const (
	pauseTick  = 100 * time.Millisecond // how often the watch looks
	pauseLeast = time.Second            // is too much for any run, and beyond what a scheduler makes a thread wait
	pauseShare = 10                     // so is this part of a run
)

// Pause is how long hostlab did not run in a stretch of time, and why it may be.
type Pause struct {
	Stopped   time.Duration // by a signal, a debugger or the freezer of a cgroup
	Suspended time.Duration // with the whole machine
	Run       time.Duration // that it is held against
}

// Sub is what has come since o.
func (p Pause) Sub(o Pause) Pause {
	return Pause{Stopped: p.Stopped - o.Stopped, Suspended: p.Suspended - o.Suspended}
}

// Limit is how long a pause the run can bear. Below a tick nothing shows.
func (p Pause) Limit() time.Duration { return min(max(p.Run/pauseShare, pauseTick), pauseLeast) }

// Text says why a run cannot count; "" where it can.
func (p Pause) Text() string {
	switch {
	case p.Suspended >= p.Limit():
		return fmt.Sprintf("the machine was suspended for %s during the run", p.Suspended.Round(time.Second/10))
	case p.Stopped >= p.Limit():
		return fmt.Sprintf("hostlab did not run for %s during the run (SIGSTOP, Ctrl-Z, a debugger, a frozen cgroup, or no CPU)",
			p.Stopped.Round(time.Second/10))
	}
	return ""
}

// moment is what the clocks show at one look.
type moment struct { //nolint:unused // looks are taken on Linux
	monotonic time.Duration // goes on while a process is stopped, not while the machine is suspended
	boot      time.Duration // goes on in both
	cpu       time.Duration // of the whole process
	waited    time.Duration // of the watching thread, for a CPU
}

// gap judges the time between two looks that were to be planned apart. A thread that
// wakes late and was not stopped was kept from a CPU: by others, which the kernel counts
// as its wait, or by threads of its own process, which used CPU time. That account has
// holes, as the runtime wakes one thread through another. So less than a second counts only
// after a SIGCONT, which comes with the end of each stop by a signal.
func gap(a, b moment, planned time.Duration, continued bool) (p Pause) { //nolint:unused // looks are taken on Linux
	took := b.monotonic - a.monotonic
	p.Suspended = max(0, b.boot-a.boot-took)
	late, enough := took-planned, pauseLeast
	if continued {
		enough = pauseTick
	}
	if late >= enough && 2*(b.waited-a.waited) < late && 2*(b.cpu-a.cpu) < late {
		p.Stopped = late
	}
	return p
}

// Requests are those of clients that processes serve, and those that they ask of servers, by their connections.
type Requests struct {
	Connections int             // of clients, with those that nobody has taken yet
	Unread      int             // of them, with something that nobody has read yet
	Held        int             // of them, of which the end of an answer waits for the client to confirm its beginning
	Lost        int             // of them, of which the end of an answer was lost, or its confirmation
	AtWork      Open            // that clients wait for: over TCP, in this network
	Asked       map[string]Open // that a server is to answer, by its address
	Kept        map[string]int  // connections to servers over Unix sockets of which it does not show whether one asks
}

// Opened are connections that clients open, a second.
type Opened struct {
	OverTCP  float64 `json:"opened_tcp,omitempty"`
	OverUnix float64 `json:"opened_unix,omitempty"`
	// Full are those that found the queue full of those that nobody has taken yet (ListenOverflows): clients try again
	// after a second.
	Full float64 `json:"queue_full,omitempty"`
}

// Unnamed is the address of a socket of UDP that is not connected.
const Unnamed = "?" + OverUDP

// OverUDP ends the address of a server that is asked over UDP, as in 10.0.0.2:53/udp.
const OverUDP = "/udp"

// Open are connections by which end has sent last, as the kernel keeps it: in ticks of a few ms.
type Open struct {
	Asked int // the one that asks: there is no answer yet
	Long  int // of them, for longer than a tick
	Same  int // both in one tick, so that it is not known which was first
}

// Add adds another look.
func (o Open) Add(more Open) Open {
	return Open{o.Asked + more.Asked, o.Long + more.Long, o.Same + more.Same}
}

// few is the share of connections of which the order is not known that the slow requests have to reach before all of
// those count, too.
const few = 0.03

// Count are the requests that have no answer yet. Who asks at once when an answer came does both in one tick; a server
// that answers within a tick does, too, but then next to none of its answers takes long.
func (o Open) Count() int {
	if float64(o.Long) >= few*float64(o.Same) {
		return o.Asked + o.Same
	}
	return o.Asked
}
