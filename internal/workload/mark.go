package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// markVariable is set in the environment of all programs that workloads start.
const markVariable = "HOSTLAB_WORK"

// Mark is an environment variable for programs that a workload starts, by which
// what they leave running is found after hostlab was killed. It has the workload's
// directory and the session (setsid(2)) of hostlab, which daemons leave. All have
// the same length for a directory, since the size of the environment moves the stack
// and thereby can change how fast a program is (Mytkowicz et al., ASPLOS 2009).
func Mark(work string, session int) string {
	return fmt.Sprintf("%s=%010d:%s", markVariable, session, work)
}

// Marked reports whether a variable is the mark of a directory, and the session in
// it.
func Marked(variable, work string) (session int, ok bool) {
	value, ok := strings.CutPrefix(variable, markVariable+"=")
	if !ok {
		return 0, false
	}
	number, dir, _ := strings.Cut(value, ":")
	session, err := strconv.Atoi(number)
	return session, err == nil && dir == work
}
