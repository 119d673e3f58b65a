package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Reader is a process that reads from a pipe, as links of descriptors name it; 0: none shows.
func Reader(pipe string) int {
	all, _ := Recent()
	for _, p := range all {
		for fd, name := range descriptors(p.PID) {
			if name == pipe && reads(fmt.Sprintf("/proc/%d/fdinfo/%s", p.PID, fd)) {
				return p.PID
			}
		}
	}
	return 0
}

// reads reports a descriptor that is not for writing alone (O_ACCMODE in proc_pid_fdinfo(5), which is octal).
func reads(info string) bool {
	b, _ := os.ReadFile(info)
	_, after, _ := strings.Cut(string(b), "flags:")
	words := strings.Fields(after)
	if len(words) == 0 {
		return false
	}
	flags, err := strconv.ParseUint(words[0], 8, 64)
	return err == nil && flags&3 != 1
}

// LockHolders are who holds the lock of a file that processes wait for (proc_locks(5)). Who holds one of an open file
// description, or is in another namespace, does not show.
func LockHolders() map[int]int {
	out := map[int]int{}
	b, _ := os.ReadFile("/proc/locks")
	holder := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line) // 1: FLOCK ADVISORY WRITE 77 fe:00:9 0 EOF; who waits follows: 1: -> FLOCK ADVISORY WRITE 78 ...
		switch {
		case len(f) > 5 && f[1] == "->":
			if pid, err := strconv.Atoi(f[5]); err == nil && pid > 0 && holder > 0 {
				out[pid] = holder
			}
		case len(f) > 4:
			holder, _ = strconv.Atoi(f[4])
		}
	}
	return out
}
