package host

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// readPostgres knows the postmaster: its children write what they do over their
// command line ("postgres: walwriter"), or are still at the postmaster's own for
// a moment after the fork.
func readPostgres(p process) (Database, bool) {
	if strings.Contains(p.args[0], ": ") || slices.Contains(p.peers, p.parent) {
		return Database{}, false
	}
	db := Database{DataDir: p.cwd()}
	if db.DataDir.State != StateOK {
		db.DataDir = firstKnown(p.dir(p.postgresDir(), p.file("cmdline")),
			p.dir(p.environ("PGDATA"), p.file("environ")+" PGDATA"), db.DataDir)
	}
	dir, ok := db.DataDir.Get()
	if db.LogDir = db.DataDir; !ok {
		return db, true
	}
	wal := dir + "/pg_wal"
	if !p.t.Exists(wal) && p.t.Exists(dir+"/pg_xlog") { // before PostgreSQL 10
		wal = dir + "/pg_xlog"
	}
	if link, err := readPath(p.t, wal); err == nil && strings.HasPrefix(link, "/proc/self/") {
		wal = p.seen(link)
	}
	db.LogDir = p.follow(Known(wal, "", db.DataDir.Source))
	return db, true
}

// postgresDir takes the data directory from the command line: a setting wins over
// -D, which may only name the directory of the configuration.
func (p process) postgresDir() string {
	if len(p.args) == 0 {
		return ""
	}
	args, dir := postgresArgs(p.args[1:])
	for _, a := range args {
		if a[0] == "data_directory" && path.IsAbs(a[1]) {
			dir = a[1]
		}
	}
	if !path.IsAbs(dir) {
		return ""
	}
	return dir
}

// readMySQL knows MySQL and MariaDB. The open redo log is the best witness; then
// the command line, the configuration, and the default of all packages.
func readMySQL(p process) (db Database, ok bool) {
	if strings.Contains(p.args[0], "mariadb") {
		db.Kind = "mariadb"
	}
	conf := p.mysqlConf(onlyServer(p))
	named, cmdline := conf.value("datadir"), p.file("cmdline")
	if named.Source == cmdline {
		db.DataDir = p.dir(named.Value, cmdline)
	}
	db.DataDir = firstKnown(db.DataDir, p.cwd())
	if db.DataDir.State != StateOK {
		if len(conf.open) > 0 { // sections for the version of the data that would be there
			conf = p.mysqlConf(versionOfMySQL(p, p.dir("/var/lib/mysql", "default of the packages")))
		}
		db.DataDir = conf.dirOf(p, "datadir", "/", p.dir("/var/lib/mysql", "default of the packages"))
	}
	db.DataDir = p.follow(db.DataDir)
	data, known := db.DataDir.Get()
	if db.LogDir = p.openDir(p.log); db.LogDir.State != StateOK {
		if db.LogDir = db.DataDir; !known {
			return db, true
		}
		if len(conf.open) > 0 {
			conf = p.mysqlConf(versionOfMySQL(p, db.DataDir))
		}
		db.LogDir = conf.dirOf(p, "innodb_log_group_home_dir", data, db.DataDir)
		seen := p.t.Exists(data+"/ib_logfile0") || p.t.Exists(data+"/#innodb_redo") // whatever a hidden file says
		if conf.denied != "" && seen && db.LogDir.State != StateOK {
			db.LogDir = db.DataDir
		}
		// 8.0.30 put the files of the redo log into a folder of their own.
		if redo := db.LogDir.Value + "/#innodb_redo"; db.LogDir.State == StateOK && p.t.Exists(redo) {
			db.LogDir.Value = redo
		}
	}
	db.LogDir = p.follow(db.LogDir)
	return db, true
}

// dirOf is a directory that an option names, perhaps from another one; a default where nothing names it.
func (c conf) dirOf(p process, option, from string, otherwise Fact[string]) Fact[string] {
	named := c.value(option)
	name, given := named.Get()
	switch {
	case named.State == StateAbsent || given && name == "":
		return otherwise
	case !given:
		return named
	case !path.IsAbs(name) && from == "/":
		return Unknown[string](named.Source, errRelative)
	case !path.IsAbs(name):
		name = path.Join(from, name)
	}
	return p.dir(name, named.Source)
}

// moreLogs are the directories of logs beside the first one for which commits wait: members of logs on several disks,
// those of several databases, and the binary log.
func (p process) moreLogs(db Database) (list []ServerLog) {
	list = []ServerLog{}
	if p.log != nil {
		dirs, _ := p.openDirs(p.log, p.own)
		for _, dir := range dirs {
			if dir = p.believed(p.outside(p.follow(dir))); dir.Value != db.LogDir.Value {
				list = append(list, ServerLog{db.Kind + " log", dir})
			}
		}
	}
	if db.Kind == "mysql" || db.Kind == "mariadb" {
		dir := p.binaryLog(p.mysqlConf(db.Version), db.Kind, db.Version, db.DataDir)
		// wherever it is
		beside := dir.State == StateError && within(db.LogDir.Value, db.DataDir.Value) && db.LogDir.State == StateOK
		if dir = p.believed(p.outside(dir)); dir.State != StateAbsent && !beside {
			list = append(list, ServerLog{db.Kind + " binary log", dir})
		}
	}
	return list
}

// readOracle knows an instance by its log writer. The control file says where the
// redo logs are; from outside, only the log writer's open files do.
func readOracle(p process) (Database, bool) {
	log := p.follow(p.openDir(p.log))
	if sid := strings.TrimPrefix(p.comm, "ora_lgwr_"); log.State == StateAbsent {
		log.Reason = "instance " + sid + " has no redo log in a file (ASM?); ask v$logfile"
	}
	data := absentFact[string]("v$datafile", "only the database knows its files; ask v$datafile")
	return Database{LogDir: log, DataDir: data}, true
}

// readHANA knows an index server, by its open log segments or by global.ini.
func readHANA(p process) (Database, bool) {
	conf := p.hanaConf()
	named := func(open Fact[string], key string) Fact[string] {
		if name := conf.values[key]; open.State != StateOK && path.IsAbs(name) {
			return p.follow(p.dir(name, conf.source+" "+key))
		}
		return open
	}
	log, data := named(p.openDir(p.log), "basepath_logvolumes"), named(p.openDir(dataVolume), "basepath_datavolumes")
	return Database{LogDir: log, DataDir: data}, true
}

// readSQLServer knows the server, not the watchdog of the same name that starts
// it. Databases made later may have their logs elsewhere.
func readSQLServer(p process) (Database, bool) {
	child := func(peer int) bool {
		return parseParent(p.kernel().Text("/proc/"+strconv.Itoa(peer)+"/stat").Or("")) == p.pid
	}
	if !slices.Contains(p.peers, p.parent) && slices.ContainsFunc(p.peers, child) {
		return Database{}, false
	}
	conf := readConf(p, "filelocation", "/var/opt/mssql/mssql.conf")
	db := Database{DataDir: p.follow(firstKnown(
		p.dir(conf.values["defaultdatadir"], conf.source), p.dir("/var/opt/mssql/data", "default of the package")))}
	// The first open log is that of a system database; a directory that is set for
	// the logs of all others goes first.
	open := p.openDir(p.log)
	db.LogDir = p.follow(firstKnown(p.dir(conf.values["defaultlogdir"], conf.source), open, db.DataDir))
	if db.LogDir.State != StateOK && db.DataDir.State != StateOK {
		db.LogDir = db.DataDir
	}
	return db, true
}
