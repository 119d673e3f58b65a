// Package waits says what the threads of processes do and wait for, by looking at each of them many times a second:
// which system call, on which file. It asks no server anything.
package waits

import "time"

// Kind is what a thread did when it was looked at.
type Kind string

// The kinds. A thread that the scheduler holds ready and one on a CPU look alike: their counters tell them apart.
const (
	Running  Kind = "running"  // on a CPU or ready for one
	Sync     Kind = "sync"     // until a file's data is on its device
	Read     Kind = "read"     // for data of a file
	Write    Kind = "write"    // to a file
	Page     Kind = "page"     // for a page of memory: for reclaim, or a lock of its memory
	Fault    Kind = "fault"    // for a page that is read: of a mapped file, or of swap
	Path     Kind = "path"     // within a call that names a file, as to open it: On is the call
	Lock     Kind = "lock"     // a futex, a semaphore or a lock of a file
	Peer     Kind = "peer"     // for the other end of a socket or pipe
	Push     Kind = "push"     // until the other end of a pipe or socket takes what it is sent, as On names it
	Server   Kind = "server"   // for the answer of a server that it asked, whose address On is
	Poll     Kind = "poll"     // for any of several descriptors: an event loop
	Sleep    Kind = "sleep"    // until a time
	Child    Kind = "child"    // for a process of its own
	AsyncIO  Kind = "async_io" // for completions of io_uring or Linux AIO
	Stopped  Kind = "stopped"  // by a signal or a debugger
	Elsewise Kind = "other"    // a system call of no known kind
	Unseen   Kind = "unseen"   // this user may not look
	Between  Kind = "between"  // it was not on a CPU, and no look fell into that time
)

// Wait is what one look at a thread saw.
type Wait struct {
	Kind Kind
	// On is the file, or the kind of descriptor (socket, pipe), as far as one is named by the call. Of a process of its
	// own it is the program, and Does what that did.
	On   string
	Does Kind
	// Blocked: the kernel does not interrupt it (state D), as while a device works.
	Blocked bool
}

// Thread is one that was looked at.
type Thread struct {
	PID, TID int
}

// Call is a system call by its number, and its first argument; -1: none, as where a page of memory is missing.
type Call struct {
	Number int64
	First  uint64
}

// Ends are who has the other ends of pipes and sockets, as far as that was looked up.
type Ends map[string]string

// Missed are looks at a server's memory that saw nothing, and the time that they stood for.
type Missed struct {
	Looks int
	Time  time.Duration
}

// Tally is how often threads were seen in each wait.
type Tally struct {
	Looks map[Thread]map[Wait]float64 // s that the looks stand for
	N     int                         // looks
	Lost  int                         // looks at threads that had ended
	Wall  time.Duration
	CPU   time.Duration // that looking took
}

// Of is for how long a thread had a CPU or was ready for one, and for how long it was watched, s.
func (t *Tally) Of(id Thread) (ran, watched float64) {
	for w, s := range t.Looks[id] {
		if watched += s; w.Kind == Running {
			ran += s
		}
	}
	return ran, watched
}

// ByWait sums the time of all threads by what they waited for.
func (t *Tally) ByWait() map[Wait]float64 {
	out := map[Wait]float64{}
	for _, waits := range t.Looks {
		for w, s := range waits {
			out[w] += s
		}
	}
	return out
}
