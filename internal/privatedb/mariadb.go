package privatedb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/lazyre"
)

// MariaDB is the vendor.
//
// 10.5 is the first version whose redo log is one file with a fixed name, which is what
// moves from directory to directory (MDEV-20907). The server asks for no password
// (--skip-grant-tables); that others cannot enter the directory of its socket keeps them
// out.
//
// The server makes the data itself (--bootstrap) without the tables of accounts, time zones
// and help, which mariadb-install-db adds in some seconds of syncs and which nobody uses
// here.
//
// Directories of temporary tables are the exception to open files: MariaDB resolves their
// names, and 10.11 crashes where its account cannot walk there.
var MariaDB = &Vendor{
	Name: "mariadb", Product: "MariaDB",
	servers: []string{"mariadbd", "mysqld"}, versionArgs: []string{"--no-defaults", "--version"},
	version: lazyre.New(`Ver ((\d+)\.(\d+)[.\d]*)-MariaDB`),
	places:  []string{"/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/mariadb/bin", "/opt/mariadb/bin"},
	oldest:  [2]int{10, 5},
	install: "install MariaDB's server, such as the package mariadb-server, or put its mariadbd on PATH",
	prefix:  "hostlab-mariadb-", accounts: []string{"mysql", "nobody"},
	prepare: makeTemporary, create: bootstrap, serve: func(s *Server) *exec.Cmd { return mariadbd(s) },
	connector: mariaConnector,
	takes: func(s *Server) string {
		return fmt.Sprintf("new data take about 100 MB, and its log %d MiB", max(s.cfg.LogBytes, 96<<20)>>20)
	},
	// nothing is written before: the files are removed
	ready: "ready for connections", stop: syscall.SIGTERM, end: []syscall.Signal{syscall.SIGKILL},
	answer: mariaAnswer, broken: mariaBroken,
}

// mariaDatabase is the one that a private server has for its user.
const (
	mariaDatabase = "hostlab"
	mariaSocket   = "mariadb.sock"
)

// mariadbd runs the server's program, as its account.
func mariadbd(s *Server, more ...string) *exec.Cmd {
	return s.command("", append(mariaArguments(s.cfg, s.separateLog(), s.temporary), more...), syscall.SIGKILL)
}

// mariaOwn keep the server private, easy to remove, and quiet.
var mariaOwn = []string{
	"--skip-networking", "--skip-grant-tables", "--skip-name-resolve", "--skip-log-bin", "--skip-log-error",
	"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0",
	"--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin", "--default-storage-engine=InnoDB",
	"--sql-mode=STRICT_ALL_TABLES",
}

// mariaArguments returns those of the server, in a fixed order. Ours come last, and so count;
// but MariaDB takes --no-defaults in the first place only.
func mariaArguments(cfg Config, separateLog bool, temporary string) []string {
	args := []string{"--no-defaults", "--performance-schema=OFF"}
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings)) {
		args = append(args, "--"+strings.ReplaceAll(name, "_", "-")+"="+cfg.Settings[name])
	}
	args = append(args, mariaOwn...)
	if cfg.LogBytes > 0 {
		args = append(args, fmt.Sprintf("--innodb-log-file-size=%d", cfg.LogBytes))
	}
	log := dataFile
	if separateLog {
		log = logFile
	}
	return append(args, "--datadir="+dataFile, "--innodb-log-group-home-dir="+log, "--tmpdir="+temporary,
		"--pid-file="+runFile+"/pid", "--socket="+runFile+"/"+mariaSocket)
}

// bootstrap makes the data. They are nobody's yet: nothing of it is synced.
func bootstrap(s *Server) *exec.Cmd {
	cmd := mariadbd(s, "--bootstrap", "--innodb-flush-method=nosync")
	cmd.Stdin = strings.NewReader(bootstrapSQL)
	return cmd
}

// bootstrapSQL makes the two tables in which InnoDB keeps what ANALYZE TABLE finds, with
// the columns that it expects (dict0stats.cc), and the database.
const bootstrapSQL = "CREATE DATABASE mysql;\n" +
	"CREATE TABLE mysql.innodb_table_stats (database_name VARCHAR(64), table_name VARCHAR(199), last_update TIMESTAMP NOT NULL " +
	"DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, n_rows BIGINT UNSIGNED NOT NULL, clustered_index_size BIGINT UNSIGNED " +
	"NOT NULL, sum_of_other_index_sizes BIGINT UNSIGNED NOT NULL, PRIMARY KEY (database_name, table_name)) ENGINE=INNODB DEFAULT " +
	"CHARSET=utf8mb3 COLLATE=utf8mb3_bin STATS_PERSISTENT=0;\nCREATE TABLE mysql.innodb_index_stats (database_name VARCHAR(64), " +
	"table_name VARCHAR(199), index_name VARCHAR(64), last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE " +
	"CURRENT_TIMESTAMP, stat_name VARCHAR(64) NOT NULL, stat_value BIGINT UNSIGNED NOT NULL, sample_size BIGINT UNSIGNED, " +
	"stat_description VARCHAR(1024) NOT NULL, PRIMARY KEY (database_name, table_name, index_name, stat_name)) ENGINE=INNODB " +
	"DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin STATS_PERSISTENT=0;\nCREATE DATABASE " + mariaDatabase + ";\n"

// mariaConnector connects as mariaDatabase's user. Nothing of the environment takes part.
func mariaConnector(s *Server) (driver.Connector, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.DBName, cfg.Net, cfg.Addr = "hostlab", mariaDatabase, "unix", s.SocketDir()+"/"+mariaSocket
	cfg.Collation, cfg.InterpolateParams, cfg.Timeout = "utf8mb4_bin", true, 10*time.Second
	cfg.Logger = quiet{} // what a connection says of its end is in its errors too
	cfg.DialFunc = dial(s.socket(mariaSocket))
	return mysql.NewConnector(cfg)
}

type quiet struct{}

func (quiet) Print(...any) {}

func mariaAnswer(err error, where string) (said error, ending bool) {
	a, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return nil, false
	}
	switch a.Number {
	case 1021, 1114: // ER_DISK_FULL, ER_RECORD_FILE_FULL
		return diskFull("MariaDB", a.Message, where), false
	case 1041, 1037: // ER_OUT_OF_RESOURCES, ER_OUTOFMEMORY
		return fmt.Errorf("MariaDB is out of memory: %s; make the tables smaller", a.Message), false
	}
	// ER_SERVER_SHUTDOWN: the log has the cause.
	return fmt.Errorf("MariaDB: %s (%d)", strings.ReplaceAll(a.Message, "\n", " "), a.Number), a.Number == 1053
}

func mariaBroken(err error) bool {
	return brokenPipe(err) || errors.Is(err, mysql.ErrInvalidConn)
}
