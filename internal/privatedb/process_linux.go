package privatedb

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// endInside kills the processes whose working directory is that one, until there are
// none: that is what a server and all its children have in common, as those of
// PostgreSQL make a session each (setsid in InitPostmasterChild). The directory is open and
// was made by us, so that its owner is the account that the server runs as: processes of
// others are left alone.
func (v *Vendor) endInside(dir *os.File) error {
	want, err := dir.Stat()
	if err != nil {
		return err
	}
	st, ok := want.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	inside := func() []*proc.Held {
		return proc.Find(proc.All(), func(h *proc.Held) bool {
			return h.Inside(want) && h.RunsAs(int(st.Uid), os.Geteuid())
		})
	}
	if left := proc.End(inside, proc.Step{Signal: unix.SIGKILL, Grace: 5 * time.Second}); len(left) > 0 {
		return fmt.Errorf("process %d of %s does not end; its directory %s is being removed anyway", left[0].PID, v.Product,
			filepath.Dir(dir.Name()))
	}
	return nil
}
