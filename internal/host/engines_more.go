package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

// onlyServer is the fact of a version that no file tells.
func onlyServer(p process) Fact[string] {
	return absentFact[string](p.file("cmdline"), "no file tells it; ask the server")
}

// readMongoDB knows the server by its open journal, its options, and its configuration.
func readMongoDB(p process) (Database, bool) {
	conf := p.mongoConf()
	data := p.follow(firstKnown(p.dir(p.option("dbpath"), p.file("cmdline")),
		p.dir(yamlPath(conf.Or(""), "storage", "dbPath"), conf.Source), unlike[string](conf)))
	log := p.openDir(p.log)
	if dir, ok := data.Get(); ok && log.State != StateOK {
		log = Known(dir+"/journal", "", data.Source)
	}
	if data.State != StateOK && log.State == StateOK {
		data = Known(path.Dir(log.Value), "", log.Source)
	}
	return Database{DataDir: data, LogDir: p.follow(log)}, true
}

// mongoConf is the configuration that its arguments name. Without, it reads none.
func (p process) mongoConf() Fact[string] {
	name := p.option("config")
	if i := slices.Index(p.args, "-f"); name == "" && i >= 0 && i+1 < len(p.args) {
		name = p.args[i+1]
	}
	switch {
	case name == "":
		return absentFact[string](p.file("cmdline"), "its arguments name no configuration")
	case !path.IsAbs(name):
		return Unknown[string](name, errRelative)
	case p.hidden:
		return Unknown[string](p.file("root"), errDenied)
	}
	return p.t.keeping(yamlPaths).Text(p.seen(name))
}

// mongoSettings are those of its configuration.
func (p process) mongoSettings() conf {
	const name = "maxIncomingConnections"
	text := p.mongoConf()
	c := newConf()
	c.source = text.Source
	switch value := yamlPath(text.Or(""), "net", name); {
	case value != "":
		c.set(name, value, text.Source)
	case strings.Contains(text.Or(""), name):
		c.open[name] = Unknown[string](text.Source, errors.New("it is there in a form of YAML that hostlab does not read: "+
			"db.serverCmdLineOpts() shows it"))
	case text.State == StateDenied:
		c.miss(text.Source, fs.ErrPermission)
	case text.State == StateError:
		c.miss(text.Source, errors.New(text.Reason))
	}
	if typed := p.option("maxConns"); typed != "" {
		c.set(name, typed, p.file("cmdline"))
	}
	return c
}

// yamlPath finds "dbPath: /data" below "storage:". The file has this form as the packages bring
// it; in another, such as in braces, nothing is found.
func yamlPath(text, section, key string) string {
	in := false
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case !strings.HasPrefix(line, " ") && name != "" && name[0] != '#':
			in = name == section
		case in && name == key:
			value, _, _ = strings.Cut(value, " #")
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// yamlPaths leaves of a configuration its sections, paths and numbers. Other lines may hold passwords.
func yamlPaths(data []byte) []byte {
	var kept []string
	for _, line := range yamlLine.FindAll(data, -1) {
		kept = append(kept, string(line))
	}
	return []byte(strings.Join(kept, "\n"))
}

var yamlLine = lazyre.New(`(?m)^(\w+:[ \t]*|[ \t]+(dbPath|path):.*|.*maxIncomingConnections.*)$`)

// readRedis knows the server, which works in its directory for data. It has a log only where its
// append-only file is open.
func readRedis(p process) (Database, bool) {
	log := p.openDir(p.log)
	if log.State == StateAbsent {
		log.Reason = "no append-only file is open: what is not in a snapshot yet is lost with the server"
	}
	return Database{DataDir: p.cwd(), LogDir: p.follow(log)}, true
}

// readDb2 knows an instance's process by the open logs of its databases.
func readDb2(p process) (Database, bool) {
	log := p.follow(p.openDir(p.log))
	return Database{LogDir: log, DataDir: absentFact[string]("db2 list db directory",
			"only the instance knows its databases")},
		true
}

// readASE knows the server by the device of its master database. Logs lie on devices that only
// the server knows.
func readASE(p process) (Database, bool) {
	master := ""
	for i, a := range p.args {
		rest, ok := strings.CutPrefix(a, "-d")
		if ok && rest == "" && i+1 < len(p.args) {
			rest = p.args[i+1]
		}
		if ok && strings.HasPrefix(rest, "/") {
			master = path.Dir(rest)
		}
	}
	return Database{DataDir: p.follow(p.dir(master, p.file("cmdline"))),
		LogDir: absentFact[string]("sp_helpdevice", "only the server knows the devices of its logs")}, true
}

// luceneMains are the classes with which nodes start, by kind. A launcher of Elasticsearch, another process, has one
// of its own.
var luceneMains = map[string]string{
	"org.elasticsearch.bootstrap.Elasticsearch":                          "elasticsearch",
	"org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch": "elasticsearch",
	"org.opensearch.bootstrap.OpenSearch":                                "opensearch",
}

// readLucene knows a node of Elasticsearch or OpenSearch among the programs in Java by its class. Each shard keeps its
// log beside its data, below the directory that the node locks.
func readLucene(p process) (db Database, ok bool) {
	for _, arg := range p.args[1:] {
		if kind := luceneMains[arg]; kind != "" {
			db.Kind = kind
		}
	}
	if db.Kind == "" {
		return db, false
	}
	db.DataDir = p.openDir(p.log)
	if db.DataDir.State == StateAbsent {
		db.DataDir.Reason = "no lock of its data is open"
	}
	db.DataDir = p.follow(db.DataDir)
	db.LogDir = db.DataDir
	return db, true
}

// readSAP knows the dispatcher of an instance, not the work processes that it starts.
func readSAP(p process) (Database, bool) {
	log := absentFact[string](p.file("comm"), "an application server commits on its database")
	return Database{DataDir: log, LogDir: log}, !slices.Contains(p.peers, p.parent)
}

// readApps finds instances of SAP application servers: running ones, and where none of a system
// runs, those that are installed.
func readApps(t Tree, running []Database) []Database {
	if len(running) > 0 {
		return running
	}
	const dir = "/usr/sap"
	systems, _ := t.Dir(dir)
	for _, sid := range slices.DeleteFunc(systems, func(n string) bool { return !sapSystem.MatchString(n) }) {
		instances, _ := t.Dir(dir + "/" + sid)
		if i := slices.IndexFunc(instances, appInstance.MatchString); i >= 0 {
			at := Known(dir+"/"+sid+"/"+instances[i], "", dir+"/"+sid)
			none := absentFact[string](dir+"/"+sid, "an application server commits on its database")
			running = append(running, Database{Kind: sapInstance.kind, DataDir: at, LogDir: none})
		}
	}
	return running
}

var (
	sapSystem = lazyre.New(`^[A-Z][A-Z0-9]{2}$`)
	// appInstance is a directory of an ABAP or Java instance. HANA's is HDB00, and central services
	// (ASCS, ERS) need none of what work processes do.
	appInstance = lazyre.New(`^(D|DVEBMGS|J|JC)\d\d$`)
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
