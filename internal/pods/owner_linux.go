package pods

import (
	"os"
	"path"
	"syscall"

	"hostlab/internal/proc"
)

// owner is whose a container is: who owns the group above it made it. Its own group is given to the user whom its
// root is outside of it.
func owner(group string) int {
	for _, h := range proc.Hierarchies() {
		dir := h.Dir(path.Dir(group))
		if info, err := os.Stat(dir); err == nil && dir != "" {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				return int(st.Uid)
			}
		}
	}
	return -1
}
