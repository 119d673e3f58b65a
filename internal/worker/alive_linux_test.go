package worker

import (
	"os"
	"strconv"
	"strings"
)

// alive reports whether a process runs; a zombie, which an init that does not
// reap may leave, does not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
