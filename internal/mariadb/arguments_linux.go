package mariadb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// own are the settings that keep the server private and easy to remove, and quiet.
var own = []string{
	"--no-defaults", "--skip-networking", "--skip-grant-tables", "--skip-name-resolve", "--skip-log-bin", "--skip-log-error",
	"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--performance-schema=OFF",
	"--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin", "--default-storage-engine=InnoDB", "--sql-mode=STRICT_ALL_TABLES",
}

// arguments are those of the server, in a fixed order. Ours come last, and so count;
// but MariaDB takes --no-defaults in the first place only.
func arguments(cfg Config, dataDir, runDir, logDir, tmpDir string) []string {
	args := own[:1:1]
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings)) {
		args = append(args, "--"+strings.ReplaceAll(name, "_", "-")+"="+cfg.Settings[name])
	}
	args = append(args, own[1:]...)
	if cfg.LogBytes > 0 {
		args = append(args, fmt.Sprintf("--innodb-log-file-size=%d", cfg.LogBytes))
	}
	return append(args, "--datadir="+dataDir, "--innodb-log-group-home-dir="+logDir, "--tmpdir="+tmpDir, "--pid-file="+runDir+"/pid", "--socket="+runDir+"/"+socketName)
}

// bootstrap makes the two tables in which InnoDB keeps what ANALYZE TABLE finds, with
// the columns that it expects (dict0stats.cc), and the database.
const bootstrap = "CREATE DATABASE mysql;\n" +
	"CREATE TABLE mysql.innodb_table_stats (database_name VARCHAR(64), table_name VARCHAR(199), last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, " +
	"n_rows BIGINT UNSIGNED NOT NULL, clustered_index_size BIGINT UNSIGNED NOT NULL, sum_of_other_index_sizes BIGINT UNSIGNED NOT NULL, " +
	"PRIMARY KEY (database_name, table_name)) ENGINE=INNODB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin STATS_PERSISTENT=0;\n" +
	"CREATE TABLE mysql.innodb_index_stats (database_name VARCHAR(64), table_name VARCHAR(199), index_name VARCHAR(64), last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP " +
	"ON UPDATE CURRENT_TIMESTAMP, stat_name VARCHAR(64) NOT NULL, stat_value BIGINT UNSIGNED NOT NULL, sample_size BIGINT UNSIGNED, stat_description VARCHAR(1024) NOT NULL, " +
	"PRIMARY KEY (database_name, table_name, index_name, stat_name)) ENGINE=INNODB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin STATS_PERSISTENT=0;\n" +
	"CREATE DATABASE " + Database + ";\n"

// startLimit and stopLimit are how long the server may take.
const (
	startLimit = 60 * time.Second
	stopLimit  = 5 * time.Second
)
