package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"hostlab/internal/lazyre"
	"hostlab/internal/proc"
)

// sockets are the names that servers give their socket files, by the kinds of package host.
var sockets = map[string]*lazyre.Regexp{
	"postgresql": lazyre.New(`/\.s\.PGSQL\.(\d+)$`),
	"mariadb":    lazyre.New(`/[^/]*\.sock$`),
	"mysql":      lazyre.New(`/mysql[^/]*\.sock$`),
}

// Here names the server of a process on this host as its own client would reach it: through its socket file, as the
// user who asks, or for MariaDB as the one whom ~/.my.cnf names. Root goes there as the server's own account, which
// PostgreSQL knows by the socket ("peer"). Any user may run such a process, so that a password is kept back as found
// says.
func Here(kind string, pid int) (*DSN, error) {
	form, ok := sockets[kind]
	if !ok {
		return nil, errors.New("its client takes a network address; name the server by a DSN")
	}
	file, err := socketOf(pid, kind)
	if err != nil {
		return nil, err
	}
	if kind != "postgresql" {
		return mariaHere(kind, pid, file)
	}
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	text := fmt.Sprintf("host=%s port=%s", quote(filepath.Dir(file)), form.FindStringSubmatch(file)[1])
	account := 0
	if os.Geteuid() == 0 {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return nil, fmt.Errorf("the server of process %d has ended", pid)
		}
		status, err := p.NewStatus()
		if err != nil {
			return nil, fmt.Errorf("the server of process %d has ended", pid)
		}
		account = int(status.UIDs[1])
		owner, err := user.LookupId(strconv.Itoa(account))
		if err != nil {
			return nil, fmt.Errorf("it runs as user %d, who has no name here; name the server with --dsn", account)
		}
		text += " dbname=postgres user=" + quote(owner.Username)
	} else if os.Getenv("PGDATABASE") == "" {
		text += " dbname=postgres"
	}
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	d.here, d.found = true, &found{pid: pid, file: file, password: d.Postgres.Password}
	d.Postgres.Password = ""
	d.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialAs(ctx, account, file) }
	return d, nil
}

// mariaHere is Here for MariaDB and MySQL.
func mariaHere(kind string, pid int, file string) (*DSN, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	as := func(name string) (*DSN, error) {
		return Parse((&url.URL{Scheme: kind, User: url.User(name), Host: "localhost", Path: "/",
			RawQuery: url.Values{"socket": {file}}.Encode()}).String())
	}
	d, err := as(me.Username)
	if err != nil {
		return nil, err
	}
	password, err := d.elsewhere()
	if err != nil {
		return nil, err
	}
	d.here, d.found = true, &found{pid: pid, file: file, password: password}
	if own := mariaUser(); own != "" && own != me.Username {
		d.found.as, err = as(own)
	}
	return d, err
}

// socketOf finds the socket file on which a process listens. Its open files tell, to root and
// to its own user; else there must be only one of its kind here.
func socketOf(pid int, kind string) (string, error) {
	fs, err := procfs.NewFS(fmt.Sprintf("/proc/%d", pid)) // its own network namespace
	if err != nil {
		return "", fmt.Errorf("the server of process %d has ended", pid)
	}
	all, err := fs.NetUNIX()
	if err != nil {
		return "", fmt.Errorf("sockets of process %d cannot be read: %w", pid, err)
	}
	const listens = 1 << 16 // __SO_ACCEPTCON
	var found []string
	own := map[string]bool{}
	if p, err := procfs.NewProc(pid); err == nil {
		targets, _ := p.FileDescriptorTargets()
		for _, t := range targets {
			own[t] = true
		}
		delete(own, "") // root without CAP_SYS_PTRACE sees numbers of descriptors alone
	}
	for _, s := range all.Rows {
		if uint64(s.Flags)&listens == 0 || !filepath.IsAbs(s.Path) || strings.HasPrefix(filepath.Base(s.Path), "mysqlx") {
			continue // which speaks MySQL's other protocol
		}
		usual := sockets[kind].MatchString(s.Path)
		if own[fmt.Sprintf("socket:[%d]", s.Inode)] && (usual || kind != "postgresql") { // whose name has the port
			return inside(pid, s.Path), nil
		}
		if usual {
			found = append(found, s.Path)
		}
	}
	slices.Sort(found)
	switch found = slices.Compact(found); {
	case len(own) > 0:
		return "", errors.New("the server listens on no socket file; name it by a DSN")
	case len(found) == 0:
		return "", errors.New("no socket file of a usual name shows to this user; name the server by a DSN")
	case len(found) > 1:
		return "", fmt.Errorf(
			"%d servers listen on socket files, and this user may not see which is whose; name one by a DSN",
			len(found))
	}
	return found[0], nil
}

// inside is a file as a process names it, for us: that of a container lies below its root.
func inside(pid int, file string) string {
	if rest, ok := strings.CutPrefix(file, "/proc/self/"); ok {
		file = fmt.Sprintf("/proc/%d/%s", pid, rest)
	}
	return proc.FileOf(pid, file)
}

// dialAs connects to a socket file as another account, 0 for this one: the server sees who connects, by the
// thread's effective user (SO_PEERCRED, unix(7)). Only this thread becomes that user, and goes to the
// file's directory before: below the root of a container's process none but root finds it.
func dialAs(ctx context.Context, uid int, file string) (net.Conn, error) {
	type reply struct {
		conn net.Conn
		err  error
	}
	if uid == 0 {
		return (&net.Dialer{}).DialContext(ctx, "unix", file)
	}
	done := make(chan reply, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		if err := errors.Join(unix.Unshare(unix.CLONE_FS), unix.Chdir(filepath.Dir(file))); err != nil {
			done <- reply{err: fmt.Errorf("its socket %s cannot be reached: %w", file, err)}
			return
		}
		const same = ^uintptr(0)
		if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); no != 0 { //nolint:gosec // a user ID
			done <- reply{err: no}
			return
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Base(file))
		done <- reply{conn, err}
	}()
	select {
	case a := <-done:
		return a.conn, a.err
	case <-ctx.Done(): // its directory is on a file system that does not answer
		return nil, ctx.Err()
	}
}

// mariaUser is the one of ~/.my.cnf, as whom MariaDB's own clients come; empty: none is named.
func mariaUser() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	user, _, _ := optionFile(filepath.Join(home, ".my.cnf")) // asking for the password reports a refused file
	return user
}
