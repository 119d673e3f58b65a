package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// installed is how a server is known that root has installed: by the account that its packages make, and by the names
// of its program. Any user may start a program of that name, and have it listen.
var installed = map[string]struct {
	account  string
	programs []string
}{
	"postgres":  {"postgres", []string{"postgres", "postmaster"}},
	"mariadb":   {"mysql", []string{"mariadbd", "mysqld"}},
	"sqlserver": {"mssql", []string{"sqlservr"}},
	"oracle":    {"oracle", []string{"oracle"}},
}

// peerOf is the process that listens on the socket file at the other end, and its account, as the kernel keeps them
// from listen(2) on (SO_PEERCRED, unix(7)), also of one that has put another socket in its place. 0: of another PID
// namespace.
func peerOf(c net.Conn) (*unix.Ucred, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("no socket file")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	failed := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }) //nolint:gosec // a descriptor is small
	return cred, errors.Join(failed, err)
}

// peer is the number of the process at the other end, where it is one of this host and shows; 0: it is not known. Of
// connections over loopback it is one with a program of the vendor's that holds the socket.
func (v *Vendor) peer(c net.Conn) int {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		if cred, err := peerOf(c); err == nil && cred.Pid > initPID {
			return int(cred.Pid)
		}
		return 0
	}
	socket, err := otherEnd(tcp)
	if err != nil {
		return 0
	}
	for _, s := range proc.All() {
		if !slices.Contains(installed[v.String()].programs, s.Name) {
			continue
		}
		p, err := procfs.NewProc(s.PID)
		if err != nil {
			continue
		}
		if holds, _ := p.FileDescriptorTargets(); slices.Contains(holds, fmt.Sprintf("socket:[%d]", socket.INode)) {
			return s.PID
		}
	}
	return 0
}

// initPID is the process that may hand a socket on to a service (systemd.socket(5)).
const initPID = 1

// doubt is why what is at the other end may not have a password in clear, as a clause: its account is neither root's
// nor the vendor's, nor ours; or its program is one that others could have written. nil: there is none. pid is the
// server's process; 0: the one that listens. file is the socket's.
func (v *Vendor) doubt(c net.Conn, file string, pid int) error {
	if tcp, ok := c.(*net.TCPConn); ok {
		socket, err := otherEnd(tcp)
		if err != nil {
			return err
		}
		return v.stranger(int(socket.UID), "its socket")
	}
	cred, err := peerOf(c)
	if err != nil {
		return err
	}
	if err := v.stranger(int(cred.Uid), "its socket"); err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil { // an abstract socket has none
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			err = v.stranger(int(st.Uid), "its socket file")
		}
		if err != nil {
			return err
		}
	}
	if pid == 0 {
		if pid = int(cred.Pid); pid == initPID {
			return nil
		}
	}
	return v.program(pid)
}

// stranger refuses an account that is neither root's, nor that of the vendor's packages, nor this one.
func (v *Vendor) stranger(uid int, whose string) error {
	vendor, err := user.Lookup(installed[v.String()].account)
	if uid == 0 || uid == os.Geteuid() || err == nil && vendor.Uid == strconv.Itoa(uid) {
		return nil
	}
	return fmt.Errorf("%s belongs to %s", whose, screen.Clean(trust.Account(uint32(uid)))) //nolint:gosec // a user ID
}

// program refuses a process whose account is a stranger's, or whose program is not one of the vendor's that lies here
// where only root writes: a script, a program of another mount namespace, one that was deleted or replaced.
func (v *Vendor) program(pid int) error {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return errors.New("its process does not show here")
	}
	status, err := p.NewStatus()
	if err != nil {
		return errors.New("its process does not show here")
	}
	if err := v.stranger(int(status.UIDs[1]), "its process"); err != nil { //nolint:gosec // a user ID
		return err
	}
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	name, err := os.Readlink(exe)
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return nil // its account is what tells, and whose programs it runs is its own matter
	}
	if err != nil {
		return errors.New("its program does not show here")
	}
	shown := screen.Clean(name)
	if !slices.Contains(installed[v.String()].programs, filepath.Base(name)) {
		return fmt.Errorf("it runs %s, which is no program of %s", shown, v.Product)
	}
	runs, err1 := os.Stat(exe)
	here, err2 := os.Lstat(name)
	if err1 != nil || err2 != nil || !os.SameFile(runs, here) {
		return fmt.Errorf("its program is not the %s of this host: it is a container's, or was replaced since it started",
			shown)
	}
	f, err := trust.OpenRegular(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := trust.Parents(filepath.Dir(name)); err != nil {
		return fmt.Errorf("its program %s can be replaced: %w", shown, err)
	}
	if err := trust.Ours(f); err != nil {
		return fmt.Errorf("its program %w", err)
	}
	return nil
}

// otherEnd is the socket at the other end of a connection over loopback.
func otherEnd(c *net.TCPConn) (*netlink.Socket, error) {
	at, _ := c.RemoteAddr().(*net.TCPAddr)
	us, _ := c.LocalAddr().(*net.TCPAddr)
	if at == nil || us == nil || !at.IP.IsLoopback() {
		return nil, errors.New("it is on another host")
	}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		all, err := netlink.SocketDiagTCP(family)
		if err != nil {
			break
		}
		for _, s := range all {
			if int(s.ID.SourcePort) == at.Port && int(s.ID.DestinationPort) == us.Port && s.ID.Source.Equal(at.IP) &&
				s.ID.Destination.Equal(us.IP) {
				return s, nil
			}
		}
	}
	return nil, errors.New("whose socket it is does not show here")
}
