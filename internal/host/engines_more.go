package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
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
