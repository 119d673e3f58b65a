package host

import (
	"path"
	"strconv"
	"strings"
)

// readPostgres knows the postmaster: its children write what they do over their
// command line ("postgres: walwriter"), or are still at the postmaster's own for
// a moment after the fork.
func readPostgres(p process) (Database, bool) {
	if len(p.args) == 0 || strings.Contains(p.args[0], ": ") {
		return Database{}, false
	}
	if c := p.t.Text("/proc/" + strconv.Itoa(p.parent) + "/comm").Or(""); p.parent > 1 && c == p.comm {
		return Database{}, false
	}
	db := Database{Kind: "postgresql", DataDir: p.cwd()}
	if db.DataDir.State != StateOK {
		if dir := p.postgresDir(); dir != "" {
			db.DataDir = Known(p.seen(dir), "", p.file("cmdline"))
		} else if v := p.environ("PGDATA"); v != "" {
			db.DataDir = Known(p.seen(v), "", p.file("environ")+" PGDATA")
		}
	}
	dir, ok := db.DataDir.Get()
	if !ok {
		db.LogDir = db.DataDir
		return db, true
	}
	wal := "pg_wal"
	if !p.t.Exists(dir+"/pg_wal") && p.t.Exists(dir+"/pg_xlog") { // before PostgreSQL 10
		wal = "pg_xlog"
	}
	at := dir + "/" + wal
	if link, err := readPath(p.t, at); err == nil && strings.HasPrefix(link, "/proc/self/") {
		at = p.seen(link)
	}
	db.LogDir = p.follow(Known(at, "", db.DataDir.Source))
	return db, true
}

// postgresDir takes the data directory from the command line: a setting wins over
// -D, which may only name the directory of the configuration.
func (p process) postgresDir() string {
	if dir := p.option("data_directory"); strings.HasPrefix(dir, "/") {
		return dir
	}
	for i, arg := range p.args {
		rest, ok := strings.CutPrefix(arg, "-D")
		if ok && rest == "" && i+1 < len(p.args) {
			rest = p.args[i+1]
		}
		if rest = strings.TrimSpace(rest); ok && strings.HasPrefix(rest, "/") {
			return rest
		}
	}
	return ""
}

func (p process) environ(name string) string {
	for _, v := range parseCmdline(p.t.keeping(knownEnviron).Text(p.file("environ")).Or("")) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// readMySQL knows MySQL and MariaDB. The open redo log is the best witness; then
// the command line, the configuration, and the default of all packages.
func readMySQL(p process) (Database, bool) {
	db := Database{Kind: "mysql"}
	if p.comm == "mariadbd" || len(p.args) > 0 && strings.Contains(p.args[0], "mariadb") {
		db.Kind = "mariadb"
	}
	conf := p.mysqlConf()
	db.DataDir = p.follow(p.unlessDenied(conf, p.firstDir(
		dirChoice{p.option("datadir"), p.file("cmdline")},
		dirChoice{p.cwd().Or(""), p.file("cwd")}), p.firstDir(
		dirChoice{conf.values["datadir"], conf.source},
		dirChoice{"/var/lib/mysql", "default of the packages"})))

	// 8.0.30 put the files of the redo log into a folder of their own.
	redo := p.openDir(isRedo)
	if redo.State == StateOK {
		db.LogDir = p.follow(redo)
		return db, true
	}
	data, ok := db.DataDir.Get()
	if !ok {
		db.LogDir = db.DataDir
		return db, true
	}
	named := p.firstDir(dirChoice{under(data, p.option("innodb_log_group_home_dir")), p.file("cmdline")})
	if named.State != StateOK && conf.denied != "" && p.redoIn(data) {
		named = Known(data, "", db.DataDir.Source) // seen there, whatever the hidden file says
	}
	db.LogDir = p.follow(p.redoFolder(p.unlessDenied(conf, named, p.firstDir(
		dirChoice{under(data, conf.values["innodb_log_group_home_dir"]), conf.source},
		dirChoice{data, db.DataDir.Source}))))
	return db, true
}

// unlessDenied returns what the process itself tells; else what its configuration
// and the defaults say, but not if a part of the configuration is hidden.
func (p process) unlessDenied(c conf, own, configured Fact[string]) Fact[string] {
	switch {
	case own.State == StateOK:
		return own
	case c.denied != "":
		return Unknown[string](c.denied, errDenied)
	}
	return configured
}

func (p process) redoIn(dir string) bool {
	return p.t.Exists(dir+"/ib_logfile0") || p.t.Exists(dir+"/#innodb_redo")
}

func (p process) redoFolder(home Fact[string]) Fact[string] {
	if home.State == StateOK && p.t.Exists(home.Value+"/#innodb_redo") {
		home.Value += "/#innodb_redo"
	}
	return home
}

// under makes a path absolute that counts from the data directory.
func under(data, dir string) string {
	if dir == "" || path.IsAbs(dir) {
		return dir
	}
	return path.Join(data, dir)
}

type dirChoice struct{ dir, source string }

func (p process) firstDir(choices ...dirChoice) Fact[string] {
	for _, c := range choices {
		if path.IsAbs(c.dir) {
			return Known(p.seen(c.dir), "", c.source)
		}
	}
	return absentFact[string](p.file("cmdline"), "nothing names a directory")
}

// readOracle knows an instance by its log writer. The control file says where the
// redo logs are; from outside, only the log writer's open files do.
func readOracle(p process) (Database, bool) {
	logDir := p.openDir(isOracleRedo)
	sid := strings.TrimPrefix(p.comm, "ora_lgwr_")
	db := Database{Kind: "oracle", LogDir: p.follow(logDir)}
	db.LogDir = withReason(db.LogDir, StateAbsent, "instance "+sid+" has no redo log in a file (ASM?); ask v$logfile")
	db.DataDir = absentFact[string]("v$datafile", "only the database knows its files; ask v$datafile")
	return db, true
}

// readHANA knows an index server, by its open log segments or by global.ini.
func readHANA(p process) (Database, bool) {
	db := Database{Kind: "hana"}
	db.LogDir = p.openDir(isLogSegment)
	db.DataDir = p.openDir(isDataVolume)
	conf := p.hanaConf()
	if log := conf.values["basepath_logvolumes"]; db.LogDir.State != StateOK && path.IsAbs(log) {
		db.LogDir = p.follow(Known(p.seen(log), "", conf.source+" basepath_logvolumes"))
	}
	if data := conf.values["basepath_datavolumes"]; db.DataDir.State != StateOK && path.IsAbs(data) {
		db.DataDir = p.follow(Known(p.seen(data), "", conf.source+" basepath_datavolumes"))
	}
	return db, true
}

// readSQLServer knows the server, not the watchdog of the same name that starts
// it. Databases made later may have their logs elsewhere.
func readSQLServer(p process) (Database, bool) {
	if c := p.t.Text("/proc/" + strconv.Itoa(p.parent) + "/comm").Or(""); c != p.comm && p.hasChild() {
		return Database{}, false
	}
	const file = "/var/opt/mssql/mssql.conf"
	conf := readConf(p, "filelocation", file)
	db := Database{Kind: "sqlserver"}
	db.DataDir = p.follow(p.firstDir(
		dirChoice{conf.values["defaultdatadir"], conf.source},
		dirChoice{"/var/opt/mssql/data", "default of the package"}))
	// The first open log is that of a system database; a directory that is set for
	// the logs of all others goes first.
	open := p.openDir(isLDF)
	db.LogDir = p.follow(p.firstDir(
		dirChoice{conf.values["defaultlogdir"], conf.source},
		dirChoice{open.Or(""), open.Source},
		dirChoice{db.DataDir.Or(""), db.DataDir.Source}))
	if db.DataDir.State != StateOK && db.LogDir.State == StateAbsent {
		db.LogDir = db.DataDir
	}
	return db, true
}

// hasChild reports whether another process of the same name has this one as its
// parent.
func (p process) hasChild() bool {
	names, _ := p.t.Dir("/proc")
	for _, n := range names {
		if isNumber(n) && p.t.Text("/proc/"+n+"/comm").Or("") == p.comm &&
			parseParent(p.t.Text("/proc/"+n+"/stat").Or("")) == p.pid {
			return true
		}
	}
	return false
}

// The logs of servers, by the names of their files.

func noFile(string) bool { return false }

func isRedo(f string) bool {
	base := path.Base(f)
	return strings.HasPrefix(base, "ib_logfile") || strings.HasPrefix(base, "#ib_redo")
}

func isOracleRedo(f string) bool {
	f = strings.ToLower(f)
	return strings.Contains(path.Base(f), "redo") || strings.Contains(f, "/onlinelog/")
}

func isLogSegment(f string) bool { return strings.HasPrefix(path.Base(f), "logsegment_") }

func isDataVolume(f string) bool { return strings.HasPrefix(path.Base(f), "datavolume_") }

func isLDF(f string) bool { return strings.HasSuffix(strings.ToLower(f), ".ldf") }
