package postgres

import (
	"slices"
	"strings"

	"hostlab/internal/explain"
)

// Classify says what a session does that pg_stat_activity shows so: the part of the time, and the event as TYPE:NAME.
// Names of events are of 10 to 18; 17 writes them in another way (WALSync, WalSync), so that case does not count. A
// session that tells no state (track_activities is off for its role or database), or one of a later version, shows its
// waits, and not whether it waits for its client within a transaction.
func Classify(state, kind, event string) (part explain.PartName, name string) {
	name = kind + ":" + event
	switch {
	case strings.HasPrefix(state, "idle in transaction"):
		return explain.Application, "Client:ClientRead"
	case state == "idle", (state == "" || state == "starting") && strings.EqualFold(kind, "client"): // who has not logged in yet
		return explain.Idle, "Client:ClientRead"
	case kind == "":
		return explain.DatabaseCPU, explain.Running
	}
	e := strings.ToLower(event)
	switch strings.ToLower(kind) {
	case "client":
		switch {
		case strings.Contains(e, "walsender"):
			return explain.OtherWaits, name
		case e == "clientread" && !slices.Contains(working, state):
			return explain.Unexplained, explain.Untold
		}
		return explain.Application, name
	case "lock", "bufferpin":
		return explain.Locks, name
	case "lwlock", "lwlocknamed", "lwlocktranche":
		switch e {
		case "walwrite", "walwritelock", "walbufmapping", "walbufmappinglock":
			return explain.LogWait, name
		case "bufferio", "buffer_io", "aiouringcompletion": // the first two until 13: since then of IPC
			return explain.DataReads, name
		}
		return explain.Locks, name
	case "io":
		switch {
		case strings.HasPrefix(e, "wal") && !strings.Contains(e, "read") && !strings.Contains(e, "sender"):
			return explain.LogWait, name
		case e == "datafileread", e == "datafileprefetch", e == "slruread", e == "aioiocompletion",
			strings.HasPrefix(e, "aioiouring"):
			return explain.DataReads, name
		}
	case "ipc":
		switch e {
		case "bufferio":
			return explain.DataReads, name
		}
	}
	return explain.OtherWaits, name
}

// working are the states of sessions that run a statement (pg_stat_get_activity in pgstatfuncs.c).
var working = []string{"active", "fastpath function call"}

// WaitsForLog reports whether a session that shows such an event may wait for the log's device:
// where it syncs the log or makes its next segment, and where another process has to write
// the buffers that it wants. A wait for a place in those (WALInsert) is a lock's, yet the
// session that has it may wait for the device.
func WaitsForLog(part explain.PartName, event string) bool {
	return part == explain.LogWait || strings.EqualFold(event, "LWLock:WALInsert") ||
		strings.EqualFold(event, "LWLock:wal_insert") // until 12
}

// meanings of events in our words, by lower-case name.
var meanings = map[string]string{
	"on cpu":                      "runs on a CPU",
	"on cpu or ready":             "runs on a CPU, or waits for one",
	"waiting for a cpu":           "ready to run, no CPU is free",
	"client:clientread":           "the application works",
	"client:clientwrite":          "the application reads slowly",
	"io:walsync":                  "log on its way to the device",
	"io:walwrite":                 "log on its way to the kernel",
	"io:walinitwrite":             "a new log file is made",
	"io:walinitsync":              "a new log file is made",
	"lwlock:walwrite":             "another session writes the log",
	"lwlock:walbufmapping":        "log buffers are full",
	"lwlock:walinsert":            "place in the log buffers",
	"ipc:syncrep":                 "a standby confirms",
	"io:datafileread":             "data from disk",
	"io:datafileextend":           "a table grows",
	"io:datafilewrite":            "data to disk",
	"ipc:bufferio":                "another session reads the page",
	"lwlock:bufferio":             "another session reads the page",
	"ipc:aioiocompletion":         "data from disk, asynchronously",
	"io:aioiocompletion":          "data from disk, asynchronously",
	"lock:transactionid":          "a row that another changes",
	"lock:tuple":                  "a row that others wait for",
	"lock:relation":               "a lock on a table",
	"lock:extend":                 "a table grows",
	"timeout:commitdelay":         "commit_delay",
	"timeout:pgsleep":             "pg_sleep was called",
	"ipc:executegather":           "parallel workers",
	"io:buffileread":              "temporary files",
	"io:buffilewrite":             "temporary files",
	"lwlock:buffercontent":        "a page that another changes",
	"lwlock:buffermapping":        "cache administration",
	"lwlock:lockmanager":          "lock administration",
	"lwlock:procarray":            "snapshots",
	"ipc:procarraygroupupdate":    "end of transactions, grouped",
	"ipc:xactgroupupdate":         "end of transactions, grouped",
	"ipc:backgroundworkerstartup": "parallel workers start",
}
