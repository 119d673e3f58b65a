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
		m, err := mapOf(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("/proc/%d/maps: %q: %w", pid, line, err)
		}
		list = append(list, m)
	}
	return list, nil
}

// mapOf reads a line's words: from-to, rights, offset, device, inode, name.
func mapOf(f []string) (m Map, err error) {
	if len(f) < 5 {
		return m, errors.New("too short")
	}
	from, to, _ := strings.Cut(f[0], "-")
	m = Map{Rights: f[1], Name: strings.Join(f[5:], " ")}
	var errs [3]error
	for i, x := range []struct {
		text string
		to   *uint64
	}{{from, &m.From}, {to, &m.To}, {f[2], &m.Offset}} {
		*x.to, errs[i] = strconv.ParseUint(x.text, 16, 64)
	}
	return m, errors.Join(errs[:]...)
}

// Shed gives up the pages of this process' program, and of other files that it only reads. Those that it needs again come
// back as they are used, some 64 KiB at once: of hostlab, a third. Pages that were written before they were protected
// (relocations, ld.so(8)) would be lost, so that a piece that has one stays.
func Shed() {
	text, _ := os.ReadFile("/proc/self/smaps") // without it, all stays
	var m Map
	for line := range strings.Lines(string(text)) {
		switch f := strings.Fields(line); {
		case len(f) >= 5 && !strings.HasSuffix(f[0], ":"):
			m, _ = mapOf(f)
		case len(f) == 3 && f[0] == "Anonymous:" && f[1] == "0" && strings.HasPrefix(m.Name, "/") && strings.HasPrefix(m.Rights, "r-") &&
			strings.HasSuffix(m.Rights, "p"):
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, uintptr(m.From), uintptr(m.To-m.From), unix.MADV_DONTNEED)
		}
	}
}
