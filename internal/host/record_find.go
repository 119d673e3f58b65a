package host

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// recordedMount is one line of /proc/self/mountinfo, proc_pid_mountinfo(5).
type recordedMount struct {
	root, point, fstype, source, super string
}

func recordedMounts(t Tree) []recordedMount {
	text, _ := t.Read("/proc/self/mountinfo")
	var out []recordedMount
	for _, line := range strings.Split(string(text), "\n") {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		out = append(out, recordedMount{unoctal.Replace(l[3]), unoctal.Replace(l[4]), r[0], unoctal.Replace(r[1]), r[2]})
	}
	return out
}

// unoctal undoes the escapes of show_mountinfo (fs/proc_namespace.c: mangle).
var unoctal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)

// cgroupDirs lists the directories of this process' cgroups and their ancestors,
// for limits anywhere above bind too.
func cgroupDirs(t Tree) []string {
	text, _ := t.Read("/proc/self/cgroup")
	mounts := recordedMounts(t)
	var dirs []string
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || !path.IsAbs(f[2]) {
			continue
		}
		for _, m := range mounts {
			if f[1] == "" && m.fstype == "cgroup2" || f[1] != "" && m.fstype == "cgroup" && limitsIn(f[1], m.super) {
				dirs = append(dirs, ancestors(m.point, f[2])...)
				if below, ok := strings.CutPrefix(f[2], m.root); ok && m.root != "/" { // a bind mount of a part
					dirs = append(dirs, ancestors(m.point, path.Clean("/"+below))...)
				}
			}
		}
	}
	return dirs
}

// limitsIn reports whether two comma-separated lists have cpu, cpuset or memory in
// common, the controllers that limits are read from.
func limitsIn(controllers, super string) bool {
	for _, c := range []string{"cpu", "cpuset", "memory"} {
		if strings.Contains(","+controllers+",", ","+c+",") && strings.Contains(","+super+",", ","+c+",") {
			return true
		}
	}
	return false
}

func ancestors(point, below string) []string {
	var dirs []string
	for below = path.Clean(below); ; below = path.Dir(below) {
		dirs = append(dirs, path.Join(point, below))
		if below == "/" || below == "." {
			return dirs
		}
	}
}

// mountSources lists the /dev names that devices are mounted by, as in /dev/vg/lv.
func mountSources(t Tree) []string {
	var out []string
	for _, m := range recordedMounts(t) {
		if strings.HasPrefix(m.source, "/dev/") {
			out = append(out, path.Clean(m.source))
		}
	}
	return out
}

// recordedServer is a running database server whose log directory facts will look for.
type recordedServer struct {
	proc string // /proc/PID
	root string // /proc/PID/root if it sees other mounts than we do, as in a container; else ""
	args []string
	cwd  string   // "" if it may not be read
	logs []string // /proc/PID/fd/N of its log files
	open []string // the directories of those
	conf string   // the option file of MySQL or MariaDB that its arguments name, or ""
}

// serverNames are the process names (comm, at most 15 bytes) of database servers.
// That of Oracle's log writer is ora_lgwr_SID.
var serverNames = map[string]bool{
	"postgres": true, "postmaster": true, "mysqld": true, "mariadbd": true, "sqlservr": true,
	"hdbnameserver": true, "hdbindexserver": true,
}

// logFile matches the redo logs that servers hold open: of MySQL and MariaDB,
// Oracle, HANA (with its data volume) and SQL Server.
var logFile = regexp.MustCompile(`(?i)/(ib_logfile|#ib_redo|logsegment_|datavolume_)[^/]*$|redo[^/]*$|/onlinelog/|\.ldf$`)

// databaseServers finds the servers that run, without PostgreSQL's children: those
// of its clients carry user names and addresses in their title.
func databaseServers(t Tree) []recordedServer {
	names, _ := t.Dir("/proc")
	var out []recordedServer
	for _, n := range names {
		if _, err := strconv.Atoi(n); err != nil {
			continue
		}
		proc := "/proc/" + n
		comm := t.Text(proc + "/comm").Or("")
		if !serverNames[comm] && !strings.HasPrefix(comm, "ora_lgwr_") {
			continue
		}
		cmdline, err := t.Read(proc + "/cmdline")
		if title := string(cmdline); err != nil || title == "" || strings.HasPrefix(title, "postgres: ") {
			continue
		}
		s := recordedServer{proc: proc, args: strings.Split(strings.TrimRight(string(cmdline), "\x00\n"), "\x00")}
		if ours, err := os.Readlink(t.Join("/proc/self/ns/mnt")); err == nil {
			if theirs, err := os.Readlink(t.Join(proc + "/ns/mnt")); err == nil && theirs != ours {
				s.root = proc + "/root"
			}
		}
		if s.cwd, err = os.Readlink(t.Join(proc + "/cwd")); err == nil && !path.IsAbs(s.cwd) {
			s.cwd = path.Join(proc, s.cwd) // in a recording
		}
		for _, a := range s.args {
			name, value, _ := strings.Cut(a, "=")
			if (name == "--defaults-file" || name == "--defaults-extra-file") && path.IsAbs(value) {
				s.conf = path.Join("/", s.root, value)
			}
		}
		fds, _ := t.Dir(proc + "/fd")
		for _, fd := range fds {
			if target, err := os.Readlink(t.Join(proc + "/fd/" + fd)); err == nil && strings.Contains(target, "/") && logFile.MatchString(target) {
				s.logs = append(s.logs, proc+"/fd/"+fd)
				if !path.IsAbs(target) {
					target = path.Join(proc, "fd", target) // in a recording
				}
				if dir := path.Dir(target); s.root == "" || !strings.HasPrefix(dir, s.root+"/") {
					s.open = append(s.open, path.Join("/", s.root, dir))
				} else {
					s.open = append(s.open, dir)
				}
			}
		}
		out = append(out, s)
	}
	return out
}

// dirs lists the directories where a server may keep its data and log.
func (s recordedServer) dirs() []string {
	data, logs := s.cwd, slices.Clone(s.open)
	for i, a := range s.args {
		next := ""
		if i+1 < len(s.args) {
			next = s.args[i+1]
		}
		name, value, _ := strings.Cut(strings.ReplaceAll(a, "_", "-"), "=")
		if _, v, ok := strings.Cut(a, "="); ok {
			value = v // as it was, with its underscores
		}
		switch {
		case a == "-D" || a == "--pgdata" || a == "--datadir":
			value, name = next, "--datadir"
		case strings.HasPrefix(a, "-D/"):
			value, name = a[2:], "--datadir"
		}
		switch {
		case !path.IsAbs(value):
		case name == "--datadir" || name == "--pgdata":
			data = path.Clean(value)
		case name == "--innodb-log-group-home-dir":
			logs = append(logs, path.Join(s.root, value))
		}
	}
	if path.IsAbs(data) && data != "/" {
		data = path.Join("/", s.root, data)
		logs = append(logs, data)
		for _, sub := range []string{"pg_wal", "pg_xlog", "#innodb_redo", "ib_logfile0"} {
			logs = append(logs, path.Join(data, sub))
		}
	}
	for _, p := range slices.Clone(logs) { // outside, it may be the same
		if out, ok := strings.CutPrefix(p, s.root); ok && s.root != "" {
			logs = append(logs, out)
		}
	}
	return logs
}

// configHz takes CONFIG_HZ from the kernel's configuration, as a file of the
// place where distributions keep it; the whole would be larger than all else.
func (r *recorder) configHz() {
	release := r.t.Text("/proc/sys/kernel/osrelease").Or("")
	if release == "" || strings.Contains(release, "/") {
		return
	}
	to := "/boot/config-" + release
	for _, from := range []string{to, "/lib/modules/" + release + "/config", "/proc/config.gz"} {
		b, err := r.t.Read(from)
		if err != nil {
			continue
		}
		var text io.Reader = bytes.NewReader(b)
		if path.Ext(from) == ".gz" {
			if text, err = gzip.NewReader(text); err != nil {
				continue
			}
		}
		for lines := bufio.NewScanner(text); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "CONFIG_HZ=") {
				r.members[to] = member{data: []byte(lines.Text())}
				return
			}
		}
	}
}
