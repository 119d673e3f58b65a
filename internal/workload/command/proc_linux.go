package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// orphans are what a program leaves behind, whose parent this process is until end.
type orphans struct{ *proc.Adoption }

func adopt() orphans { return orphans{proc.Adopt()} }

// list reads all processes of the host; a test counts its calls.
var list = proc.All

// end ends what the program, which has been reaped, has left running: what is still in its
// group, and daemons that have made a session of their own (setsid(2)), since these would
// take CPUs from the next runs and find their work done. It says so, or returns "".
func (o orphans) end() string {
	defer o.End()
	names := o.left()
	for end := time.Now().Add(graceLeft); len(names) > 0 && time.Now().Before(end); names = o.left() {
		time.Sleep(5 * time.Millisecond) // they may be ending too
	}
	if len(names) == 0 {
		return ""
	}
	found := "left a process running (%s), which was ended; what it used is not in the responses"
	if len(names) > 1 {
		found = "left " + strconv.Itoa(len(names)) +
			" processes running (%s), which were ended; what they used is not in the responses"
	}
	if left := proc.End(o.remaining, proc.Step{Signal: unix.SIGTERM, Grace: graceTerm},
		proc.Step{Signal: unix.SIGKILL, Grace: graceKilled}); len(left) > 0 {
		found = "left " + left[0].Name + " " + strconv.Itoa(left[0].PID) +
			" running, which does not end: it takes from the next runs (it left %s)"
	}
	return fmt.Sprintf(found, strings.Join(names, ", "))
}

// left names what is left. Names only: numbers would make each run's warning another one.
func (o orphans) left() (names []string) {
	for _, h := range o.remaining() {
		name := h.Name
		if session, _ := unix.Getsid(0); h.Session != session { // fails for no process of ours
			name += ", in a session of its own"
		}
		names = append(names, name)
		h.Close()
	}
	slices.Sort(names)
	return names
}

// remaining holds what is left. All of it descends from orphans that are ours now; only
// where there are any, all processes of the host are looked through, which takes longer
// than many a program.
func (o orphans) remaining() []*proc.Held {
	var roots []int
	for _, s := range o.Adopted() {
		roots = append(roots, s.PID)
	}
	if len(roots) == 0 {
		return nil
	}
	return proc.Find(proc.Below(list(), roots...), func(h *proc.Held) bool { return true })
}

// ownPeak is this process's own peak of memory in bytes.
func ownPeak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "\nVmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(f[0], 10, 64) // 0: not known
	return kib << 10
}

// usageOf reads what wait4 returned. execve counts the peak of the memory that a
// process had before as its own (exec_mmap in fs/exec.c), which for a child is
// still the parent's: a program that needs less than hostlab seems to need as
// much, so that its true peak is not known.
func usageOf(state *os.ProcessState) (u usage) {
	if state == nil {
		return usage{noMaxRSS: "the process's end was not seen"}
	}
	u.user, u.system = state.UserTime(), state.SystemTime()
	ru, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		u.noMaxRSS = "the system did not tell"
		return u
	}
	u.maxRSS = ru.Maxrss << 10
	// Linux 6.2 and later count memory in batches per CPU, so that the two may differ a little.
	if floor := ownPeak(); u.maxRSS <= floor+floor/32 {
		u.noMaxRSS = fmt.Sprintf(
			"it is below %d MiB, hostlab's own peak, which Linux counts as that of every program it starts",
			(floor+1<<20-1)>>20)
	}
	return u
}

// signalled says which signal ended the process, or "".
func signalled(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	text := fmt.Sprintf("was ended by signal %d (%s)", int(ws.Signal()), unix.SignalName(ws.Signal()))
	if ws.Signal() == unix.SIGKILL {
		text += ", as the kernel does when memory runs out (see dmesg)"
	}
	return text
}

// startHint says what to do about a program that is there but does not start.
func startHint(err error) string {
	switch {
	case errors.Is(err, unix.ENOEXEC):
		return "; a script needs a first line such as #!/bin/sh"
	case errors.Is(err, unix.ENOENT):
		return "; the interpreter in its first line, or its loader, does not exist"
	case errors.Is(err, unix.E2BIG):
		return "; the arguments are too long"
	}
	return ""
}
