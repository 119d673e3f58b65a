package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Map is a piece of a process' memory, as proc_pid_maps(5) has it.
type Map struct {
	From, To, Offset uint64
	Rights           string // rwxp, each or -; s in place of p: shared
	Name             string // of a file, of a use in brackets, or none
}

// Maps are those of a process, rising.
func Maps(pid int) (list []Map, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // from-to, rights, offset, device, inode, name
		if len(f) < 5 {
			return nil, fmt.Errorf("/proc/%d/maps: %q", pid, line)
		}
		from, to, _ := strings.Cut(f[0], "-")
		m := Map{Rights: f[1], Name: strings.Join(f[5:], " ")}
		var errs [3]error
		for i, x := range []struct {
			text string
			to   *uint64
		}{{from, &m.From}, {to, &m.To}, {f[2], &m.Offset}} {
			*x.to, errs[i] = strconv.ParseUint(x.text, 16, 64)
		}
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// Shed gives up the pages of this process' program, and of other files that it only reads. Those that it needs again come
// back as they are used, some 64 KiB at once: of hostlab, a third.
func Shed() {
	list, _ := Maps(os.Getpid()) // without it, all stays
	for _, m := range list {
		if strings.HasPrefix(m.Name, "/") && m.Rights[0] == 'r' && m.Rights[1] == '-' && m.Rights[3] == 'p' {
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, uintptr(m.From), uintptr(m.To-m.From), unix.MADV_DONTNEED)
		}
	}
}
