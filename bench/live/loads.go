//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/privatedb"
)

// load is one whose answer is known by how it is made.
type load struct {
	Name    string
	At      place // of its server; without a vendor the service is a process that computes
	Clients clients
	Alone   loops // the service itself, where it has no server
	Others  loops // beside it
	// Without the cause: a load of the same transactions; nil: the cause is not taken away.
	Without *load
	// Lever is the cause. "": none of the platform's is worthwhile.
	Lever string
	// Bound is explain's lever that the gain is compared with, where it is none of assess.
	Bound string
	// Null is set of a service that has nothing to gain.
	Null bool
}

// rank is the priority of the service: what else runs on this host is kept from a load that has
// nothing of ours beside it.
func (l *load) rank() int {
	if l.Others.Duty > 0 {
		return 0
	}
	return 1
}

func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// allLoads are the loads of both databases, and of a process.
func allLoads() []load {
	starved := load{Name: "process starved", Alone: loops{1, 1}, Others: loops{3, 1}, Lever: lever.CPUs}
	out := []load{
		starved.without(func(l *load) { l.Others.Duty = 0 }),
		{Name: "process cpu", Alone: loops{1, 1}},
		{Name: "null process", Alone: loops{1, 0.3}, Null: true},
	}
	// Some 0.1, 1 and 5 ms of a CPU.
	out = append(out, ofDatabase("pg", privatedb.PostgreSQL, [3]string{"select count(*) from generate_series(1, 1000)",
		"select count(*) from generate_series(1, 10000)", "select count(*) from generate_series(1, 50000)"})...)
	return append(out, ofDatabase("maria", privatedb.MariaDB, [3]string{"select benchmark(8000, sqrt(2))",
		"select benchmark(80000, sqrt(2))", "select benchmark(400000, sqrt(2))"})...)
}

// without returns the load with another that lacks its cause.
func (l load) without(change func(*load)) load {
	w := l
	w.Clients.Steps = slices.Clone(l.Clients.Steps)
	change(&w)
	l.Without = &w
	return l
}

func ofDatabase(name string, v *privatedb.Vendor, work [3]string) (out []load) {
	here := place{Vendor: v}
	late := func(delay float64) place { return place{Vendor: v, Delay: ms(delay)} }
	quick := func(l *load) { l.At.Delay = 0 }
	clear := func(l *load) { l.Others.Duty = 0 }
	own := step{Class: commits, SQL: "update t set n = n + 1 where id = :own"}
	same := step{Class: commits, SQL: "update t set n = n + 1 where id = 1"}
	begin, commit := step{SQL: "begin"}, step{Class: commits, SQL: "commit"}
	add := func(l load) {
		l.Name = name + " " + l.Name
		out = append(out, l)
	}

	add(load{Name: "cpu", At: here, Clients: clients{N: 1, Steps: []step{{SQL: work[2]}}}})
	for _, delay := range []float64{0.2, 1, 5} {
		add(load{Name: fmt.Sprintf("commit %g ms", delay), At: late(delay), Clients: clients{N: 4, Steps: []step{own}},
			Lever: lever.Log}.without(quick))
	}
	add(load{Name: "think", At: late(1), Clients: clients{N: 8, Steps: []step{own}, Think: ms(20)}, Lever: lever.Log}.without(quick))
	add(load{Name: "row and log", At: late(1), Clients: clients{N: 4, Steps: []step{same}}, Lever: lever.Log}.without(quick))
	held := []step{begin, {Class: locked, SQL: same.SQL}, {Class: pauses, Pause: ms(2)}, commit}
	add(load{Name: "lock", At: here, Clients: clients{N: 4, Steps: held}, Bound: string(explain.Application)}.
		without(func(l *load) { l.Clients.Steps[2].Pause = ms(0.001) }))
	add(load{Name: "starved", At: here, Clients: clients{N: 2, Steps: []step{{SQL: work[1]}}, Think: ms(2)}, Others: loops{4, 1},
		Lever: lever.CPUs}.without(clear))
	one := []step{{Class: reads, SQL: "select pad from big where id = :any"}}
	add(load{Name: "cold", At: place{Vendor: v, Big: true}, Clients: clients{N: 2, Rows: bigRows, Steps: one}, Lever: lever.Data}.
		without(func(l *load) { l.At.Cached = true }))
	chat := []step{begin}
	for range 8 {
		chat = append(chat, step{Class: pauses, SQL: "select n from t where id = :own"})
	}
	add(load{Name: "chatty", At: here, Clients: clients{N: 2, Steps: append(chat, commit), Trip: ms(2)}, Lever: lever.Network}.
		without(func(l *load) { l.Clients.Together = true }))
	out = append(out, load{Name: "null " + name, At: here, Null: true,
		Clients: clients{N: 2, Steps: []step{{SQL: work[1]}}, Think: ms(20)}})
	for _, share := range []float64{10, 30, 60} {
		add(load{Name: fmt.Sprintf("busy %g %%", share), At: here, Others: loops{2, share / 100},
			Clients: clients{N: 2, Steps: []step{{SQL: work[0]}, own}, Think: ms(10)}})
	}
	return out
}
