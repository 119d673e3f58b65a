package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hostlab/internal/lockfile"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// stopPatience is how long a session may take to put everything back when it is asked to end.
const stopPatience = 2 * time.Minute

// Stop asks the session that runs in a record's directory to end, and waits until it has put everything
// back. asking is called with its process before. It does nothing where none runs.
func Stop(ctx context.Context, dir string, asking func(pid int)) error {
	asked := false
	for began := time.Now(); ; {
		st, err := store.Open(dir)
		if err == nil {
			return st.Close()
		}
		busy, ok := errors.AsType[*lockfile.Busy](err)
		switch {
		case !ok || busy.PID == 0:
			return err
		case !asked && !lockfile.Opened(busy.PID, filepath.Join(dir, store.LockFile)):
			return fmt.Errorf("%w; process %d does not hold it, so nothing was stopped", err, busy.PID)
		case !asked:
			asked = true
			asking(busy.PID)
			p, err := os.FindProcess(busy.PID)
			if err == nil {
				err = p.Signal(syscall.SIGTERM)
			}
			if err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("process %d cannot be asked to end: %w", busy.PID, err)
			}
		case time.Since(began) > stopPatience:
			return fmt.Errorf("process %d did not end within %s; end it with kill -9, and its guard puts the baseline back",
				busy.PID, screen.Brief(stopPatience))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
