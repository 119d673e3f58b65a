package waits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Watcher looks at threads. Those that have had a CPU since the last census are looked at each time, and for all others one
// look stands for the time between two censuses: hundreds of idle sessions cost next to nothing.
type Watcher struct {
	pids    func() []int
	threads map[Thread]*thread
	tally   Tally
	last    time.Time // look
	census  time.Time // when all threads were listed last
	dead    []Thread
	buf     [512]byte
}

// every is the time between two censuses.
const every = time.Second

type thread struct {
	dir           string
	syscall, stat int              // descriptors, held open of one that is active; -1
	turns         string           // how often it has had a CPU
	files         map[int64]string // by descriptor, until the next census
}

func (t *thread) active() bool { return t.stat >= 0 }

// Open begins to watch the threads of processes, which pids lists anew at each census.
func Open(pids func() []int) *Watcher {
	return &Watcher{pids: pids, threads: map[Thread]*thread{}, tally: Tally{Looks: map[Thread]map[Wait]float64{}}}
}

// Close lets go of all threads.
func (w *Watcher) Close() {
	for id := range w.threads {
		w.forget(id)
	}
}

// Tally is what was seen so far.
func (w *Watcher) Tally() *Tally { return &w.tally }

// Look looks at each active thread once, and at all threads once a second.
func (w *Watcher) Look() {
	began := time.Now()
	cpu := threadCPU()
	if w.last.IsZero() {
		w.last = began
	}
	since := began.Sub(w.last)
	w.last = began
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
	w.tally.CPU += threadCPU() - cpu
}

// count lists all threads, looks at those that were idle, and finds out which of them are active now.
func (w *Watcher) count(now time.Time) {
	since := every
	if !w.census.IsZero() {
		since = now.Sub(w.census)
	}
	w.census = now
	here := map[Thread]bool{}
	for _, pid := range w.pids() {
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
				t = &thread{dir: fmt.Sprintf("/proc/%d/task/%d/", pid, tid), syscall: -1, stat: -1, files: map[int64]string{}}
				w.threads[id] = t
			} else if !t.active() {
				if err := t.open(); err == nil {
					w.see(id, t, since)
				}
			}
			clear(t.files)
			turns, err := t.count()
			if err != nil || turns == t.turns {
				t.close()
			} else if err := t.open(); err != nil {
				w.dead = append(w.dead, id)
			}
			t.turns = turns
		}
	}
	for id := range w.threads {
		if !here[id] {
			w.dead = append(w.dead, id)
		}
	}
}

func (t *thread) open() (err error) {
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

func (t *thread) close() {
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
		delete(w.threads, id)
	}
}

// count is how often the thread has had a CPU (sched-stats.rst), as text: it is compared with itself alone.
func (t *thread) count() (string, error) {
	b, err := os.ReadFile(t.dir + "schedstat")
	if errors.Is(err, fs.ErrNotExist) { // or the kernel keeps no such counts: then each thread is taken for active
		return time.Now().String(), nil
	}
	return string(b), err
}

// fields are those of stat from the state on.
func (w *Watcher) fields(t *thread) ([][]byte, bool) {
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
func (w *Watcher) see(id Thread, t *thread, since time.Duration) {
	wait, err := w.wait(id, t)
	if err != nil {
		w.dead = append(w.dead, id)
		return
	}
	of := w.tally.Looks[id]
	if of == nil {
		of = map[Wait]float64{}
		w.tally.Looks[id] = of
	}
	of[wait] += since.Seconds()
	w.tally.N++
}

var errEnded = errors.New("the thread has ended")

func (w *Watcher) wait(id Thread, t *thread) (Wait, error) {
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
	blocked := state == 'D'
	if t.syscall < 0 {
		return Wait{Kind: Unseen, Blocked: blocked}, nil
	}
	n, err := unix.Pread(t.syscall, w.buf[:], 0)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return Wait{Kind: Unseen, Blocked: blocked}, nil
	case err != nil || n <= 0:
		return Wait{}, errEnded
	}
	text := w.buf[:n]
	if bytes.HasPrefix(text, []byte("running")) { // it got a CPU since
		return Wait{Kind: Running}, nil
	}
	call, args, _ := bytes.Cut(text, []byte(" "))
	number, err := strconv.ParseInt(string(bytes.TrimSpace(call)), 10, 64)
	if err != nil {
		return Wait{Kind: Elsewise, Blocked: blocked}, nil
	}
	if number < 0 { // in the kernel without a system call: a page fault (proc_pid_syscall(5))
		return Wait{Kind: Page, Blocked: blocked}, nil
	}
	kind, known := calls[number]
	if !known {
		return Wait{Kind: Elsewise, On: "system call " + strconv.FormatInt(number, 10), Blocked: blocked}, nil
	}
	out := Wait{Kind: kind, Blocked: blocked}
	if !byDescriptor[number] {
		return out, nil
	}
	first, _, _ := bytes.Cut(args, []byte(" "))
	fd, err := strconv.ParseInt(string(bytes.TrimPrefix(first, []byte("0x"))), 16, 64)
	if err != nil {
		return out, nil
	}
	out.On = t.file(id, fd)
	if (kind == Read || kind == Write) && !strings.HasPrefix(out.On, "/") {
		out.Kind = Peer
	}
	return out, nil
}

// file is what a descriptor of a process leads to: a path, or "socket", "pipe" and other kinds.
func (t *thread) file(id Thread, fd int64) string {
	if name, known := t.files[fd]; known {
		return name
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", id.PID, fd))
	switch {
	case errors.Is(err, fs.ErrPermission):
		name = ""
	case err != nil:
		name = "" // it was closed meanwhile
	case !strings.HasPrefix(name, "/"):
		name, _, _ = strings.Cut(name, ":") // socket:[123]
	}
	t.files[fd] = strings.TrimSuffix(name, " (deleted)")
	return t.files[fd]
}

func threadCPU() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}
