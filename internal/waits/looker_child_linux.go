package waits

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All of this file but fork runs in a child that has one thread of Go's and no scheduler: nothing may grow the stack,
// allocate, wait for a lock or be preempted. So all functions are nosplit, signals are blocked, and what they use is on
// the board.

// Of futex(2) and others, which package unix leaves out.
const (
	futexWait = 0
	futexWake = 1
	absolute  = 1 // TIMER_ABSTIME
)

// fork begins the child, which looks when it is asked to, until its parent ends.
//
//go:noinline
//go:norace
func fork(b *board, parent int) (pid int, err error) {
	all, before := [1]uint64{^uint64(0)}, [1]uint64{}
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&before)), 8, 0, 0)
	child, _, failed := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if child == 0 && failed == 0 {
		serve(b, uintptr(parent)) //nolint:gosec // a process number is positive
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0)
	if failed != 0 {
		return 0, failed
	}
	return int(child), nil //nolint:gosec // as above
}

//go:nosplit
//go:norace
func call(number, a, b, c, d uintptr) (uintptr, bool) {
	r, _, failed := syscall.RawSyscall6(number, a, b, c, d, 0, 0)
	return r, failed == 0
}

// now is the time of CLOCK_MONOTONIC, ns.
//
//go:nosplit
//go:norace
func now() int64 {
	var at unix.Timespec
	call(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&at)), 0, 0)
	return at.Sec*1e9 + at.Nsec
}

// serve is all that the child does. It keeps no descriptor of its parent's, as a program for the kernel would stay for
// as long.
//
//go:nosplit
//go:norace
func serve(b *board, parent uintptr) {
	if _, all := call(unix.SYS_CLOSE_RANGE, 0, ^uintptr(0)>>33, 0, 0); !all { // before Linux 5.9
		for fd := range uintptr(mostInherited) {
			call(unix.SYS_CLOSE, fd, 0, 0, 0)
		}
	}
	call(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0, 0) // without it wake-ups only look later
	forget(b)
	for {
		if id, _ := call(unix.SYS_GETPPID, 0, 0, 0, 0); id != parent {
			call(unix.SYS_EXIT_GROUP, 0, 0, 0, 0)
		}
		if atomic.LoadUint32(&b.turn) == theirs {
			watch(b)
			atomic.StoreUint32(&b.turn, ours)
		}
		left := int64(1e9) // its parent may have ended
		if ahead := b.due - now(); ahead > 0 {
			left = min(left, ahead) // its parent wakes nobody by then
		}
		rest := unix.Timespec{Sec: left / 1e9, Nsec: left % 1e9}
		call(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.turn)), futexWait, uintptr(ours), uintptr(unsafe.Pointer(&rest)))
	}
}

// forget gives up what is spare, but for the stack, which is a part of the heap: 64 KiB above and below what is in use.
//
//go:nosplit
//go:norace
func forget(b *board) {
	const most = 64 << 10 // a page has at most
	var here byte
	low := uintptr(unsafe.Pointer(&here))&^(most-1) - most
	for i := range b.spares {
		from, to := b.spare[i].from, b.spare[i].to
		if from < low+3*most && low < to {
			call(unix.SYS_MADVISE, from, max(low, from)-from, unix.MADV_DONTNEED, 0)
			from = min(low+3*most, to)
		}
		call(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED, 0)
	}
}

// watch looks at random times around their mean. It is kept where a look is late, as no CPU was free, and each stands
// for the time that was planned: late ones would give such times more weight than they have. One after a stop stands
// for a few of those that were left out.
//
//go:nosplit
//go:norace
func watch(b *board) {
	if b.fresh != 0 {
		b.fresh = 0
		for i := range b.held {
			if b.held[i] > 0 {
				call(unix.SYS_CLOSE, uintptr(b.held[i])-1, 0, 0, 0)
			}
			b.held[i] = 0
		}
	}
	for {
		at := now()
		if b.due == 0 {
			b.due = at
		}
		if b.due >= b.until {
			return
		}
		if b.due > at {
			wait(b.due)
		}
		b.random ^= b.random << 13 // xorshift64
		b.random ^= b.random >> 7
		b.random ^= b.random << 17
		planned := b.mean/2 + int64(b.random>>33)%max(b.mean, 1)
		if b.due += planned; at-b.due > b.mean { // it was stopped: nobody looked meanwhile
			planned += min(at-b.due, 4*b.mean)
			b.due = at
		}
		if !look(b, planned) {
			b.missed++
			b.unseen += planned
		}
	}
}

//go:nosplit
//go:norace
func wait(until int64) {
	at := unix.Timespec{Sec: until / 1e9, Nsec: until % 1e9}
	call(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, absolute, uintptr(unsafe.Pointer(&at)), 0)
}

// look looks once, and reports whether it saw them. It takes all words again where one that waits was ready to run:
// what began to run or to wait meanwhile would else be taken for running both times.
//
//go:nosplit
//go:norace
func look(b *board, planned int64) bool {
	m, n := b.moments, b.processes
	from := int32(0)
	if m > 0 && m <= mostMoments {
		from = b.end[m-1]
	}
	if m >= mostMoments || from+n > mostSeen || !glance(b) {
		return false
	}
	again := false
	for i := range n {
		word := word(b, b.place[i])
		b.before[i] = word
		b.in[i] = within{}
		if b.ready[i] = word == 0; b.call[i] != 0 {
			runs := runs(b, i)
			again = again || runs != b.ready[i]
			b.ready[i] = runs || word == 0 && !b.in[i].named // it did not show
		}
	}
	if again && !glance(b) {
		return false
	}
	for i := range n {
		word, number := word(b, b.place[i]), word(b, b.place[i]-b.xact)
		same := word == b.before[i]
		b.seen[from+i] = sight{word, number != 0, word == 0 && !same || b.ready[i] && same, b.in[i]}
	}
	b.planned[m], b.end[m] = planned, from+n
	b.moments = m + 1
	return true
}

//go:nosplit
//go:norace
func word(b *board, at int32) uint32 {
	return *(*uint32)(unsafe.Add(unsafe.Pointer(&b.memory), at))
}

// glance reads all pieces into memory.
//
//go:nosplit
//go:norace
func glance(b *board) bool {
	const most = 1024 // UIO_MAXIOV
	into := unix.Iovec{Base: &b.memory[0]}
	for i := int32(0); i < b.pieces; i += most {
		n := min(most, b.pieces-i)
		size := 0
		for j := i; j < i+n; j++ {
			size += b.piece[j].Len
		}
		into.Len = uint64(size) //nolint:gosec // it is small
		got, _, failed := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(b.server), uintptr(unsafe.Pointer(&into)), 1,
			uintptr(unsafe.Pointer(&b.piece[i])), uintptr(n), 0)
		if failed != 0 || int(got) != size { //nolint:gosec // as above
			return false
		}
		into.Base = (*byte)(unsafe.Add(unsafe.Pointer(into.Base), size))
	}
	return true
}

// mostInherited is more than hostlab ever has open.
const mostInherited = 1 << 14

// mostHeld is how many descriptors are held open at most.
const mostHeld = 256

// runs reports whether a process is on a CPU or ready for one, as the kernel says in place of its system call
// ("running", proc_pid_syscall in fs/proc/base.c). Else it notes the call and the first argument.
//
//go:nosplit
//go:norace
func runs(b *board, i int32) bool {
	fd := uintptr(b.held[i])
	if fd == 0 {
		b.path = [32]byte{'/', 'p', 'r', 'o', 'c', '/'}
		at, pid := 6, b.call[i]
		unit := int32(1)
		for pid/unit >= 10 {
			unit *= 10
		}
		for ; unit > 0; unit /= 10 {
			b.path[at] = byte('0' + pid/unit%10) //nolint:gosec // a digit
			at++
		}
		for j := range 9 {
			b.path[at+j] = "/syscall\x00"[j]
		}
		r, ok := call(unix.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(&b.path)), unix.O_RDONLY, 0) // AT_FDCWD
		if !ok {
			return false
		}
		fd = r + 1            // 0 is none
		b.held[i] = int32(fd) //nolint:gosec // it is small
	}
	n, ok := call(unix.SYS_PREAD64, fd-1, uintptr(unsafe.Pointer(&b.answer)), uintptr(len(b.answer)), 0)
	if i >= mostHeld {
		call(unix.SYS_CLOSE, fd-1, 0, 0, 0)
		b.held[i] = 0
	}
	if !ok || n < 7 || b.answer[0] == 'r' {
		return ok && n >= 7
	}
	at, number, first := uintptr(0), int64(0), uint64(0)
	for ; at < n && b.answer[at] >= '0' && b.answer[at] <= '9'; at++ {
		number = 10*number + int64(b.answer[at]-'0')
	}
	if at == 0 { // "-1": it waits in none
		number = -1
	}
	for at += 3; at < n && b.answer[at] > ' '; at++ { // " 0x"
		digit := uint64(b.answer[at] - '0')
		if b.answer[at] >= 'a' {
			digit = uint64(b.answer[at]-'a') + 10
		}
		first = 16*first + digit
	}
	b.in[i] = within{Call{number, first}, true}
	return false
}
