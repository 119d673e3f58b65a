package proc

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// CannotTrace says why this process may not read the memory of others, and what would let it (ptrace(2), "Ptrace access
// mode checking"); "": nothing known forbids it.
func CannotTrace() string {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	scope := strings.TrimSpace(string(b))
	switch {
	case scope == "3":
		return "kernel.yama.ptrace_scope is 3, which forbids it to root, too, until the next boot"
	case Capable(unix.CAP_SYS_PTRACE):
		return ""
	case os.Geteuid() == 0:
		return "it takes the capability SYS_PTRACE, which root does not have in this container"
	case err != nil || scope == "0":
		return "it takes root, or the service's own user"
	}
	return "it takes root; its own user may not either, as kernel.yama.ptrace_scope is " + scope
}

// Capable reports a capability that is in force; root of a container may not have it (capabilities(7)).
func Capable(capability uint) bool {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capget(&header, &data[0]) == nil && data[capability/32].Effective>>(capability%32)&1 == 1
}
