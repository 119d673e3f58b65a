package waits

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/thread"
)

// Watcher looks at threads. Those that have had a CPU since the last census are looked at each time, and for all others
// one look stands for the time between two censuses: hundreds of idle sessions cost next to nothing.
type Watcher struct {
	pids    func() []int
	threads map[Thread]*watched
	tally   Tally
	last    time.Time // look
	census  time.Time // when all threads were listed last
	dead    []Thread
	used    proc.Accounts
	buf     [512]byte
	sockets sockets
	groups  proc.Freezers
	follow  time.Time // that groups may be found anew
	frosted bool      // this look has asked who is frozen
}

// every is the time between two censuses, and followPause how many times as long as it took nobody looks for groups
// again.
const (
	every       = time.Second
	followPause = 2000
)

type watched struct {
	dir           string
	syscall, stat int              // descriptors, held open of one that is active; -1
	looks         map[Wait]float64 // s that looks stood for since the last census
	from          time.Time        // of that; zero: there was none
	ran           time.Duration    // on a CPU or ready for one by then
	files         files            // until the next census
	writes        map[int64]bool   // descriptors, and whether each write there waits for its device; likewise
	faults        string           // pages that were read for it since then, at the first look
}

func (t *watched) active() bool { return t.stat >= 0 }

// Open begins to watch the threads of processes, which pids lists anew at each census.
func Open(pids func() []int) *Watcher {
	return &Watcher{pids: pids, threads: map[Thread]*watched{}, tally: Tally{Looks: map[Thread]map[Wait]float64{}}}
}

// Close books what is left, and lets go of all threads.
func (w *Watcher) Close() {
	w.count(time.Now())
	w.sockets.share(w.tally.Looks)
	for id := range w.threads {
		w.forget(id)
	}
}

// Tally is what was seen so far.
func (w *Watcher) Tally() *Tally { return &w.tally }

// Look looks at each active thread once, and at all threads once a second.
func (w *Watcher) Look() {
	runtime.LockOSThread() // whose CPU time is counted
	defer runtime.UnlockOSThread()
	began := time.Now()
	cpu, _ := thread.CPUTime()
	if w.last.IsZero() {
		w.last = began
	}
	since := began.Sub(w.last)
	w.last, w.frosted = began, false
	w.tally.Wall += since
	for id, t := range w.threads {
		if t.active() {
			w.see(id, t, since)
		}
	}
	if began.Sub(w.census) >= every {
		w.count(began)
	}
	for _, id := range w.dead {
		w.forget(id)
		w.tally.Lost++
	}
	w.dead = w.dead[:0]
	now, _ := thread.CPUTime()
	w.tally.CPU += now - cpu
}

// count lists all threads, looks at those that were idle, and finds out which of them are active now.
func (w *Watcher) count(now time.Time) {
	since := every
	if !w.census.IsZero() {
		since = now.Sub(w.census)
	}
	w.census = now
	here, pids := map[Thread]bool{}, w.pids()
	if !now.Before(w.follow) {
		w.groups.Follow(pids)
		w.follow = now.Add(max(every, followPause*time.Since(now)))
	}
	for _, pid := range pids {
		names, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			continue
		}
		for _, n := range names {
			tid, err := strconv.Atoi(n.Name())
			if err != nil {
				continue
			}
			id := Thread{pid, tid}
			here[id] = true
			t := w.threads[id]
			if t == nil {
				t = &watched{dir: fmt.Sprintf("/proc/%d/task/%d/", pid, tid), syscall: -1, stat: -1, files: files{},
					writes: map[int64]bool{}, looks: map[Wait]float64{}}
				w.threads[id] = t
			} else if !t.active() {
				if err := t.open(); err == nil {
					w.see(id, t, since)
				}
			}
			clear(t.files)
			clear(t.writes)
			t.faults = ""
			ran, err := w.ran(id)
			switch idle := err == nil && ran == t.ran; {
			case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH):
				w.dead = append(w.dead, id)
				continue
			case idle:
				t.close()
			default: // also where the kernel keeps no such counts
				if t.open() != nil {
					w.dead = append(w.dead, id)
					continue
				}
			}
			w.settle(id, t, now, ran, err == nil)
		}
	}
	for id := range w.threads {
		if !here[id] {
			w.dead = append(w.dead, id)
		}
	}
}

func (t *watched) open() (err error) {
	if t.active() {
		return nil
	}
	if t.stat, err = unix.Open(t.dir+"stat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if t.syscall, err = unix.Open(t.dir+"syscall", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		t.syscall = -1 // Unseen
	}
	return nil
}

func (t *watched) close() {
	for _, fd := range []*int{&t.stat, &t.syscall} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
		}
		*fd = -1
	}
}

func (w *Watcher) forget(id Thread) {
	if t := w.threads[id]; t != nil {
		t.close()
		w.used.Forget(int64(id.TID))
		delete(w.threads, id)
	}
}

// ran is for how long a thread was on a CPU or ready for one.
func (w *Watcher) ran(id Thread) (time.Duration, error) {
	on, ready, err := w.used.Read(int64(id.TID))
	return on + ready, err
}

// settle books the time since the last census: what the scheduler counted is exact, and the rest is divided as the
// looks saw it. Looks alone are biased on a busy host: they need a CPU themselves.
func (w *Watcher) settle(id Thread, t *watched, now time.Time, ran time.Duration, counted bool) {
	of := w.tally.Looks[id]
	if of == nil {
		of = map[Wait]float64{}
		w.tally.Looks[id] = of
	}
	off, rest := 0.0, 1.0
	for wait, s := range t.looks {
		if wait.Kind != Running {
			off += s
		}
	}
	if counted && !t.from.IsZero() {
		run := min((ran - t.ran).Seconds(), now.Sub(t.from).Seconds())
		of[Wait{Kind: Running}] += run
		switch away := now.Sub(t.from).Seconds() - run; {
		case off > 0:
			rest = away / off
		default:
			of[Wait{Kind: Between}] += away
		}
	}
	for wait, s := range t.looks {
		if wait.Kind != Running || !counted {
			of[wait] += s * rest
		}
	}
	t.from, t.ran = now, ran
	clear(t.looks)
}

// fields are those of stat from the state on.
func (w *Watcher) fields(t *watched) ([][]byte, bool) {
	n, err := unix.Pread(t.stat, w.buf[:], 0)
	if err != nil || n <= 0 {
		return nil, false
	}
	_, after, ok := bytes.Cut(w.buf[:n], []byte(") "))
	if !ok {
		return nil, false
	}
	return bytes.Fields(after), true
}

// see books what a thread does for the time since the last look.
func (w *Watcher) see(id Thread, t *watched, since time.Duration) {
	wait, err := w.wait(id, t)
	if err != nil {
		w.dead = append(w.dead, id)
		return
	}
	t.looks[wait] += since.Seconds()
	w.tally.N++
}

var errEnded = errors.New("the thread has ended")

// majorFaults is the number of pages that were read for a thread (majflt in proc_pid_stat(5)), among fields from the
// state on.
const majorFaults = 12 - 3

func (w *Watcher) wait(id Thread, t *watched) (Wait, error) {
	f, ok := w.fields(t)
	if !ok {
		return Wait{}, errEnded
	}
	state := f[0][0]
	switch state {
	case 'R':
		return Wait{Kind: Running}, nil
	case 'T', 't':
		return Wait{Kind: Stopped}, nil
	case 'Z', 'X':
		return Wait{}, errEnded
	}
	if file := w.frozen(id.PID); file != "" {
		return Wait{Kind: Stopped, On: file}, nil
	}
	blocked := state == 'D'
	if t.syscall < 0 {
		return Wait{Kind: Unseen, Blocked: blocked}, nil
	}
	faults := ""
	if len(f) > majorFaults {
		if faults = string(f[majorFaults]); t.faults == "" {
			t.faults = faults
		}
	}
	n, err := unix.Pread(t.syscall, w.buf[:], 0)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return Wait{Kind: Unseen, Blocked: blocked}, nil
	case err != nil || n <= 0:
		return Wait{}, errEnded
	}
	out, number, all := called(w.buf[:n])
	out.Blocked = blocked && out.Kind != Running
	if out.Kind == Page && faults != t.faults {
		out.Kind = Fault
	}
	if polls[number] {
		if out.On = w.polled(id, t, all); out.On != "" && !strings.HasPrefix(out.On, unlisted) {
			out.Kind = Server
		}
		return out, nil
	}
	if out.Kind == Child {
		out.On, out.Does = child(id)
	}
	fd, named := descriptor(number, all)
	if !named {
		return out, nil
	}
	if out = out.on(t.files.of(id.PID, fd), number); out.Kind == Write {
		is, known := t.writes[fd]
		if !known {
			is = through(id.PID, fd)
			t.writes[fd] = is
		}
		if is {
			out.Kind = Sync
		}
	}
	if out.Kind == Peer {
		server := w.sockets.server(id.PID, fd, out.On)
		switch {
		case strings.HasPrefix(server, unlisted):
			out.On = server
			return out, nil
		case server != "":
			out.Kind, out.On = Server, server
			return out, nil
		}
		out.On, _, _ = strings.Cut(out.On, ":[") // socket:[123]
	}
	return out, nil
}

// deepest is how far children of children are followed.
const deepest = 5

// child is the program of a process for which a thread waits, and what that does: the first one that it has begun, or a
// child of that in turn. "": none shows.
func child(of Thread) (program string, does Kind) {
	for range deepest {
		all, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", of.PID, of.TID))
		first, _, _ := strings.Cut(string(all), " ")
		pid, err := strconv.Atoi(first)
		if err != nil {
			return program, does
		}
		p, err := proc.Read(pid)
		if err != nil {
			return "", ""
		}
		program = p.Name
		switch p.State {
		case 'R', 'Z', 'X': // it is about to end
			return program, Running
		case 'T', 't':
			return program, Stopped
		}
		call, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		word, _, _ := strings.Cut(string(call), " ")
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil { // it got a CPU since, or this user may not look
			return program, ""
		}
		if does = Of(number); does != Child {
			return program, does
		}
		of = Thread{pid, pid}
	}
	return program, does
}

// frozen is the file by which a process is frozen that has no CPU; "": it is not.
func (w *Watcher) frozen(pid int) string {
	if !w.frosted {
		w.groups.Look()
		w.frosted = true
	}
	return w.groups.Frozen(pid)
}

// manyPolled is how many descriptors a client waits for at most: an event loop of a server has more.
const manyPolled = 64

// polled is the server that a thread in poll(2) waits for, the first of several; "": for something else, too, or that
// does not show.
func (w *Watcher) polled(id Thread, t *watched, args [][]byte) string {
	if len(args) < 2 {
		return ""
	}
	at, err1 := hexadecimal(args[0])
	n, err2 := hexadecimal(args[1])
	if err1 != nil || err2 != nil || n == 0 || n > manyPolled {
		return ""
	}
	const size = 8 // struct pollfd: a descriptor of 4 bytes, and events
	var b [manyPolled * size]byte
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(int(n) * size) //nolint:gosec // limited above
	got, err := unix.ProcessVMReadv(id.PID, local, []unix.RemoteIovec{{Base: uintptr(at), Len: int(n) * size}}, 0)
	if err != nil || got != int(n)*size {
		return ""
	}
	first := ""
	for i := range int(n) {
		fd := int32(binary.NativeEndian.Uint32(b[i*size:])) //nolint:gosec // negative: left out (poll(2))
		if fd < 0 {
			continue
		}
		server := w.sockets.server(id.PID, int64(fd), t.files.of(id.PID, int64(fd)))
		if server == "" {
			return ""
		}
		if first == "" {
			first = server
		}
	}
	return first
}
