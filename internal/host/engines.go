package host

import "hostlab/internal/lazyre"

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
