package pods

import (
	"os"
	"path"
	"syscall"

	"hostlab/internal/proc"
)

// owner is whose a container is: who owns the group above it made it. Its own group is given to the user whom its
// root is outside of it.
func owner(group string) int { return ownerIn(proc.Hierarchies(), group) }

// ownerIn looks in the trees that have the group: of several in version 1, a user may be given the group above in one
// of them alone.
func ownerIn(trees []proc.Hierarchy, group string) int {
	of := -1
	for _, h := range trees {
		dir := h.Dir(group)
		if _, err := os.Stat(dir); dir == "" || err != nil {
			continue
		}
		info, err := os.Stat(path.Dir(dir))
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			of = max(of, int(st.Uid))
		}
	}
	return of
}
