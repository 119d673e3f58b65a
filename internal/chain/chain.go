// Package chain follows waits to what ends them. A thread that waits for a lock waits for what the thread does that
// will wake it: that computes, is ready for a CPU, waits for the log, or for another thread in turn. The kernel's
// scheduler tells who woke whom, so no server is asked.
package chain

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/waits"
)

// Event is what the scheduler did at one moment.
type Event struct {
	At  uint64 // ns, of a monotonic clock
	CPU int
	// Wake is set where By wakes To. Else By leaves the CPU to To.
	Wake   bool
	By, To Task
	// Ready: By leaves the CPU and wants to go on.
	Ready bool
	// Interrupt: a device or a clock woke To, and not the task that had the CPU.
	Interrupt bool
	// Wait is for what the task waits that blocks, or is woken.
	Wait waits.Wait
	Word Word // of the task that blocks
}

// Task is a thread.
type Task struct {
	TID, PID int  // 0: a CPU that idles
	Member   bool // of the service
}

// Word is what a process of PostgreSQL says that it waits for; 0: nothing, or it was not read.
type Word uint32

// The classes of words (PostgreSQL 13 to 18, src/include/utils/wait_classes.h), and the lock of those who write the log
// (lwlocknames.txt, lwlocklist.h).
const (
	lwlock, lock, pin, activity, client, ipc, timeout, io = 1, 3, 4, 5, 6, 8, 9, 10

	walWrite Word = lwlock<<24 | 8
)

type row struct {
	Part explain.PartName `json:"part"`
	End
	Seconds float64 `json:"s"`
}

// MarshalJSON writes a list of parts and ends, in order.
func (s Shares) MarshalJSON() ([]byte, error) {
	rows := []row{}
	for _, part := range slices.Sorted(maps.Keys(s)) {
		for _, e := range slices.SortedFunc(maps.Keys(s[part]), compare) {
			rows = append(rows, row{part, e, s[part][e]})
		}
	}
	return json.Marshal(rows)
}

func (s *Shares) UnmarshalJSON(b []byte) error {
	var rows []row
	if err := json.Unmarshal(b, &rows); err != nil {
		return err
	}
	*s = Shares{}
	for _, r := range rows {
		if (*s)[r.Part] == nil {
			(*s)[r.Part] = map[End]float64{}
		}
		(*s)[r.Part][r.End] = r.Seconds
	}
	return nil
}

// Kind is what a wait ends with.
type Kind string

const (
	Computing Kind = "cpu"    // PID has a CPU
	Ready     Kind = "ready"  // a thread waits for a CPU, which PID has; 0: no task has it
	Log       Kind = "log"    // PID waits until a file is on its device
	Data      Kind = "data"   // PID waits for data of a file
	Device    Kind = "device" // PID waits for a device otherwise: it writes, or wants a page of memory
	Asleep    Kind = "sleep"  // PID sleeps until a time
	Remote    Kind = "remote" // PID waits for another host, or for nothing that this host shows
	Circle    Kind = "circle" // threads wait for each other
	Unseen    Kind = "unseen" // the window was over before
)

// End is what ends a wait: what a thread of a process does.
type End struct {
	Kind Kind `json:"end"`
	PID  int  `json:"pid"`
	// Log, Data and Client are set where a wait for the log, for data, or for a client lies on the way to it.
	Log    bool `json:"log,omitempty"`
	Data   bool `json:"data,omitempty"`
	Client bool `json:"client,omitempty"`
}

// Shares are what a part's time ended with, s of windows.
type Shares map[explain.PartName]map[End]float64

// Account is the time of a service's threads by what they did and by what that ended with, s of windows.
type Account struct {
	Moments int       `json:"moments"`
	Windows []Shares  `json:"windows"`
	Lengths []float64 `json:"lengths"` // s of each
	// Ran and Waited are for how long the service's threads had a CPU and waited for one, s of each window: all but those
	// that are the server's own.
	Ran    []float64 `json:"ran"`
	Waited []float64 `json:"waited"`
	// Own are the service's processes that were seen, and Clients are those of this host that ended waits for a client:
	// each of them many, or few whose answers woke it in turn. A process that a packet or a timer interrupts ends some,
	// too.
	Own     map[int]bool `json:"own"`
	Clients map[int]bool `json:"clients"`

	window window // the last one

	all    bool
	serves map[int]bool    // threads that were seen to wait for a client
	own    map[int]bool    // and those that wait for work of the server's own
	locked map[int]float64 // s that each thread of the service waited as for a lock, in windows
	ended  map[int]int     // waits for a client, by the process that ended them
	woken  map[int]int     // by threads of the service
}

// New is an empty account: of all threads of the service, or of those that serve clients.
func New(all bool) *Account {
	return &Account{all: all, locked: map[int]float64{}, own: map[int]bool{}, Own: map[int]bool{}, Clients: map[int]bool{}, serves: map[int]bool{},
		ended: map[int]int{}, woken: map[int]int{}}
}

// A client ends at least this share of all waits for one, or is woken so many times for each wait that it ends.
const (
	mainClient = 0.1
	answered   = 0.25
)

// queues is the share of its time from which a thread takes turns with others at a lock.
const queues = 0.02

// seldom is how much less of its time a thread that hands out work waits as for a lock than one that it wakes: both take
// the lock of the queue between them, the longer the fewer CPUs there are.
const seldom = 0.25

// hands reports that a thread hands out work to another: it waits for clients, and hardly ever as the one does that it
// wakes. A pool's threads have nothing to do meanwhile.
func (a *Account) hands(by, to *lane) bool {
	return a.all && by.Member && a.serves[by.TID] &&
		a.locked[by.TID] < max(queues*floats.Sum(a.Lengths), seldom*a.locked[to.TID])
}

// serve finds the clients.
func (a *Account) serve() {
	all := 0
	for _, n := range a.ended {
		all += n
	}
	clear(a.Clients)
	for pid, n := range a.ended {
		if float64(n) >= mainClient*float64(all) || float64(a.woken[pid]) >= answered*float64(n) {
			a.Clients[pid] = true
		}
	}
}

// Share is the part's time that ends in a way, as a share of that of which the end was seen, with its 95 % interval by
// windows. N is their number; 0: none showed an end.
func (a *Account) Share(part explain.PartName, is func(End) bool) result.Estimate {
	var x, of []float64
	in := a.Each(part, func(e End) bool { return e.Kind != Unseen && is(e) })
	for i, all := range a.Each(part, seen) {
		if all > 0 {
			x, of = append(x, in[i]), append(of, all)
		}
	}
	if len(x) == 0 {
		return result.Estimate{High: 1}
	}
	r := stats.RatioOfSums(x, of, 0.05)
	if len(x) == 1 { // one window says nothing of others
		r.Low, r.High = 0, 1
	}
	return result.Estimate{Value: r.Value, Low: max(0, r.Low), High: min(1, r.High), N: len(x), Evidence: result.Measured}
}

func seen(e End) bool { return e.Kind != Unseen }

// Each is the part's time in each window that ends in a way, s.
func (a *Account) Each(part explain.PartName, is func(End) bool) (seconds []float64) {
	for _, w := range a.Windows {
		sum := 0.0
		for _, e := range slices.SortedFunc(maps.Keys(w[part]), compare) {
			if is(e) {
				sum += w[part][e]
			}
		}
		seconds = append(seconds, sum)
	}
	return seconds
}

// Seen is the share of a part's time of which the end was seen, and how many windows showed one.
func (a *Account) Seen(part explain.PartName) (share float64, windows int) {
	ended := a.Each(part, seen)
	for _, s := range ended {
		if s > 0 {
			windows++
		}
	}
	all := floats.Sum(a.Each(part, func(End) bool { return true }))
	return floats.Sum(ended) / max(all, 1e-9), windows
}

// Ends are all that a part's waits ended with, the longest first.
func (a *Account) Ends(part explain.PartName) []End {
	seconds := map[End]float64{}
	for _, w := range a.Windows {
		for e, s := range w[part] {
			seconds[e] += s
		}
	}
	return slices.SortedFunc(maps.Keys(seconds), func(x, y End) int {
		return cmp.Or(cmp.Compare(seconds[y], seconds[x]), compare(x, y))
	})
}

func compare(x, y End) int {
	flags := func(e End) (n int) {
		if e.Log {
			n++
		}
		if e.Data {
			n += 2
		}
		if e.Client {
			n += 4
		}
		return n
	}
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.PID, y.PID), cmp.Compare(flags(x), flags(y)))
}

// Join puts neighbouring windows together, so that n are left, and ends that are below small of a part, or of the
// service itself, with its largest one of their kind and owner: enough for an answer and its interval, and a hundredth
// of the room.
func (a *Account) Join(n int, small float64) {
	n = min(n, len(a.Windows))
	as := map[explain.PartName]map[End]End{}
	for _, part := range explain.PartNames {
		as[part] = a.foldable(part, small)
	}
	sum := func(x []float64) []float64 {
		out := make([]float64, n)
		for i, v := range x {
			out[i*n/len(x)] += v
		}
		return out
	}
	windows := make([]Shares, n)
	for i, w := range a.Windows {
		at := i * n / len(a.Windows)
		if windows[at] == nil {
			windows[at] = Shares{}
		}
		for part, ends := range w {
			if windows[at][part] == nil {
				windows[at][part] = map[End]float64{}
			}
			for e, s := range ends {
				if other, small := as[part][e]; small {
					e = other
				}
				windows[at][part][e] += s
			}
		}
	}
	a.Windows, a.Lengths, a.Ran, a.Waited = windows, sum(a.Lengths), sum(a.Ran), sum(a.Waited)
}

// foldable are the small ends of a part, and the one that each goes with.
func (a *Account) foldable(part explain.PartName, small float64) map[End]End {
	type kind struct {
		End
		own, client, none bool
	}
	sums, all := map[End]float64{}, 0.0
	for _, w := range a.Windows {
		for e, s := range w[part] {
			sums[e], all = sums[e]+s, all+s
		}
	}
	largest, out := map[kind]End{}, map[End]End{}
	for _, e := range a.Ends(part) { // the longest first
		k := kind{e, a.Own[e.PID], a.Clients[e.PID], e.PID == 0}
		k.PID = 0
		if first, there := largest[k]; !there {
			largest[k] = e
		} else if sums[e] < small*all || k.own {
			out[e] = first
		}
	}
	return out
}
