package assess

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/redis"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// A thread that works on answers waits for the server. One that hardly computes, or serves clients, is idle.
func TestAsked(t *testing.T) {
	running := waits.Wait{Kind: waits.Running}
	b := blocked{pace: 20 * time.Millisecond, tally: &waits.Tally{N: 3000, Looks: map[waits.Thread]map[waits.Wait]float64{
		{PID: 1, TID: 1}: {running: 2, {Kind: waits.Server, On: "192.0.2.7:5432"}: 8},
		{PID: 1, TID: 2}: {running: 0.001, {Kind: waits.Server, On: "192.0.2.8:5672"}: 9.9},
		{PID: 1, TID: 3}: {running: 1, {Kind: waits.Peer, On: "socket"}: 9},
	}}}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 3})
	m.Connected, m.Service.Name = false, "shop"
	m.Report.Elapsed, m.Report.Busy = 11, 11
	for _, p := range b.parts(false) {
		if p.Name == explain.Peers && (p.Seconds != 8 || p.Share.Low >= 8 || p.Share.High <= 8) {
			t.Errorf("%+v", p)
		}
		p.Share.Value, p.Share.Low, p.Share.High = p.Share.Value/11, p.Share.Low/11, p.Share.High/11
		m.Report.Parts = append([]explain.Part{p}, m.Report.Parts...)
	}
	m.Asked = b.asked(nil)
	list := m.Server()
	if len(list) != 1 || !strings.Contains(list[0].Text, "waits 73 % of its active time for answers from 192.0.2.7:5432") || *list[0].AtMost < 8./11 {
		t.Fatalf("%+v", list)
	}
	if m.Confide(); strings.Contains(fmt.Sprint(m.Server()), "192.0.2.7") || m.asksHere() {
		t.Errorf("%+v", m.Asked)
	}
	m.Asked = []Asked{{Address: "127.0.0.1:5432", PID: 812, Name: "postgres", Seconds: 8}}
	m.Takers = []Taker{{Taker: proc.Taker{Name: "postgres", PID: 820, Others: []int{812}, Processes: 2, Seconds: 9}},
		{Taker: proc.Taker{Name: "postgres", PID: 420, Processes: 1, Seconds: 3}}}
	if list := m.others(); len(list) != 1 || list[0].PID != 420 {
		t.Errorf("a server that it asks is no neighbour: %+v", list)
	}
	if m.Confide(); !strings.Contains(m.Server()[0].Text, "postgres (PID 812) at 127.0.0.1:5432") || m.Server()[0].Step != `run 'hostlab assess --service pid:812'` {
		t.Errorf("%+v", m.Server())
	}
}

// What most of the time goes to is said once.
func TestAskedOnce(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10, explain.RunQueue: 30, explain.Peers: 60})
	m.Connected, m.Service.Name = false, "shop"
	m.Asked = []Asked{{Address: "127.0.0.1:5432", PID: 812, Name: "postgres", Seconds: 8, Own: true, Opened: 4000}}
	f := m.asking()[0]
	testkit.Has(t, f.Text, ", to which it opens about 4000 connections a second")
	testkit.Is(t, "keep connections to it open (keep-alive, a pool) for many requests each, then look for what keeps it from answering there: it is a process of the service itself", f.Step)
	m.Asked = []Asked{{Address: "127.0.0.1:5432", PID: 812, Name: "postgres", Seconds: 60}}
	testkit.Same(t, []string{"shop waits 60 % of its active time for answers from postgres (PID 812) at 127.0.0.1:5432",
		"first: run 'hostlab assess --service pid:812'", "besides: wait for a CPU 30 %, on CPU 10 %"}, m.answer(nil), "answer")
}

// One thread that is always at work is named, unless it mostly waits for a CPU, or another could not work beside it.
func TestAlone(t *testing.T) {
	running := waits.Wait{Kind: waits.Running}
	b := blocked{tally: &waits.Tally{Wall: 10 * time.Second, Looks: map[waits.Thread]map[waits.Wait]float64{
		{PID: 1, TID: 1 << 30}: {running: 9.9, {Kind: waits.Poll}: 0.1}, {PID: 1, TID: 2}: {running: 1, {Kind: waits.Poll}: 9},
		{PID: 1, TID: 3}: {running: 1}, // it lived for a second
	}}}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10.9})
	m.Connected = false
	m.Full, m.Threads = b.busy()
	list := m.alone()
	if len(list) != 1 || !strings.Contains(list[0].Text, "of 2 threads, thread 1073741824 alone always has work") || !list[0].Matters() {
		t.Errorf("%+v", list)
	}
	m.Full[0].Share, m.Requests = 0.9, &Requests{Unread: 2}
	if list := m.alone(); len(list) != 1 || !strings.Contains(list[0].Text, "alone has work for 90 % of the time while requests wait") {
		t.Errorf("%+v", list)
	}
	m.Report.Wall, m.Full[0].Share, m.Interpreter = 11, 1, &Interpreter{7, 3}
	if list := m.turns(); len(m.alone()) != 0 || len(list) != 1 || !strings.Contains(list[0].Text, "wait some 5 ms each time for it (GIL)") {
		t.Errorf("%+v", list)
	}
	m.Full[0].Share, m.Interpreter = 0.9, nil
	for name, change := range map[string]func(m *Minute){
		"no request waits": func(m *Minute) { m.Requests = &Requests{} }, "one CPU that it may use": func(m *Minute) { m.Host.Allowed = 1 }, "one CPU": func(m *Minute) { m.Host.CPUs = 1 }, "a quota": func(m *Minute) { m.Throttled = new(3.0) },
		"two": func(m *Minute) { m.Full = append(m.Full, m.Full...) }, "not known": func(m *Minute) { m.Host.Busy = nil },
	} {
		other := *m
		if change(&other); len(other.alone()) != 0 {
			t.Errorf("%s: %+v", name, other.alone())
		}
	}
}

// A heap that is too small is named with its limit.
func TestGarbage(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 14, explain.RunQueue: 2, explain.Locks: 84})
	m.Connected = false
	m.Collector = &Collector{Thread: "VM Thread", Seconds: 14, Heap: "58m"}
	list := m.garbage()
	if len(list) != 1 || !strings.Contains(list[0].Says(), "garbage collection (VM Thread) takes 88 % of its CPU time") || !strings.Contains(list[0].Says(), "-Xmx58m") ||
		*list[0].Explains < 0.8 || *list[0].AtMost < *list[0].Explains {
		t.Errorf("%+v", list)
	}
	m.Collector = &Collector{Thread: "VM Thread", Seconds: 14, Unread: true}
	if list := m.garbage(); len(list) != 1 || strings.Contains(list[0].Says(), "has no -Xmx") || !strings.Contains(list[0].Says(), "not known") {
		t.Errorf("a command line that could not be read: %+v", list)
	}
	if m.Collector.Seconds = 1; m.garbage() != nil {
		t.Error("a healthy heap")
	}
	if m.Collector = nil; m.garbage() != nil {
		t.Error("no collector")
	}
}

// Requests that nobody reads while CPUs are idle lack threads; where the CPUs are busy, they lack those.
func TestUntaken(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 1})
	m.Connected, m.Host.Busy, m.Requests = false, new(0.06), &Requests{Connections: 16, Unread: 14, Looks: 12}
	list := m.untaken()
	if len(list) != 1 || !strings.Contains(list[0].Says(), "on 14 of 16 connections a request waits to be taken, while on average 0.017 of its threads have work and CPUs are 6.0 % busy") || *list[0].Explains != 14./16 {
		t.Errorf("%+v", list)
	}
	if m.Host.Busy = new(0.97); len(m.untaken()) != 1 {
		t.Error("CPUs are busy, but not with it")
	}
	if m.Commands = []redis.Command{{Name: "KEYS", Calls: 1, Seconds: 1}}; m.untaken() != nil {
		t.Error("Redis takes no more threads")
	}
	if m.Commands, m.Report.Busy = nil, 300; m.untaken() != nil {
		t.Error("the CPUs are busy, and its threads want them")
	}
	for locks, want := range map[float64]int{0: 0, 50: 1} { // s of 60
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 60 - locks, explain.Locks: locks})
		m.Connected, m.Host.Busy, m.Requests = false, new(0.6), &Requests{Connections: 16, Unread: 14, Looks: 12}
		testkit.Is(t, want, len(m.untaken()), "one thread at work on average", locks)
	}
}

// A limit on a device that holds comes before a faster one, with what lifts it.
func TestThrottled(t *testing.T) {
	before := []service.Throttle{{File: "/g/io.max", Device: "254:0", Limit: 200, Done: 100, Lift: "254:0 riops=max"},
		{File: "/g/io.max", Device: "254:0", Write: true, Limit: 200, Lift: "254:0 wiops=max"}}
	after := slices.Clone(before)
	after[0].Done, after[1].Done = 100+198*60, 10
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10, explain.DataReads: 90})
	m.Throttles = throttlesOf(before, after, 60)
	want := "its control group limits it to 200 reads a second on device 254:0, and it did 198 reads a second"
	levers := m.Levers()
	if list := m.Server(); len(list) != 1 || list[0].Says() != want || !strings.HasSuffix(list[0].Step, `echo "254:0 riops=max" | sudo tee /g/io.max`) ||
		m.First(levers) != list[0].Parameter || *list[0].AtMost < 0.9 {
		t.Errorf("%+v, first %s", list, m.First(levers))
	}
	if m.Throttles = throttlesOf(before, before, 60); m.throttled() != nil {
		t.Error("a limit that did not hold")
	}
}

// Threads that a signal stops are said to be, and idle ones that it stops, too, do not count.
func TestHalted(t *testing.T) {
	running, still := waits.Wait{Kind: waits.Running}, waits.Wait{Kind: waits.Stopped}
	b := blocked{pace: time.Second / 50, tally: &waits.Tally{Looks: map[waits.Thread]map[waits.Wait]float64{
		{PID: 1, TID: 1}: {running: 30, still: 30}, {PID: 1, TID: 2}: {{Kind: waits.Poll}: 30, still: 30},
	}}}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 30})
	m.Connected, m.Stopped = false, b.stopped()
	list := m.halted()
	if len(list) != 1 || *list[0].Explains != 0.5 || *list[0].AtMost < 0.5 || *list[0].AtMost > 0.55 ||
		!strings.Contains(list[0].Says(), "stopped its threads for 30.0 s in 60.0 s, in which they ran for 30.0 s") {
		t.Errorf("%+v", list)
	}
}

// A freezer that stops all of a database's processes is why they do nothing for so long, whatever their sessions tell;
// one of a holder of locks, why others wait.
func TestFrozen(t *testing.T) {
	file := "/sys/fs/cgroup/freezer/x/freezer.state"
	h := halts{all: Stopped{Seconds: 90, Looks: 900, All: true}, files: map[string]float64{file: 90}, pids: map[int]bool{1 << 30: true, 1<<30 + 1: true, 1<<30 + 2: true}}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 100})
	m.Connected, m.Stopped = true, h.stopped()
	list := m.halted()
	if len(list) != 1 || *list[0].Explains != 0.5 || *list[0].AtMost > 0.6 || list[0].Says() != "a freezer ("+file+") stopped all of its processes for 30.0 s in 60.0 s" {
		t.Errorf("%+v", list)
	}
	if !strings.HasSuffix(list[0].Step, "echo THAWED | sudo tee "+file) {
		t.Error(list[0].Step)
	}
	m = minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.Locks: 80})
	m.Connected, m.Stopped = true, &Stopped{Seconds: 50, Looks: 50, PIDs: []int{7}, Processes: 1, File: "/sys/fs/cgroup/x/cgroup.events"}
	m.Report.Blockers = []explain.Blocker{{PID: 7, Held: 0.9, Share: result.Estimate{Value: 1, N: 40}}}
	if list := m.halted(); *list[0].Explains < 0.7 || !strings.HasSuffix(list[0].Step, "echo 0 | sudo tee /sys/fs/cgroup/x/cgroup.freeze") {
		t.Errorf("%+v", list)
	}
}

// TestExtensions: sessions that wait in an extension wait for the server to which they have most connections.
func TestExtensions(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.OtherWaits: 80})
	m.Connected = true
	if m.extensions() != nil {
		t.Error("no extension waits")
	}
	m.Report.Events = []explain.Event{{Name: "Extension:PostgresFdwGetResult", Part: explain.OtherWaits, Seconds: 80}}
	m.Asked = []Asked{{Address: "/run/.s.PGSQL.5433", PID: 812, Name: "postgres", Connections: 4}}
	want := "sessions wait 80 % of active time in extensions, such as postgres_fdw, " +
		"connected to postgres (PID 812) at /run/.s.PGSQL.5433"
	if f := m.extensions(); len(f) != 1 || f[0].Says() != want || f[0].Step != "run 'hostlab assess --service pid:812'" {
		t.Errorf("%+v", f)
	}
}

// Requests that no thread works at and no server is asked for are held by the service itself.
func TestWithin(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 6})
	m.Connected, m.Service.Name, m.Requests = false, "haproxy", &Requests{Connections: 16, AtWork: 16, Looks: 12}
	m.Asked = []Asked{{Address: "127.0.0.1:8098", Requests: 2}}
	want := "of 16 requests at a time, 14 wait within haproxy, where 0.1 threads work on average; 2 wait for 127.0.0.1:8098"
	if list := m.within(); len(list) != 1 || list[0].Says() != want {
		t.Errorf("%+v", list)
	}
	if m.Asked[0].Requests = 15; m.within() != nil {
		t.Error("the server has them")
	}
	m.Asked = []Asked{{Address: "/run/s", Kept: 10, PID: 812, Name: "db"}}
	want = "of 16 requests at a time, 16 wait within haproxy or for db (PID 812) at /run/s, to which it keeps 10 connections open"
	if list := m.within(); len(list) != 1 || list[0].Says() != want || !strings.HasPrefix(list[0].Step, "see whether that answers late: run 'hostlab assess --service pid:812'; else") {
		t.Errorf("%+v", list)
	}
	m.Requests.Held, m.Requests.Lost = 8, 4
	want = "on 8 of 16 connections the end of an answer waits in the kernel until the client confirms its beginning, about 40 ms"
	if list := m.confirmed(); len(list) != 2 || list[0].Text != want || *list[0].Explains != 0.5 || *list[1].Explains != 0.25 ||
		!strings.HasPrefix(list[1].Text, "on 4 of 16 connections an answer was lost") {
		t.Errorf("%+v", list)
	}
}

// Connections that clients open again and again are said to be, and those that found the queue full.
func TestAnew(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 30, explain.RunQueue: 30})
	m.Connected, m.Requests = false, &Requests{Connections: 2, Looks: 12, Opened: proc.Opened{OverTCP: 10_000, OverUnix: 1, Full: 2}}
	want := "clients open 10001 connections a second, while 2 are open on average; to accept and close those takes about 30 % of active time, estimated from 15 us each over TCP and 9 us over Unix sockets"
	if list := m.anew(); len(list) != 1 || list[0].Says() != want {
		t.Errorf("%+v", list)
	}
	want = "2 times a second a client found the queue of connections full that nobody has taken yet, and tries again after a second or more"
	if list := m.refused(); len(list) != 1 || list[0].Text != want || list[0].N != 120 {
		t.Errorf("%+v", list)
	}
	m.Requests.Opened, m.Requests.TLS = proc.Opened{OverTCP: 100}, true // in 60 s, for which it computed 30 s
	want = "clients open 100 connections a second, while 2 are open on average; each takes up to 5.00 ms of CPU time with its requests, which a TLS handshake may be most of"
	if list := m.anew(); len(list) != 1 || list[0].Says() != want || !list[0].Plain || list[0].Explains != nil {
		t.Errorf("%+v", list)
	}
	if m.Requests.Opened = (proc.Opened{OverTCP: 3}); m.anew() != nil || m.refused() != nil {
		t.Error("few connections")
	}
}

// A server of names is named by its port, and by the line that names it.
func TestAskedOverUDP(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10, explain.Peers: 90})
	m.Connected, m.Asked = false, []Asked{{Address: proc.Unnamed, Seconds: 90}}
	testkit.Has(t, m.asking()[0].Text, "waits 90 % of its active time for answers from a server over UDP, whose address does not show as the sockets are not connected")
	testkit.Is(t, "a server over UDP: see in its configuration which server that is, such as one of /etc/resolv.conf",
		m.asking()[0].Parameter+": "+m.asking()[0].Step)
	m.Asked[0].PID, m.Asked[0].Name = 812, "named"
	testkit.Has(t, m.asking()[0].Text, "for answers from named (PID 812), which ended most such waits, over UDP")
	m.Asked = []Asked{{Address: "10.0.0.2:53/udp", Seconds: 90, Line: 2}}
	list := m.asking()
	if len(list) != 1 || !strings.HasSuffix(list[0].Text, "waits 90 % of its active time for answers from 10.0.0.2:53 over UDP (port 53: DNS)") ||
		list[0].Step != "see whether that server answers, or name another: line 2 of /etc/resolv.conf names it" {
		t.Errorf("%+v", list)
	}
}

// A command that takes long is named, as all others wait for the one thread meanwhile.
func TestSlow(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 50})
	m.Commands = []redis.Command{{Name: "KEYS", Calls: 100, Seconds: 40}, {Name: "GET", Calls: 1e6, Seconds: 9}}
	want := "command KEYS has 80 % of active time, 400 ms each, while the others wait for the one thread"
	if list := m.slow(); len(list) != 1 || list[0].Text != want || *list[0].AtMost < *list[0].Explains {
		t.Errorf("%+v", list)
	}
}

// Threads of one interpreter that fill a CPU are named before more CPUs.
func TestTurns(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 58, explain.RunQueue: 120, explain.Locks: 150})
	m.Connected, m.Interpreter = false, &Interpreter{PID: 7, Threads: 6}
	list := m.turns()
	if len(list) != 1 || list[0].Text != "6 threads of Python (PID 7) compute one at a time (GIL): they use 0.97 of 4 CPUs while 5.5 have work" ||
		m.First(m.Levers()) != list[0].Parameter || *list[0].AtMost < *list[0].Explains {
		t.Errorf("%+v, first %s", list, m.First(m.Levers()))
	}
	if m.Interpreter = nil; m.turns() != nil {
		t.Error("no Python")
	}
}
