package host

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

type process struct {
	view
	pid, parent int
	comm        string
	args        []string
	hidden      bool // in a container into which this process may not look
}

func (p process) file(name string) string { return "/proc/" + strconv.Itoa(p.pid) + "/" + name }

type engine struct {
	name   string // of its process, which the kernel cuts to 15 characters
	prefix bool   // the name only begins so
	kind   string
	read   func(p process) (Database, bool)
	log    func(file string) bool // tells its log among its open files
}

var engines = []engine{
	{"postgres", false, "postgresql", readPostgres, noFile},
	{"postmaster", false, "postgresql", readPostgres, noFile},
	{"mariadbd", false, "mariadb", readMySQL, isRedo},
	{"mysqld", false, "mysql", readMySQL, isRedo},
	{"ora_lgwr_", true, "oracle", readOracle, isOracleRedo},
	{"hdbindexserver", false, "hana", readHANA, func(f string) bool { return isLogSegment(f) || isDataVolume(f) }},
	{"sqlservr", false, "sqlserver", readSQLServer, isLDF},
}

type server struct {
	process
	engine
	inside Database // as the server itself names its directories, below p.root
	db     Database
}

// readDatabases looks for database servers among the processes. Where /proc
// hides those of others (hidepid), there is nothing to be seen.
func readDatabases(t Tree) []Database {
	list := []Database{}
	for _, s := range findServers(t) {
		list = append(list, s.db)
	}
	slices.SortStableFunc(list, func(a, b Database) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.PID, b.PID))
	})
	return list
}

// findServers reads the servers side by side, since each whose files are on a
// dead network file system costs answerWithin.
func findServers(t Tree) []server {
	names, _ := t.quiet().Dir("/proc")
	names = slices.DeleteFunc(names, func(n string) bool { return !isNumber(n) })
	var found []server
	// A host with hundreds of CPUs has thousands of kernel threads, and each costs about 10 us.
	comms := sideBySide(names, readers(), func(pid string) string { return t.quiet().Text("/proc/" + pid + "/comm").Or("") })
	for i, comm := range comms {
		of := slices.IndexFunc(engines, func(e engine) bool {
			return comm == e.name || e.prefix && strings.HasPrefix(comm, e.name)
		})
		if pid, err := strconv.Atoi(names[i]); err == nil && of >= 0 {
			found = append(found, server{process: process{view: view{t, "", selfMounts}, pid: pid, comm: comm}, engine: engines[of]})
		}
	}
	found = sideBySide(found, currentReaders, func(s server) server {
		answer := s.ask(t.quiet())
		if t.notes != nil && answer.db.Kind != "" { // only servers are recorded
			answer = s.ask(t)
		}
		return answer
	})
	return slices.DeleteFunc(found, func(s server) bool { return s.db.Kind == "" })
}

// ask returns the server as read; one of no kind is none. On the machine itself
// it does not wait for file systems that do not answer.
func (s server) ask(t Tree) server {
	if !t.Live() {
		return s.answer(t)
	}
	answer, err := inTime(func() (server, error) { return s.answer(t), nil })
	if err != nil {
		dir := Unknown[string](s.file("cwd"), err)
		answer = s
		answer.db = Database{Kind: s.kind, PID: s.pid, DataDir: dir, LogDir: dir}
	}
	return answer
}

func (s server) answer(t Tree) server {
	s.process = newProcess(t, s.pid, s.comm)
	if len(s.args) == 0 { // about to end: no memory, no arguments, no files
		return server{}
	}
	db, ok := s.read(s.process)
	if !ok {
		return server{}
	}
	db.PID, s.inside = s.pid, db
	db.DataDir, db.LogDir = s.believed(s.outside(db.DataDir)), s.believed(s.outside(db.LogDir))
	s.db = db
	return s
}

func newProcess(t Tree, pid int, comm string) process {
	p := process{view: view{t, "", selfMounts}, pid: pid, comm: comm}
	t.noted(p.file("comm"), note{content: true})
	p.args = parseCmdline(t.Text(p.file("cmdline")).Or(""))
	p.parent = parseParent(t.Text(p.file("stat")).Or(""))
	// Another mount namespace: the server is in a container, and its paths are not
	// ours. Only root and the same user may see that.
	own, err1 := readLink(t, "/proc/self/ns/mnt")
	its, err2 := readLink(t, p.file("ns/mnt"))
	switch {
	case err1 == nil && err2 == nil && own != its:
		p.view = view{t, p.file("root"), p.file("mountinfo")}
	case err2 != nil:
		p.hidden = nestedPID(t.Text(p.file("status")).Or(""))
	}
	return p
}

// nestedPID reports whether a process has a number of its own in a container:
// NSpid in /proc/PID/status, which anybody may read, then lists more than one.
func nestedPID(status string) bool {
	line, _ := lineOf(status, "NSpid:")
	return len(strings.Fields(line)) > 1
}

// parseCmdline splits a command line at its NULs. Servers that rewrite theirs for
// ps leave one text, perhaps padded with NULs or blanks.
func parseCmdline(s string) []string {
	s = strings.TrimRight(s, "\x00 ")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// parseParent takes the parent's number out of /proc/PID/stat, "1 (comm) S 0 ...";
// the name may hold anything, parentheses and blanks, too.
func parseParent(s string) int {
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// option returns the value of the last of some options: --name=value,
// --name value, and name=value after -c, with dashes and underscores alike.
func (p process) option(names ...string) string {
	value := ""
	for i, arg := range p.args {
		if i == 0 {
			continue
		}
		k, v, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !slices.Contains(names, strings.ReplaceAll(k, "-", "_")) {
			continue
		}
		switch {
		case has:
			value = v
		case strings.HasPrefix(arg, "--") && i+1 < len(p.args):
			value = p.args[i+1]
		}
	}
	return value
}

// cwd is the working directory, which PostgreSQL, MySQL and MariaDB set to the
// data directory. Only root and the same user may see it.
func (p process) cwd() Fact[string] {
	link, err := readPath(p.t, p.file("cwd"))
	if err != nil {
		return Unknown[string](p.file("cwd"), adviseDenied(err))
	}
	return Known(p.seen(link), "", p.file("cwd"))
}

// seen turns a path of the server into one for this process.
func (p process) seen(dir string) string {
	if rest, its := strings.CutPrefix(dir, "/proc/self/"); its { // a descriptor that it was started with
		return p.file(rest)
	}
	if p.root != "" && !within(dir, p.root) {
		return path.Clean(p.root + "/" + dir)
	}
	return path.Clean(dir)
}

// outside is the last word on a directory of the server. In a container that may
// not be looked into, its paths mean nothing here. Where the server merely has a
// mount namespace of its own, as ProtectHome and PrivateTmp of systemd make it,
// the directory outside is the same one, and is named like that.
func (p process) outside(dir Fact[string]) Fact[string] {
	name, known := dir.Get()
	if known && p.hidden {
		return Unknown[string](p.file("root"), errDenied)
	}
	in, below := strings.CutPrefix(name, p.root+"/")
	if !known || p.root == "" || !below {
		return dir
	}
	in = "/" + in
	own := view{p.t, "", selfMounts}
	its, ours := readMounts(p.t, p.mounts).place(in), readMounts(p.t, own.mounts).place(in)
	if resolved, err := own.resolve(in); err == nil && resolved == in && its != "" && its == ours {
		dir.Value = in
	}
	return dir
}

// follow resolves the links of a directory that a fact names. A directory that
// may not be looked into is denied, because a link in it may lead elsewhere.
func (p process) follow(dir Fact[string]) Fact[string] {
	name, ok := dir.Get()
	if !ok {
		return dir
	}
	own, inView := viewOf(p.t, name)
	resolved, err := own.resolve(inView)
	if err != nil {
		return Unknown[string](dir.Source+": "+name, adviseDenied(err))
	}
	dir.Value = path.Clean(own.root + resolved)
	return dir
}

// openDir returns the directory of the first open file that fits. Servers open
// their logs early, so that a bounded search finds them.
func (p process) openDir(fits func(name string) bool) Fact[string] {
	const most = 512
	source := p.file("fd")
	fds, err := p.t.quiet().Dir(source)
	if err != nil {
		p.t.noted(source, note{links: true}) // for the mark
		if _, marked := p.t.Read(source); marked != nil && !p.t.Live() {
			err = marked // a recording marks a folder like a file
		}
		return Unknown[string](source, adviseDenied(err))
	}
	for i, fd := range fds {
		if i == most {
			break
		}
		link, err := readPath(p.t.quiet(), source+"/"+fd)
		if err == nil && strings.HasPrefix(link, "/") && fits(strings.TrimSuffix(link, " (deleted)")) {
			p.t.noted(source+"/"+fd, note{})
			return Known(p.seen(path.Dir(link)), "", source)
		}
	}
	return absentFact[string](source, "no log file is open")
}
