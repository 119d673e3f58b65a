package mariadb

import (
	"slices"
	"strings"

	"hostlab/internal/explain"
)

// Classify says what a session does whose COMMAND and STATE are these. background:
// a thread of the server's own.
func Classify(command, state string) (part explain.PartName, event string, background bool) {
	switch command {
	case "Sleep":
		return explain.Idle, "Sleep", false
	case "Daemon", "Binlog Dump", "Binlog Dump GTID", "Slave_IO", "Slave_SQL", "Slave_worker", "Connect",
		"Group Replication":
		return explain.OtherWaits, command, true
	}
	if !slices.Contains(working, command) {
		return explain.Unexplained, command, false
	}
	s := strings.ToLower(state)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
	}
	switch {
	// MariaDB 10.11 waits for the log's flush under both names, half and half where it is slow.
	case has("semi-sync ack"): // of a replica
		return explain.OtherWaits, state, false
	case has("commit", "updating status", "waiting for handler commit"):
		return explain.LogWait, state, false
	case has("writing to net", "reading from net", "sending to client", "receiving from client", "waiting for client"):
		return explain.Application, state, false
	case has("user sleep"):
		return explain.OtherWaits, state, false
	case has("user lock"), // GET_LOCK(), which another session has
		has("waiting for", "locked") && has("lock", "table flush", "flush"):
		return explain.Locks, state, false
	case has("waiting"):
		return explain.OtherWaits, state, false
	}
	return explain.DatabaseCPU, explain.Executing, false
}

// unflushed is what a commit does that waits for no device: for others, or for the copy to the page cache.
const unflushed = "Commit without a flush"

// classify is Classify, where it is known whether commits wait for the log's device: the state's name is the same.
func (s *Source) classify(command, state string) (part explain.PartName, event string, background bool) {
	part, event, background = Classify(command, state)
	if part == explain.LogWait && s.lazy != "" {
		return explain.OtherWaits, unflushed, background
	}
	return part, event, background
}

// working are the commands of sessions that run something (command_name in sql/sql_parse.cc of MariaDB 11.4 and MySQL
// 8.4, and what a killed session shows).
var working = []string{"Query", "Execute", "Prepare", "Fetch", "Bulk_execute", "Stmt bulk execute", "Long Data",
	"Close stmt", "Reset stmt",
	"Init DB", "Field List", "Create DB", "Drop DB", "Refresh", "Shutdown", "Statistics", "Processlist", "Kill",
	"Killed", "Debug", "Ping", "Time",
	"Delayed insert", "Change user", "Reset connection", "Reset Connection", "Set option", "Table Dump", "Connect Out",
	"Register Slave", "Register Replica",
	"Quit", "Com_multi", "clone"}

// meanings of states in our words, by lower-case name.
var meanings = map[string]string{
	"on cpu":            "runs on a CPU",
	"waiting for a cpu": "ready to run, no CPU is free",
	"executing":         "executes a statement; reads and InnoDB's row locks do not show",
	"sleep":             "the application works",
	"commit":            "commit: log on its way to the device",
	"updating status":   "commit: log on its way to the device",
	"starting commit":   "commit: log on its way to the device",
	"waiting for prior transaction to commit": "commit: behind another one's",
	"waiting for handler commit":              "commit: log on its way to the device",
	"commit without a flush":                  "commit: it waits for no device",
	"writing to net":                          "the application reads slowly",
	"sending to client":                       "the application reads slowly",
	"reading from net":                        "the application sends slowly",
	"innodb row lock":                         "a row that another changes",
	"waiting for table metadata lock":         "a lock on a table",
	"wait/io/file/innodb/innodb_data_file":    "data from disk",
	"wait/io/file/innodb/innodb_log_file":     "log on its way to the device",
	"user sleep":                              "SLEEP() was called",
	"user lock":                               "a lock by GET_LOCK(), which another has",
}
