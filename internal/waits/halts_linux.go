package waits

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// nouns say what a thread waits for in a call of a kind.
var nouns = map[Kind]string{Sync: "a sync of", Read: "a read of", Write: "a write to", Push: "a write to", Peer: "an answer from",
	Lock: "a lock of", Poll: "an answer from", Sleep: "a sleep", Child: "a program that it started:", AsyncIO: "asynchronous I/O",
	Page: "a page of memory"}

// mostEnds is for how many pipes and sockets it is looked up who has the other end: that goes through all processes.
const mostEnds = 20

// Halts says what a process waits for in a call, for a sentence: the file, or who has the other end of the pipe or
// socket.
func (e Ends) Halts(pid int, c Call) string {
	kind, fd, named := Of(c.Number), int64(c.First), byDescriptor[c.Number] //nolint:gosec // a descriptor
	if selects[c.Number] && c.First == 0 {                                  // of no descriptor, as sleeps once were
		kind = Sleep
	}
	if nouns[kind] == "" {
		return name(c.Number)
	}
	if kind == Child {
		program, _ := child(Thread{pid, pid})
		return strings.TrimSpace(nouns[kind] + " " + program)
	}
	if polls[c.Number] {
		var b [4]byte // of the first of what it polls
		named = peek(pid, []unix.RemoteIovec{{Base: uintptr(c.First), Len: len(b)}}, b[:]) == nil
		fd = int64(int32(binary.NativeEndian.Uint32(b[:]))) //nolint:gosec // a descriptor
	}
	file := ""
	if named {
		file = files{}.of(pid, fd)
	}
	if file == "" {
		return strings.TrimSuffix(strings.TrimSuffix(nouns[kind], " of"), " from")
	}
	kind = Wait{Kind: kind}.on(file, c.Number).Kind
	what, _, end := strings.Cut(file, ":[")
	if !end {
		return nouns[kind] + " a file" // of which there may be many
	}
	if _, known := e[file]; !known && len(e) < mostEnds {
		e[file] = other(pid, file, kind)
	}
	return nouns[kind] + " a " + what + e[file]
}

// other names who has the other end, as a clause; "": it does not show.
func other(pid int, file string, kind Kind) string {
	at, address := 0, ""
	if strings.HasPrefix(file, "socket:") {
		at, address = proc.Peer(pid, file)
	} else if kind == Push {
		at = proc.Reader(file)
	}
	if p, err := proc.Read(at); at > 0 && err == nil {
		return fmt.Sprintf(" of %s (PID %d)", p.Name, at)
	} else if address != "" {
		return " to another host" // whose address no file for others has
	}
	return ""
}
