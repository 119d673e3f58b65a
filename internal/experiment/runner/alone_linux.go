package runner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alone keeps a second experiment on a live service from this host: a socket without a file, and a lock on a
// directory, which end with their process however that ends. Each network namespace has sockets of its own, and each
// PID namespace a /proc of its own: only a process with both of its own is not seen.
type alone struct {
	l  *net.UnixListener
	at *os.File
}

// alonePatience is how long the guard of a killed experiment may take to see that a resumed one does its work.
const alonePatience = 3 * time.Second

func takeAlone() (a *alone, err error) {
	for began := time.Now(); ; time.Sleep(alonePatience / 50) {
		a, err = tryAlone()
		switch {
		case err == nil:
			return a, nil
		case time.Since(began) <= alonePatience:
		case errors.Is(err, unix.EADDRINUSE), errors.Is(err, unix.EWOULDBLOCK):
			return nil, fmt.Errorf("another experiment on a live service runs on this host%s; two would disturb each other: wait for it, or stop it%s", aloneHolder(), howToEnd())
		default:
			return nil, fmt.Errorf("cannot make sure that no other live experiment runs on this host: %w", err)
		}
	}
}

func tryAlone() (*alone, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: aloneName, Net: "unix"})
	if err != nil {
		return nil, err
	}
	at, err := os.Open(aloneAt)
	if err == nil {
		if err = unix.Flock(int(at.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // a descriptor is small
			_ = at.Close()
		}
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &alone{l, at}, nil
}

// aloneHolder says who has it; "": none has.
func aloneHolder() string {
	pid, runs := Running()
	if !runs {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// howToEnd is the command for that: --restore knows an experiment only from when it changes something.
func howToEnd() string {
	if pid, _ := Running(); pid > 0 {
		return fmt.Sprintf(" with: kill %d (it puts everything back first)", pid)
	}
	return ""
}

// Running reports the process of the live experiment that runs on this host, 0 where it is in another PID namespace.
func Running() (pid int, runs bool) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: aloneName, Net: "unix"})
	if err != nil {
		return 0, false
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, true
	}
	_ = raw.Control(func(fd uintptr) {
		if u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil { //nolint:gosec // a descriptor is small
			pid = int(u.Pid)
		}
	})
	return pid, true
}

func (a *alone) close() error { return errors.Join(a.l.Close(), a.at.Close()) }
