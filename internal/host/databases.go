package host

import (
	"cmp"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

// process is a database server's, as readers of its kind see it.
type process struct {
	view
	engine
	pid, parent int
	peers       []int // processes of the same name, itself among them
	comm        string
	args        []string // at least one
	hidden      bool     // in a container into which this process may not look
}

func (p process) file(name string) string { return "/proc/" + strconv.Itoa(p.pid) + "/" + name }

// readServers looks for servers among the processes, side by side, since each whose
// files are on a dead network file system costs answerWithin. Where /proc
// hides processes of others (hidepid), there is nothing to be seen.
func readServers(t Tree) (databases, apps []Database) {
	names, _ := t.quiet().Dir("/proc")
	names = slices.DeleteFunc(names, func(n string) bool { return !isNumber(n) })
	// A host with hundreds of CPUs has thousands of kernel threads, and each costs about 10 us.
	comms := sideBySide(names, readers(), func(pid string) string {
		return t.quiet().Text("/proc/" + pid + "/comm").Or("")
	})
	known := append(engines[:len(engines):len(engines)], sapInstance)
	var found []process
	peers := map[string][]int{}
	for i, comm := range comms {
		of := slices.IndexFunc(known, func(e engine) bool { return e.comm.MatchString(comm) })
		if pid, err := strconv.Atoi(names[i]); err == nil && of >= 0 {
			found = append(found, process{engine: known[of], pid: pid, comm: comm})
			peers[comm] = append(peers[comm], pid)
		}
	}
	list := sideBySide(found, currentReaders, func(p process) Database {
		p.peers = peers[p.comm]
		db := p.ask(t.quiet())
		if t.notes != nil && db.Kind != "" { // only servers are recorded
			db = p.ask(t)
		}
		return db
	})
	slices.SortStableFunc(list, func(a, b Database) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.PID, b.PID))
	})
	databases = []Database{}
	for _, s := range list {
		switch s.Kind {
		case "":
		case sapInstance.kind:
			apps = append(apps, s)
		default:
			databases = append(databases, s)
		}
	}
	return databases, append([]Database{}, readApps(t, apps)...)
}

// ask returns the server of a process; one of no kind is none. On the machine itself
// it does not wait for file systems that do not answer.
func (p process) ask(t Tree) Database {
	t.process = p.file("")
	p.view = view{t, "", selfMounts}
	if !t.Live() {
		return p.answer()
	}
	db, err := inTime(func() (Database, error) { return p.answer(), nil })
	if err != nil {
		dir := Unknown[string](p.file("cwd"), err)
		db = Database{Kind: p.kind, PID: p.pid, DataDir: dir, LogDir: dir, Version: dir}
	}
	return db
}

func (p process) answer() Database {
	p.t.noted(p.file("comm"), note{content: true})
	p.args = parseCmdline(p.t.Text(p.file("cmdline")).Or(""))
	if len(p.args) == 0 { // about to end: no memory, no arguments, no files
		return Database{}
	}
	p.parent = parseParent(p.t.Text(p.file("stat")).Or(""))
	// Another mount namespace: the server is in a container, and its paths are not
	// ours. Only root and the same user may see that.
	own, err1 := readLink(p.t, "/proc/self/ns/mnt")
	its, err2 := readLink(p.t, p.file("ns/mnt"))
	switch {
	case err1 == nil && err2 == nil && own != its:
		p.view = view{p.t, p.file("root"), p.file("mountinfo")}
	case err2 != nil:
		p.hidden = nestedPID(p.t.Text(p.file("status")).Or(""))
	}
	db, ok := p.read(p)
	if !ok {
		return Database{}
	}
	db.Kind, db.PID = cmp.Or(db.Kind, p.kind), p.pid
	db.DataDir, db.LogDir = p.believed(p.outside(db.DataDir)), p.believed(p.outside(db.LogDir))
	if p.posing(db) {
		return Database{}
	}
	if db.Version = onlyServer(p); p.version != nil {
		db.Version = p.version(p, db.DataDir)
	}
	db.MoreLogs = p.moreLogs(db)
	p.readProcess(&db)
	db.Settings = p.readSettings(&db)
	return db
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

// option returns the value of the last option of a name: --name=value,
// --name value, and name=value after -c, with dashes and underscores alike.
func (p process) option(name string) string {
	value := ""
	for i, arg := range p.args {
		k, v, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case i == 0 || strings.ReplaceAll(k, "-", "_") != name:
		case has:
			value = v
		case strings.HasPrefix(arg, "--") && i+1 < len(p.args):
			value = p.args[i+1]
		}
	}
	return value
}

// environment is what the process was started with; only root and the same user may see that.
func (p process) environment() Fact[string] {
	return p.t.keeping(serverEnviron).Text(p.file("environ"))
}

func (p process) environ(name string) string {
	for _, v := range parseCmdline(p.environment().Or("")) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// dir is a directory that something names; absent if it is no absolute path.
func (p process) dir(name, source string) Fact[string] {
	if !path.IsAbs(name) {
		return absentFact[string](p.file("cmdline"), "nothing names a directory")
	}
	return Known(p.seen(name), "", source)
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
func (p process) openDir(fits *lazyre.Regexp) Fact[string] {
	dirs, why := p.openDirs(fits, nil)
	if len(dirs) > 0 {
		return dirs[0]
	}
	return why
}

// openDirs returns the directories of open files that fit, but for some, each once; or why there is none.
func (p process) openDirs(fits, but *lazyre.Regexp) (dirs []Fact[string], why Fact[string]) {
	const most = 512
	source := p.file("fd")
	fds, err := p.t.quiet().Dir(source)
	if err != nil {
		p.t.noted(source, note{links: true}) // for the mark
		if _, marked := p.t.Read(source); marked != nil && !p.t.Live() {
			err = marked // a recording marks a folder like a file
		}
		return nil, Unknown[string](source, adviseDenied(err))
	}
	for _, fd := range fds[:min(len(fds), most)] {
		link, err := readPath(p.t.quiet(), source+"/"+fd)
		name := strings.TrimSuffix(link, " (deleted)")
		if err != nil || !strings.HasPrefix(name, "/") || !fits.MatchString(name) || but != nil && but.MatchString(name) {
			continue
		}
		dir := Known(p.seen(path.Dir(name)), "", source)
		if !slices.Contains(dirs, dir) {
			p.t.noted(source+"/"+fd, note{})
			dirs = append(dirs, dir)
		}
	}
	return dirs, absentFact[string](source, "no log file is open")
}

// kernel is the tree for what the kernel tells of other processes and of groups.
func (p process) kernel() Tree {
	t := p.t
	t.process = ""
	return t
}

// believed is a server's directory. Any user may start a program of a server's name in any
// directory, and root writes to what is taken for the log: so the directory belongs to the
// account of the process, and its program is one that root installed, or the directory has a
// server's files. A recording tells no owners, and nothing is written there.
func (p process) believed(dir Fact[string]) Fact[string] {
	name, known := dir.Get()
	if !known || !p.t.Live() {
		return dir
	}
	p.t = p.t.quiet()
	at, err := nodeOf(name)
	if err != nil {
		return dir // what wants to use it says why
	}
	if EffectiveUser(p.t.Text(p.file("status")).Or("")) != strconv.Itoa(at.owner) {
		return Unknown[string](p.file("status"), errors.New(name+" does not belong to the account that the process runs as"))
	}
	exe := p.file("exe")
	own, err := p.program()
	if StateOf(err) == StateDenied && os.Geteuid() != 0 {
		return dir // whose writing harms this user alone
	}
	if by, err := nodeOf(exe); own && err == nil && by.owner == 0 {
		return dir
	}
	names, _ := p.t.Dir(name)
	if slices.ContainsFunc(names, p.engine.file.MatchString) {
		return dir
	}
	return Unknown[string](exe, errors.New("its program is not one that root installed, and "+name+
		" has none of its files"))
}

// program says whether the process runs a program of its kind's name. The error is why that cannot be seen.
func (p process) program() (bool, error) {
	link, err := readPath(p.t.quiet(), p.file("exe"))
	return slices.Contains(p.programs, strings.TrimSuffix(path.Base(link), " (deleted)")), err
}

// posing reports a process that has only the name of a server: neither is its program one that root or the server's
// maker has installed, nor has any of its directories a server's files. Such a process is no server, and what is
// advised for one, such as that it is never killed, must not be for any program that a user starts. What cannot be
// seen is no reason to leave a server out.
func (p process) posing(db Database) bool {
	own, err := p.program()
	if !p.t.Live() || len(p.programs) == 0 || err != nil {
		return false
	}
	if by, err := nodeOf(p.file("exe")); own && (p.accounts || err != nil || by.owner == 0) {
		return false
	}
	return !slices.ContainsFunc([]Fact[string]{db.DataDir, db.LogDir}, func(dir Fact[string]) bool {
		return dir.State == StateOK || dir.State == StateDenied
	})
}

// EffectiveUser is the number of the user as whom a process acts, by its status in /proc; "": that does not tell it.
func EffectiveUser(status string) string {
	line, _ := lineOf(status, "Uid:")
	if ids := strings.Fields(line); len(ids) > 1 { // real, effective, saved, of files (proc_pid_status(5))
		return ids[1]
	}
	return ""
}
