package host

import (
	"strconv"
	"strings"

	"hostlab/internal/lazyre"
)

// engine is a kind of server and how it is known.
type engine struct {
	kind     string
	product  string         // as its maker writes it
	comm     *lazyre.Regexp // of its process, which the kernel cuts to 15 characters
	programs []string       // names of its program
	// its maker installs the program under the server's own account
	accounts bool
	log      *lazyre.Regexp // its log among its open files
	// of those, logs of its own databases, for which no user's commit waits
	own     *lazyre.Regexp
	file    *lazyre.Regexp                                  // a file that only its kind keeps beside its log or its data
	read    func(p process) (Database, bool)                // the directories as the server names them; false: it is none
	version func(p process, data Fact[string]) Fact[string] // by its files; nil: only the server tells
}

var (
	redoLog    = lazyre.New(`/(ib_logfile|#ib_redo)[^/]*$`)
	innodbFile = lazyre.New(`^(ib_logfile\d+|#ib_redo\d+|ibdata1)$`)
	dataVolume = lazyre.New(`/datavolume_[^/]*$`)
	luceneLock = lazyre.New(`/node\.lock$`) // open as long as the node runs, in its directory of data
	luceneFile = lazyre.New(`^node\.lock$`)
)

// engines are the kinds of database servers.
var engines = []engine{
	{
		kind: "postgresql", product: "PostgreSQL", comm: lazyre.New(`^(postgres|postmaster)$`),
		programs: []string{"postgres", "postmaster"},
		file:     lazyre.New(`^([0-9A-F]{24}|PG_VERSION)$`), read: readPostgres, version: versionOfPostgres,
	},
	{
		kind: "mariadb", product: "MariaDB", comm: lazyre.New(`^mariadbd$`), programs: []string{"mariadbd", "mysqld"},
		log: redoLog, file: innodbFile, read: readMySQL, version: versionOfMySQL,
	},
	{
		kind: "mysql", product: "MySQL", comm: lazyre.New(`^mysqld$`), programs: []string{"mysqld", "mariadbd"},
		log: redoLog, file: innodbFile, read: readMySQL, version: versionOfMySQL,
	},
	{
		kind: "oracle", product: "Oracle", comm: lazyre.New(`^ora_lgwr_`), programs: []string{"oracle"}, accounts: true,
		log: lazyre.New(`(?i)redo[^/]*$|/onlinelog/`), file: lazyre.New(`(?i)redo|\.log$`), read: readOracle,
	},
	{
		kind: "hana", product: "SAP HANA", comm: lazyre.New(`^hdbindexserver$`), programs: []string{"hdbindexserver"},
		accounts: true,
		log:      lazyre.New(`/logsegment_[^/]*$`), file: lazyre.New(`^(logsegment|datavolume)_`), read: readHANA,
	},
	{
		kind: "sqlserver", product: "SQL Server", comm: lazyre.New(`^sqlservr$`), programs: []string{"sqlservr"},
		log: lazyre.New(`(?i)\.ldf$`), own: lazyre.New(`(?i)/(mastlog|modellog|msdblog|templog)[^/]*$`),
		file: lazyre.New(`(?i)\.[lm]df$`), read: readSQLServer,
		version: versionOfSQLServer,
	},
	{
		kind: "mongodb", product: "MongoDB", comm: lazyre.New(`^mongod$`), programs: []string{"mongod"},
		log: lazyre.New(`/WiredTigerLog\.[^/]*$`), file: lazyre.New(`^WiredTiger`), read: readMongoDB,
		version: versionOfMongoDB,
	},
	{
		kind: "redis", product: "Redis", comm: lazyre.New(`^redis-server$`),
		programs: []string{"redis-server", "redis-check-rdb"},
		log:      lazyre.New(`\.aof$`), file: lazyre.New(`\.(aof|rdb)$|^appendonlydir$`), read: readRedis,
	},
	{
		kind: "valkey", product: "Valkey", comm: lazyre.New(`^valkey-server$`),
		programs: []string{"valkey-server", "valkey-check-rdb"},
		log:      lazyre.New(`\.aof$`), file: lazyre.New(`\.(aof|rdb)$|^appendonlydir$`), read: readRedis,
	},
	{
		kind: "db2", product: "Db2", comm: lazyre.New(`^db2sysc`), programs: []string{"db2sysc"}, accounts: true,
		log: lazyre.New(`/S\d{7}\.LOG$`), file: lazyre.New(`^(S\d{7}\.LOG|SQLLPATH\.TAG|SQLSPCS\.\d)$`),
		read: readDb2,
	},
	{
		kind: "ase", product: "SAP ASE", comm: lazyre.New(`^dataserver$`), programs: []string{"dataserver"},
		accounts: true,
		file:     lazyre.New(`(?i)\.(dat|dev)$`), read: readASE,
	},
	{
		kind: "elasticsearch", product: "Elasticsearch", comm: lazyre.New(`^java$`), programs: []string{"java"},
		log: luceneLock, file: luceneFile, read: readLucene,
	},
	{
		kind: "opensearch", product: "OpenSearch", comm: lazyre.New(`^java$`), programs: []string{"java"},
		log: luceneLock, file: luceneFile, read: readLucene,
	},
}

// sapInstance is an application server's dispatcher, which commits on a database. Its processes
// take the instance's name: dw.sapNPL_D00.
var sapInstance = engine{kind: "sap", product: "SAP application server",
	comm: lazyre.New(`^(disp\+work|dw\.sap\w{3}_\w*)$`), read: readSAP}

// Product is its name as its maker writes it.
func (d *Database) Product() string { return ProductOf(d.Kind) }

// ProductOf is the name of a kind of server as its maker writes it.
func ProductOf(kind string) string {
	for _, e := range append(engines[:len(engines):len(engines)], sapInstance) {
		if e.kind == kind {
			return e.product
		}
	}
	return kind
}

// Kinds are the kinds of database servers that are known, and of application servers.
func Kinds() (names []string) {
	for _, e := range append(engines[:len(engines):len(engines)], sapInstance) {
		names = append(names, e.kind)
	}
	return names
}

// found returns what the first group of an expression finds in a file, of which a recording keeps
// the match alone.
func (p process) found(file string, re *lazyre.Regexp) Fact[string] {
	return p.foundBy(file, func(s string) (string, string) {
		if m := re.FindStringSubmatch(s); m != nil {
			return m[0], m[1]
		}
		return "", ""
	})
}

// foundBy is found with a search that also says what of the text to keep.
func (p process) foundBy(file string, find func(string) (kept, version string)) Fact[string] {
	text := func(b []byte) string { return strings.ReplaceAll(string(b), "\x00", "") } // SQL Server writes UTF-16
	keep := func(b []byte) []byte {
		kept, _ := find(text(b))
		return []byte(kept)
	}
	b, err := p.t.keeping(keep).head(file, mostVersion)
	if err != nil {
		return Unknown[string](file, adviseDenied(err))
	}
	_, version := find(text(b))
	if version == "" {
		return absentFact[string](file, "it tells no version of this process")
	}
	return Known(version, "", file)
}

// mostVersion is how much of a file is searched for a version.
const mostVersion = 64 << 10

var (
	pgVersion     = lazyre.New(`^(\d+(?:\.\d+)?)\s*$`)
	pgProgram     = lazyre.New(`/(?:postgresql/|pgsql-)(\d+(?:\.\d+)?)/bin/post(?:gres|master)$`)
	mysqlVersion  = lazyre.New(`^(\d+\.\d+\.\d+)`)
	mysqlHistory  = lazyre.New(`(?s)^.*"version": ?"(\d+\.\d+\.\d+)`) // the last one
	mssqlVersion  = lazyre.New(`Microsoft SQL Server[^\n]* - (\d+\.\d+)`)
	mongodVersion = lazyre.New(`"msg":"Build Info","attr":\{"buildInfo":\{"version":"(\d+\.\d+\.\d+)`)
)

// below is found in a file of a server's directory.
func (p process) below(data Fact[string], name string, re *lazyre.Regexp) Fact[string] {
	if data.State != StateOK {
		return unlike[string](data)
	}
	return p.found(data.Value+"/"+name, re)
}

// versionOfPostgres reads the file with which each cluster begins; packages also put the version
// into the program's path.
func versionOfPostgres(p process, data Fact[string]) Fact[string] {
	f := p.below(data, "PG_VERSION", pgVersion)
	if m := pgProgram.FindStringSubmatch(p.args[0]); m != nil && f.State != StateOK {
		return Known(m[1], "", p.file("cmdline"))
	}
	return f
}

// versionOfMySQL reads which server has last brought the system tables up to date, which every
// newer one does at its first start. From 8.4 on MySQL keeps the history of that.
func versionOfMySQL(p process, data Fact[string]) Fact[string] {
	return firstKnown(p.below(data, "mysql_upgrade_history", mysqlHistory),
		p.below(data, "mysql_upgrade_info", mysqlVersion),
		p.below(data, "mariadb_upgrade_info", mysqlVersion))
}

// versionOfSQLServer reads the first line of the log that every start begins anew.
func versionOfSQLServer(p process, _ Fact[string]) Fact[string] {
	return p.found(p.root+"/var/opt/mssql/log/errorlog", mssqlVersion)
}

// versionOfMongoDB reads what the server writes to its log at each start, and at the beginning of
// each new log: the number of its process, and then its version.
func versionOfMongoDB(p process, _ Fact[string]) Fact[string] {
	conf := p.mongoConf().Or("")
	file := yamlPath(conf, "systemLog", "path")
	if named := p.option("logpath"); named != "" {
		file = named
	}
	if !strings.HasPrefix(file, "/") {
		return onlyServer(p)
	}
	begin := lazyre.New(`"pid":"?` + strconv.Itoa(p.pid) + `"?[,}]`)
	find := func(s string) (kept, version string) {
		at := begin.FindStringIndex(s)
		if at == nil {
			return "", ""
		}
		m := mongodVersion.FindStringSubmatch(s[at[1]:])
		if m == nil {
			return "", ""
		}
		return s[at[0]:at[1]] + m[0], m[1]
	}
	return p.foundBy(p.seen(file), find)
}
