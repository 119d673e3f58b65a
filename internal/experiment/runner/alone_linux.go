package runner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/lockfile"
	"hostlab/internal/proc"
)

// alone keeps a second experiment on a live service from this host: a lock in this user's own directory, which nobody
// else can take, and a socket without a file, by which other users, and containers with the host's network, see
// it. Both end with their process however that ends.
type alone struct {
	lock *lockfile.Lock
	l    *net.UnixListener // nil: another user has the name, who is not believed
}

// alonePatience is how long the guard of a killed experiment may take to see that a resumed one does its work.
const alonePatience = 3 * time.Second

func takeAlone() (a *alone, err error) {
	for began := time.Now(); ; time.Sleep(alonePatience / 50) {
		a, err = tryAlone()
		busy, is := errors.AsType[*lockfile.Busy](err)
		switch {
		case err == nil:
			return a, nil
		case !is:
			return nil, fmt.Errorf("cannot make sure that no other live experiment runs on this host: %w", err)
		case time.Since(began) > alonePatience:
			end := ""
			if busy.PID > 0 {
				end = fmt.Sprintf(" with: kill %d (it puts everything back first)", busy.PID)
			}
			return nil, fmt.Errorf("%w; two would disturb each other: wait for it, or stop it%s", busy, end)
		}
	}
}

const aloneWork = "runs an experiment on a live service of this host"

func tryAlone() (*alone, error) {
	r, err := registry(true)
	if err != nil {
		return nil, err
	}
	lock, err := r.Lock(aloneWork)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: aloneName, Net: "unix"})
	if pid, runs := announced(); err != nil && runs {
		lock.Release()
		return nil, &lockfile.Busy{PID: pid, Work: aloneWork}
	}
	return &alone{lock, l}, nil
}

// Running reports the process of the live experiment that runs on this host, 0 where it is in another PID namespace.
func Running() (pid int, runs bool) {
	if r, err := registry(false); err == nil {
		if pid, runs = r.Locked(); runs {
			return pid, true
		}
	}
	return announced()
}

// announced asks the socket. Any user may take its name, so that root and this user alone are believed.
func announced() (pid int, runs bool) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: aloneName, Net: "unix"})
	if err != nil {
		return 0, false
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = raw.Control(func(fd uintptr) {
		u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // a descriptor is small
		if err != nil || u.Uid != 0 && int(u.Uid) != os.Geteuid() {
			return
		}
		runs = true
		// who has begun to listen, which a child may go on with
		if s, err := proc.Read(int(u.Pid)); err == nil && !s.Ended() {
			pid = int(u.Pid)
		}
	})
	return pid, runs
}

func (a *alone) close() error {
	a.lock.Release()
	if a.l == nil {
		return nil
	}
	return a.l.Close()
}
