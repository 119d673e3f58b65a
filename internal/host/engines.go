package host

import "regexp"

// engine is a kind of server and how it is known.
type engine struct {
	kind     string
	product  string                                          // as its maker writes it
	comm     *regexp.Regexp                                  // of its process, which the kernel cuts to 15 characters
	programs []string                                        // names of its program
	accounts bool                                            // its maker installs the program under the server's own account
	log      *regexp.Regexp                                  // its log among its open files
	own      *regexp.Regexp                                  // of those, logs of its own databases, for which no user's commit waits
	file     *regexp.Regexp                                  // a file that only its kind keeps beside its log or its data
	read     func(p process) (Database, bool)                // the directories as the server names them; false: it is none
	version  func(p process, data Fact[string]) Fact[string] // by its files; nil: only the server tells
}

var (
	redoLog    = regexp.MustCompile(`/(ib_logfile|#ib_redo)[^/]*$`)
	innodbFile = regexp.MustCompile(`^(ib_logfile\d+|#ib_redo\d+|ibdata1)$`)
	dataVolume = regexp.MustCompile(`/datavolume_[^/]*$`)
	luceneLock = regexp.MustCompile(`/node\.lock$`) // open as long as the node runs, in its directory of data
	luceneFile = regexp.MustCompile(`^node\.lock$`)
)

// engines are the kinds of database servers.
var engines = []engine{
	{
		kind: "postgresql", product: "PostgreSQL", comm: regexp.MustCompile(`^(postgres|postmaster)$`),
		programs: []string{"postgres", "postmaster"},
		file:     regexp.MustCompile(`^([0-9A-F]{24}|PG_VERSION)$`), read: readPostgres, version: versionOfPostgres,
	},
	{
		kind: "mariadb", product: "MariaDB", comm: regexp.MustCompile(`^mariadbd$`), programs: []string{"mariadbd", "mysqld"},
		log: redoLog, file: innodbFile, read: readMySQL, version: versionOfMySQL,
	},
	{
		kind: "mysql", product: "MySQL", comm: regexp.MustCompile(`^mysqld$`), programs: []string{"mysqld", "mariadbd"},
		log: redoLog, file: innodbFile, read: readMySQL, version: versionOfMySQL,
	},
	{
		kind: "oracle", product: "Oracle", comm: regexp.MustCompile(`^ora_lgwr_`), programs: []string{"oracle"}, accounts: true,
		log: regexp.MustCompile(`(?i)redo[^/]*$|/onlinelog/`), file: regexp.MustCompile(`(?i)redo|\.log$`), read: readOracle,
	},
	{
		kind: "hana", product: "SAP HANA", comm: regexp.MustCompile(`^hdbindexserver$`), programs: []string{"hdbindexserver"},
		accounts: true,
		log:      regexp.MustCompile(`/logsegment_[^/]*$`), file: regexp.MustCompile(`^(logsegment|datavolume)_`), read: readHANA,
	},
	{
		kind: "sqlserver", product: "SQL Server", comm: regexp.MustCompile(`^sqlservr$`), programs: []string{"sqlservr"},
		log: regexp.MustCompile(`(?i)\.ldf$`), own: regexp.MustCompile(`(?i)/(mastlog|modellog|msdblog|templog)[^/]*$`), file: regexp.MustCompile(`(?i)\.[lm]df$`), read: readSQLServer,
		version: versionOfSQLServer,
	},
	{
		kind: "mongodb", product: "MongoDB", comm: regexp.MustCompile(`^mongod$`), programs: []string{"mongod"},
		log: regexp.MustCompile(`/WiredTigerLog\.[^/]*$`), file: regexp.MustCompile(`^WiredTiger`), read: readMongoDB,
		version: versionOfMongoDB,
	},
	{
		kind: "redis", product: "Redis", comm: regexp.MustCompile(`^redis-server$`),
		programs: []string{"redis-server", "redis-check-rdb"},
		log:      regexp.MustCompile(`\.aof$`), file: regexp.MustCompile(`\.(aof|rdb)$|^appendonlydir$`), read: readRedis,
	},
	{
		kind: "valkey", product: "Valkey", comm: regexp.MustCompile(`^valkey-server$`),
		programs: []string{"valkey-server", "valkey-check-rdb"},
		log:      regexp.MustCompile(`\.aof$`), file: regexp.MustCompile(`\.(aof|rdb)$|^appendonlydir$`), read: readRedis,
	},
	{
		kind: "db2", product: "Db2", comm: regexp.MustCompile(`^db2sysc`), programs: []string{"db2sysc"}, accounts: true,
		log: regexp.MustCompile(`/S\d{7}\.LOG$`), file: regexp.MustCompile(`^(S\d{7}\.LOG|SQLLPATH\.TAG|SQLSPCS\.\d)$`),
		read: readDb2,
	},
	{
		kind: "ase", product: "SAP ASE", comm: regexp.MustCompile(`^dataserver$`), programs: []string{"dataserver"},
		accounts: true,
		file:     regexp.MustCompile(`(?i)\.(dat|dev)$`), read: readASE,
	},
	{
		kind: "elasticsearch", product: "Elasticsearch", comm: regexp.MustCompile(`^java$`), programs: []string{"java"},
		log: luceneLock, file: luceneFile, read: readLucene,
	},
	{
		kind: "opensearch", product: "OpenSearch", comm: regexp.MustCompile(`^java$`), programs: []string{"java"},
		log: luceneLock, file: luceneFile, read: readLucene,
	},
}

// sapInstance is an application server's dispatcher, which commits on a database. Its processes
// take the instance's name: dw.sapNPL_D00.
var sapInstance = engine{kind: "sap", product: "SAP application server",
	comm: regexp.MustCompile(`^(disp\+work|dw\.sap\w{3}_\w*)$`), read: readSAP}

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
