package chain

import (
	"math"
	"slices"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// A service of three threads (PID 10, 11, 12), a client of this host (20) and a stranger (30), on CPUs 0 and 1.
var (
	first, second, third = task(10, true), task(11, true), task(12, true)
	clientOf, stranger   = task(20, false), task(30, false)
	nobody               Task
)

func task(pid int, member bool) Task { return Task{TID: pid, PID: pid, Member: member} }

const ms = 1_000_000

// leaves has a task leave a CPU and wait; ready: it wants to go on.
func leaves(at uint64, cpu int, by, to Task, kind waits.Kind, word Word) Event {
	return Event{At: at * ms, CPU: cpu, By: by, To: to, Wait: waits.Wait{Kind: kind, Blocked: kind == waits.Sync}, Word: word, Ready: kind == waits.Running}
}

func wakes(at uint64, by, to Task, kind waits.Kind) Event {
	return Event{At: at * ms, Wake: true, By: by, To: to, Wait: waits.Wait{Kind: kind}}
}

const rowLock, clientRead, idleWorker Word = lock<<24 | 5, client << 24, activity << 24

// follow is what parts end with, in ms.
func follow(t *testing.T, until uint64, events ...Event) func(explain.PartName, End) float64 {
	t.Helper()
	a := New(false)
	a.serves = map[int]bool{10: true, 11: true, 12: true}
	a.Add(slices.Values(events), nil, 0, until*ms, ms/100, 0.5)
	return func(part explain.PartName, e End) float64 {
		return math.Round(a.Windows[0][part][e] * 1000)
	}
}

// The second waits for a lock of the first for 10 ms, in which that computes for 2 ms, waits for the stranger's CPU for 5 ms and
// computes again.
func TestLockEndsWithItsHolder(t *testing.T) {
	seen := follow(t, 11,
		leaves(0, 0, second, first, waits.Lock, rowLock),
		leaves(2, 0, first, stranger, waits.Running, 0),
		leaves(7, 0, stranger, first, waits.Running, 0),
		wakes(10, first, second, waits.Lock),
		leaves(11, 0, first, second, waits.Poll, clientRead))
	if cpu, ready := seen(explain.Locks, End{Kind: Computing, PID: 10}), seen(explain.Locks, End{Kind: Ready, PID: 30}); cpu != 5 || ready != 5 {
		t.Errorf("the lock ended with computing for %v ms and with the stranger's CPU for %v, want 5 and 5", cpu, ready)
	}
	testkit.Is(t, 1, seen(explain.RunQueue, End{Kind: Ready, PID: 10}), "after the lock it waited")
}

// Locks behind locks end with the last holder, and a leader's commit is the log's.
func TestAnyDepth(t *testing.T) {
	seen := follow(t, 10,
		leaves(0, 0, third, second, waits.Lock, rowLock),
		leaves(1, 0, second, first, waits.Lock, walWrite),
		leaves(2, 0, first, nobody, waits.Sync, io<<24),
		wakes(8, nobody, first, waits.Sync),
		leaves(8, 0, nobody, first, waits.Running, 0),
		wakes(9, first, second, waits.Lock),
		leaves(9, 0, first, second, waits.Poll, clientRead),
		wakes(10, second, third, waits.Lock))
	testkit.Is(t, 6, seen(explain.Locks, End{Kind: Log, PID: 10, Log: true}))
	testkit.Is(t, 12, seen(explain.LogWait, End{Kind: Log, PID: 10, Log: true}))
	// What the leader computes meanwhile would not be there without the log.
	testkit.Is(t, 2, seen(explain.Locks, End{Kind: Computing, PID: 10, Log: true}))
}

// A client of this host that waits for a CPU keeps its session waiting.
func TestClientsOfThisHost(t *testing.T) {
	seen := follow(t, 6,
		leaves(0, 0, clientOf, stranger, waits.Running, 0),
		leaves(0, 1, first, nobody, waits.Poll, clientRead),
		leaves(4, 0, stranger, clientOf, waits.Running, 0),
		wakes(6, clientOf, first, waits.Poll))
	testkit.Is(t, 4, seen(explain.Application, End{Kind: Ready, PID: 30, Client: true}), "the client was ready for")
}

// Who was interrupted while a client's packet arrived is no client, unless the service answers it.
func TestInterruptedIsNoClient(t *testing.T) {
	for _, c := range []struct {
		ended, woken int
		client       bool
	}{{1, 0, false}, {1, 1, true}, {100, 0, true}} {
		a := New(false)
		a.ended[30], a.ended[31], a.woken[30], a.woken[31] = c.ended, 100, c.woken, 100
		if a.serve(); a.Clients[30] != c.client || !a.Clients[31] {
			t.Errorf("%+v: %v", c, a.Clients)
		}
	}
}

func TestEndsOfTheirOwn(t *testing.T) {
	// Woken by a device while nobody of this host runs: another host's client.
	seen := follow(t, 3, leaves(0, 0, first, nobody, waits.Poll, clientRead), wakes(3, nobody, first, waits.Poll))
	testkit.Is(t, 3, seen(explain.Application, End{Kind: Remote, PID: 10, Client: true}))
	// The window is over before it is woken.
	seen = follow(t, 3, leaves(0, 0, first, nobody, waits.Lock, rowLock))
	testkit.Is(t, 3, seen(explain.Locks, End{Kind: Unseen, PID: 10}), "ms had no end, want 3")
	// Two that wait for each other.
	seen = follow(t, 4, leaves(0, 0, first, nobody, waits.Lock, rowLock), leaves(0, 1, second, nobody, waits.Lock, rowLock),
		wakes(3, first, second, waits.Lock), wakes(4, second, first, waits.Lock))
	if round := seen(explain.Locks, End{Kind: Circle, PID: 10}) + seen(explain.Locks, End{Kind: Circle, PID: 11}); round < 3 {
		t.Errorf("%v ms of a circle, want at least 3", round)
	}
	// A worker of the server's own that has nothing to do is nobody's time.
	a := New(false)
	a.serves[10] = true
	a.Add(slices.Values([]Event{leaves(0, 0, first, nobody, waits.Poll, idleWorker), wakes(2, nobody, first, waits.Poll)}), nil, 0, 2*ms, ms/10, 0)
	testkit.Is(t, 0, len(a.Windows[0]), "an idle worker has", a.Windows[0])
}

// An interval is of windows: one alone says nothing of others.
func TestShareOfWindows(t *testing.T) {
	a := New(false)
	a.serves[10] = true
	for i := range uint64(20) {
		a.Add(slices.Values([]Event{leaves(0, 0, first, stranger, waits.Running, 0), leaves(4+i%2, 0, stranger, first, waits.Running, 0)}), nil, 0, 10*ms, ms/100, 0.5)
		s := a.Share(explain.RunQueue, func(e End) bool { return e.PID == 30 })
		if s.N != int(i)+1 || i == 0 && (s.Low != 0 || s.High != 1) {
			t.Fatalf("after %d windows: %+v", i+1, s)
		}
	}
	if s := a.Share(explain.Locks, func(End) bool { return true }); s.N != 0 || s.High != 1 {
		t.Errorf("of a part that no window showed: %+v", s)
	}
}
