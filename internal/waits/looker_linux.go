package waits

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// A looker is a child that looks at a server's memory many times a second. It is a fork of hostlab without an exec, so
// that it has one thread and none of Go's: a wake-up costs 40 us of a virtual CPU, and Go's monitor takes several for
// each of ours (sysmon in runtime/proc.go, Go 1.26). It runs functions alone that neither grow the stack nor allocate,
// as what exec follows does in package syscall.
type looker struct {
	b   *board
	pid int
	on  *Group // that it has

	took time.Duration // CPU time, as far as that was asked for
}

// What a board holds at most. A server of more processes is asked; looks that nobody fetches come more seldom.
const (
	mostProcesses = 4096
	mostMoments   = 1024
	mostSeen      = 1 << 18
	mostBytes     = mostProcesses * 2048
)

// board is memory that both have. The child writes while turn is its own, the parent while it is not.
type board struct {
	turn uint32 // theirs or ours: a futex

	// What to look at, and when. Times are those of CLOCK_MONOTONIC, ns.
	server        int32
	fresh         uint32 // calls are of another group
	until, mean   int64
	due           int64 // of the next look; 0: at once
	random        uint64
	pieces, bytes int32
	processes     int32
	piece         [mostProcesses]unix.RemoteIovec
	place         [mostProcesses]int32 // of a process' word in bytes
	xact          int32                // from there back to the number of its transaction
	call          [mostProcesses]int32 // whose system call to ask for when it waits; 0: nobody's
	held          [mostProcesses]int32 // its descriptor

	// What was seen, and what was not: looks for which the memory was not there, or the board had no room.
	missed  int32
	unseen  int64 // ns that those stand for
	moments int32
	planned [mostMoments]int64 // ns that a look stands for
	end     [mostMoments]int32 // of a look in seen
	seen    [mostSeen]sight
	before  [mostProcesses]uint32
	ready   [mostProcesses]bool
	in      [mostProcesses]within
	memory  [mostBytes]byte
	path    [32]byte
	answer  [32]byte

	spares int32
	spare  [8]struct{ from, to uintptr } // memory of hostlab's that it does not need
}

const (
	ours   uint32 = iota // it waits for what to do
	theirs               // it looks
)

// sight is what was seen of a process.
type sight struct {
	word       uint32
	xact, runs bool
	in         within
}

// within is what a process waits in.
type within struct {
	call  Call
	named bool // else it was not asked, or does not say
}

func startLooker() (*looker, error) {
	size := int(unsafe.Sizeof(board{}))
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory for looks: %w", err)
	}
	l := &looker{b: (*board)(unsafe.Pointer(unsafe.SliceData(mem)))} //nolint:gosec // it has that size
	l.b.random = uint64(time.Now().UnixNano()) | 1                   //nolint:gosec // any will do
	l.leave()
	// whose signals are blocked meanwhile: a handler would run Go
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if l.pid, err = fork(l.b, os.Getpid()); err != nil {
		_ = unix.Munmap(mem)
		return nil, fmt.Errorf("a process for looks: %w", err)
	}
	return l, nil
}

// leave lists what the child leaves behind: Go's heap, which would be copied page by page as hostlab goes on writing to
// it, and what programs in the kernel write to. The race detector needs its part of the heap: with it, the child ends.
func (l *looker) leave() {
	list, _ := proc.Maps(os.Getpid()) // without it, the child has all
	here := uint64(uintptr(unsafe.Pointer(l)))
	for _, m := range list {
		if b := l.b; (m.From <= here && here < m.To || m.Name == "anon_inode:bpf-map") && int(b.spares) < len(b.spare) {
			b.spare[b.spares].from, b.spare[b.spares].to = uintptr(m.From), uintptr(m.To)
			b.spares++
		}
	}
}

// close ends the child.
func (l *looker) close() {
	if l.pid != 0 {
		_ = unix.Kill(l.pid, unix.SIGKILL)
		_, _ = unix.Wait4(l.pid, nil, 0, nil)
	}
	_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(l.b)), unsafe.Sizeof(*l.b)))
}

// used is the CPU time of the child; of one that has ended, as it was asked for last.
func (l *looker) used() time.Duration {
	var at unix.Timespec
	if l.pid != 0 && unix.ClockGettime(int32(^l.pid<<3|2), &at) == nil { // clock_getcpuclockid(3), of a process //nolint:gosec // as it says
		l.took = time.Duration(at.Nano())
	}
	return l.took
}

// What ends looks: a child that was killed, and one that has had no CPU for seconds.
var (
	errKilled = errors.New("the process that looks at its memory has ended")
	errSilent = errors.New("the process that looks at its memory had no CPU for 5 s")
)

// look has the child look until a time, and waits for it. A child that sleeps until its next look finds by itself that
// it is to take it: to wake it before would be a wake-up more.
func (l *looker) look(until time.Time, mean time.Duration) error {
	b := l.b
	b.until, b.mean, b.moments, b.missed, b.unseen = now()+int64(time.Until(until)), int64(mean), 0, 0, 0
	due := b.due
	if due >= b.until { // no look falls into this time
		time.Sleep(time.Until(until))
		return nil
	}
	atomic.StoreUint32(&b.turn, theirs)
	if due <= now() {
		_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.turn)), futexWake, 1, 0, 0, 0)
	}
	time.Sleep(time.Until(until))
	for range 5000 { // it may have had no CPU
		if atomic.LoadUint32(&b.turn) == ours {
			return nil
		}
		// its number may be another's now
		if got, err := unix.Wait4(l.pid, nil, unix.WNOHANG, nil); got == l.pid || err != nil {
			l.pid = 0
			return errKilled
		}
		time.Sleep(time.Millisecond)
	}
	return errSilent
}

// show puts what to look at on the board. ask says of whom that waits to find out whether it is ready to run.
func (l *looker) show(w *Words, g *Group, ask func(pid int) bool) {
	b := l.b
	if l.on != g {
		l.on, b.fresh = g, 1
	}
	b.server, b.xact = int32(w.postmaster), int32(w.xact) //nolint:gosec // they are small, as all below
	b.pieces, b.processes = int32(copy(b.piece[:], g.pieces)), int32(copy(b.place[:], g.places))
	for i, pid := range g.pids[:b.processes] {
		if b.call[i] = 0; ask(pid) {
			b.call[i] = int32(pid)
		}
	}
}
