package experiment

import (
	"slices"
	"strings"
)

// danger is what levels of a server's parameter can cost beside the service's time.
type danger struct {
	levels []string // that do; nil: all but those in safe
	safe   []string
	cost   string
}

const (
	lost     = "if the server or its host crashes, the commits of the last second are lost"
	hostLost = "if the host crashes, the commits of the last second are lost; if only the server does, none are"
	torn     = "if the host crashes, data can be damaged, unless the storage writes whole pages"
	longer   = "at a higher value, recovery after a crash takes longer"
	replica  = "a replica that takes over may lack the last commits"
)

// dangers are those of parameters, as the documentation of PostgreSQL 18 and MariaDB 11.8 has them. A parameter that is
// not here may have some.
var dangers = map[string][]danger{
	"synchronous_commit": {{levels: []string{"off"}, cost: lost}, {levels: []string{"local", "remote_write"},
		cost: replica},
		{levels: []string{"on", "remote_apply"}}},
	"full_page_writes": {{safe: []string{"on"}, cost: torn}},
	"fsync":            {{safe: []string{"on"}, cost: "if the host crashes, all data can be lost"}},
	"autovacuum":       {{safe: []string{"on"}, cost: "tables grow, and planning goes by old statistics"}},
	"zero_damaged_pages": {{safe: []string{"off"},
		cost: "damaged pages are emptied, and their rows are lost"}},
	"ignore_checksum_failure":        {{safe: []string{"off"}, cost: "damaged data is read as if it were whole"}},
	"max_wal_size":                   {{cost: longer}},
	"checkpoint_timeout":             {{cost: longer}},
	"innodb_flush_log_at_trx_commit": {{levels: []string{"2"}, cost: hostLost}, {safe: []string{"on", "3"}, cost: lost}},
	"innodb_doublewrite":             {{safe: []string{"on", "detect_and_recover"}, cost: torn}},
	"innodb_max_dirty_pages_pct":     {{cost: longer}},
	"innodb_log_file_size":           {{cost: longer}},
	"innodb_redo_log_capacity":       {{cost: longer}},
	"sync_binlog": {{safe: []string{"on"},
		cost: "if the host crashes, replicas and backups can differ from it"}},
}

// switched is on or off for the spellings of a boolean, which PostgreSQL also takes cut short (parse_bool_with_len in
// its utils/adt/bool.c).
func switched(level string) string {
	for word, means := range map[string]string{"1": "on", "true": "on", "yes": "on", "0": "off", "false": "off",
		"no": "off", "off": "off"} {
		if level != "" && level != "o" && strings.HasPrefix(word, level) {
			return means
		}
	}
	return level
}

// Risk is what a level of a server's parameter can cost; "": nothing that is known. known is false of a parameter of
// which that is not known.
func Risk(parameter, level string) (risk string, known bool) {
	list, known := dangers[strings.ToLower(parameter)]
	level = switched(strings.ToLower(strings.TrimSpace(level)))
	for _, d := range list {
		if slices.Contains(d.levels, level) || d.levels == nil && !slices.Contains(d.safe, level) {
			return d.cost, true
		}
	}
	return "", known
}
