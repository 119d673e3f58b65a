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
			return nil, fmt.Errorf("another experiment on a live service runs on this host%s; two would disturb each other: wait for it, or stop it with: hostlab run --restore", aloneHolder())
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

// aloneHolder says who has it.
func aloneHolder() string {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: aloneName, Net: "unix"})
	if err != nil {
		return ""
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return ""
	}
	text := ""
	_ = raw.Control(func(fd uintptr) {
		if u, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil { //nolint:gosec // a descriptor is small
			text = fmt.Sprintf(" (pid %d)", u.Pid)
		}
	})
	return text
}

func (a *alone) close() error { return errors.Join(a.l.Close(), a.at.Close()) }
