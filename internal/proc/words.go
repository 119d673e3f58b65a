package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// mostSaid is more than the environment or the command line of nearly any program. mostGiven is what execve(2) takes
// of both at most (fs/exec.c: three quarters of 8 MiB).
const (
	mostSaid  = 128 << 10
	mostGiven = 6 << 20
)

// errLong is of a process whose memory says more: it may name any of it as its environment (PR_SET_MM_MAP in
// prctl(2)), a mapping of gigabytes, too.
var errLong = errors.New("longer than the text of a program is")

// Words are the strings of a process's environ or cmdline. What they say is the process's own doing.
func Words(pid int, file string) ([]string, error) {
	return words(fmt.Sprintf("/proc/%d/%s", pid, file), mostSaid)
}

func words(name string, most int64) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > most:
		return nil, fmt.Errorf("%s: %w", name, errLong)
	}
	return strings.Split(string(b), "\x00"), nil
}
