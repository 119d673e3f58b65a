// Package client is the workload of three batch jobs of an ERP system: the copy of a client
// (mandt), a key that leads every table, its deletion, and its extract into a file. The application reads rows in
// packages, works on them, writes them and commits, so that a run tells its own time,
// the database's, and the wait for the log.
package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
)

// Copy is the workload clientcopy, Delete clientdelete, and Extract extract.
type (
	Copy    struct{ common }
	Delete  struct{ common }
	Extract struct{ common }
)

type common struct{ workload.Usual }

// The engines and the sizes.
const (
	inPostgres = "postgres"
	inMariaDB  = "mariadb"

	small = "small"
	large = "large"
)

// sizes are rows of a client: large has as many as a client of a training system, small
// a tenth.
var sizes = map[string]int{small: 9_960, large: 99_600}

// Params are the parameters of all three.
type Params struct {
	// a private server
	Engine string `toml:"engine" jsonschema:"enum=postgres,enum=mariadb"`
	// of the client: 9,960 or 99,600 rows
	Size string `toml:"size" jsonschema:"enum=small,enum=large"`
	// of the client; 0: by size
	Rows int `toml:"rows" jsonschema:"minimum=0,maximum=100000000" over:"size"`
	// over which the rows are spread
	Tables int `toml:"tables" jsonschema:"minimum=1,maximum=99"`
	// rows of a package; a copy and a deletion commit each
	Package int `toml:"package" jsonschema:"minimum=1,maximum=100000"`
	// your own server, without a password, as postgres://USER@HOST:PORT/DATABASE or mariadb://USER@HOST:PORT/DATABASE; to
	// another host with TLS, unless it has sslmode= or tls=; none: a private one
	DSN string `toml:"dsn"`
	// with dsn: an empty schema (MariaDB: database) to use; none: a new one, hostlab_ and ten letters
	Schema string `toml:"schema"`
}

// Working is of jobs whose application works on values.
type Working struct {
	// times that the application hashes a value: in a copy, 100 makes its own share of the time about a third on an idle
	// host; 0: none
	Work int `toml:"work" jsonschema:"minimum=0,maximum=1000000"`
}

// Logging is of jobs that commit.
type Logging struct {
	// directory of the log (write-ahead or redo); none: the experiment's own
	LogDir string `toml:"log_dir"`
	// parameters of the private server that it starts with, such as {innodb_doublewrite = "OFF"}
	Server map[string]workload.Word `toml:"server"`
}

// CopyParams, DeleteParams and ExtractParams are those of each.
type (
	CopyParams struct {
		Params
		Working
		Logging
	}
	DeleteParams struct {
		Params
		Logging
	}
	ExtractParams struct {
		Params
		Working
	}
)

func usual() Params {
	return Params{Engine: inPostgres, Size: large, Tables: 46, Package: 200}
}

// all has those of each as those of a copy.
func all(params workload.Params) *CopyParams {
	switch p := params.(type) {
	case *DeleteParams:
		return &CopyParams{Params: p.Params, Logging: p.Logging}
	case *ExtractParams:
		return &CopyParams{Params: p.Params, Working: p.Working}
	}
	return params.(*CopyParams)
}

func responses() []workload.Response {
	low := func(name, title string) workload.Response {
		return workload.Response{Name: name, Title: title, Unit: "s", Better: "lower"}
	}
	list := []workload.Response{
		low("duration", "Elapsed time of the job"),
		{Name: "rows_per_s", Title: "Rows per second", Unit: "1/s", Better: "higher"},
		low("app_time", "Time outside of calls of the database"),
		low("db_time", "Time in calls of the database"),
		low("read_time", "Time in reads"),
		low("write_time", "Time in inserts and deletions"),
		low("commit_wait", "Time in commits"),
		low("commit_mean", "Mean commit"),
		low("commit_p99", "99th percentile of a commit"),
		{Name: "commit_drift", Title: "Mean commit of the second half over that of the first", Better: "lower"},
		low("log_write_avg", "Average log write with its sync, as the server counts it"),
		low("commit_p50", "Median commit: beside the mean, as a log with two modes has its cost in the slow one"),
		{Name: "log_gain_bound",
			Title: "Share of the elapsed time in commits and in other waits for the log: the most that a faster " +
				"log can give", Better: "lower"},
		{Name: "log_share", Title: "Share of the elapsed time that waits for the log", Better: "lower"},
		{Name: "log_writes", Title: "Writes of the log", Better: "lower"},
		low("log_io", "Time in which the log was written and synced"),
		{Name: "log_bytes", Title: "Log written", Unit: "B", Better: "lower"},
		low("app_cpu", "CPU time of the application"),
		low("db_cpu", "CPU time of the database, all of its processes"),
	}
	for _, p := range parts {
		list = append(list, low(response(p), "Part of the elapsed time: "+p.Title()))
	}
	return list
}

const data = " Tables (46, of 5, 15 or 40 fields, with none to three secondary indexes, all led by mandt) are generated from " +
	"the block's seed and made anew before every run, analysed and checkpointed. Afterwards the rows of both clients are checked " +
	"against the seed. The database is a PostgreSQL or MariaDB of its own, which takes the programs of either, is reached through " +
	"a Unix socket only, never runs as root, and is removed afterwards; or with dsn it is your own server, in a schema of its " +
	"own. It is one session."

const about = data +
	" Group commit is not in it. With log_dir a private server's log lies in another directory: the same " +
	"data, restarted in between. log_gain_bound is the share of the elapsed time in commits, and in waits for the log within " +
	"other statements: a faster log gives no more. For PostgreSQL those are sampled; for other servers they are all of the " +
	"statements' time without a CPU. Of your own server the session's CPU time and run-queue wait are shown if it runs on this " +
	"host and shows its processes; otherwise they are unexplained time."

func (Copy) Describe() workload.Description {
	return workload.Description{
		Name:  "clientcopy",
		Title: "a batch job that copies a client: reads packages, works on them, inserts, commits",
		About: "All rows of client 100 are copied to client 200, table by table: the application reads a package of rows, hashes " +
			"each value as often as work says, inserts the package and commits." + about,
		Params:    &CopyParams{usual(), Working{100}, Logging{}},
		Responses: responses(),
	}
}

func (Delete) Describe() workload.Description {
	return workload.Description{
		Name:  "clientdelete",
		Title: "a batch job that deletes a client: reads keys in packages, deletes, commits",
		About: "All rows of client 200, a copy of client 100, are deleted, table by table: the application reads the keys of a " +
			"package, deletes its rows and commits." + about,
		Params:    &DeleteParams{Params: usual()},
		Responses: responses(),
	}
}

func (Extract) Describe() workload.Description {
	return workload.Description{
		Name:  "extract",
		Title: "a batch job that unloads tables into a file",
		About: "All rows of client 100 are read, table by table: the application reads a package of rows, hashes each value as often " +
			"as work says, and writes them to a file, which is checked after the run. Nothing is committed, so it says nothing about log devices." + data,
		Params:    &ExtractParams{usual(), Working{100}},
		Responses: unloadResponses(),
	}
}

// unloadResponses are those of a job without commits.
func unloadResponses() []workload.Response {
	all := slices.DeleteFunc(responses(), func(r workload.Response) bool {
		return strings.HasPrefix(r.Name, "commit_") || strings.HasPrefix(r.Name, "log_") || r.Name == "read_time" ||
			r.Name == "write_time"
	})
	return slices.Insert(all, 2, workload.Response{Name: "bytes_per_s", Title: "File written per second", Unit: "B/s",
		Better: "higher"})
}

func (common) Validate(cfg workload.Config) error { return check(all(cfg.Params)) }

func (common) Needs(ctx context.Context, params workload.Params) error {
	p := all(params)
	if p.DSN != "" {
		return nil // a server of the user's
	}
	return database.Installed(ctx, "engine", p.Engine)
}

func (common) Outside(params workload.Params) string {
	p := all(params)
	t, err := connect.ParseOwn(p.DSN)
	if p.DSN == "" || err != nil {
		return ""
	}
	where := "a new schema hostlab_..."
	if p.Schema != "" {
		where = "schema " + p.Schema
	}
	return "works on " + t.Vendor.Product + " (" + t.Target() + "), in " + where + ", and drops what it made there"
}

// plain is how a schema may be named: what needs no quotes in any engine.
var plain = lazyre.New(`^[a-z_][a-z0-9_]{0,62}$`)

func check(p *CopyParams) error {
	var errs []error
	wrong := func(name, text, hint string) {
		errs = append(errs, &workload.ParamError{Name: name, Text: text, Hint: hint})
	}
	name, engine := p.Schema, p.Engine
	if dir := p.LogDir; strings.HasPrefix(dir, "delay:") {
		wrong("log_dir", dir+" is no directory: slowed ones are for levels of a study",
			"give it to one, as in 'hostlab run log-device --set level.delay="+dir+"'")
		return errors.Join(errs...)
	}
	for key := range p.Server {
		if !plain.MatchString(key) {
			wrong("server", fmt.Sprintf("%q is no parameter's name", screen.Short(key)), "it has small letters, digits and _")
		}
	}
	if p.DSN == "" {
		if name != "" {
			wrong("schema", "is for a server that dsn names", "leave it out, or give dsn")
		}
		return errors.Join(errs...)
	}
	t, err := connect.ParseOwn(p.DSN)
	switch {
	case err != nil:
		wrong("dsn", err.Error(), "")
	case t.Vendor.String() != engine:
		wrong("dsn", "names another kind of server than engine="+engine, "write engine="+t.Vendor.String())
	}
	if len(p.Server) > 0 {
		wrong("server", "your own server (dsn) is not started anew",
			"leave server out, or leave dsn out for a private server")
	}
	if p.LogDir != "" {
		wrong("log_dir", "the log of your own server (dsn) is not moved",
			"leave log_dir out, or leave dsn out for a private server")
	}
	switch {
	case name != "" && !plain.MatchString(name):
		wrong("schema", "takes small letters, digits and _", "")
	case speaks(engine).serversOwn(name):
		wrong("schema", name+" is the server's own", "name one that is empty or does not exist")
	}
	return errors.Join(errs...)
}

func (Copy) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	return open(ctx, cfg, copies)
}

func (Delete) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	return open(ctx, cfg, deletes)
}

func (Extract) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	return open(ctx, cfg, extracts)
}

// Lacks implements workload.Demanding: a private server that takes huge pages does not start without them, and one that
// spreads its memory over one node has nothing to spread it over.
func (common) Lacks(params workload.Params, t host.Tree) string {
	p := all(params)
	if p.DSN != "" {
		return ""
	}
	asked := func(name string) string { return strings.ToLower(string(p.Server[name])) }
	switch on := asked("innodb_numa_interleave"); {
	case p.Engine == inMariaDB && (on == "on" || on == "1") && len(host.Nodes(t)) == 1:
		return "this host has one memory node, over which nothing can be spread; run it on one with several (hostlab facts " +
			"shows them under NUMA)"
	case p.Engine == inPostgres && asked("huge_pages") == "on" && asked("huge_page_size") == "":
		return missingPages(t, asked("shared_buffers"))
	}
	return ""
}

// missingPages says how many huge pages to reserve for a cache; "": there are enough, or that is not known. The
// server's other shared memory takes some percent more (PostgreSQL documentation, shared_memory_size_in_huge_pages);
// a quarter is asked for it, as check does.
func missingPages(t host.Tree, cache string) string {
	want, ok := sizeOf(cache)
	needs := want + want/4
	meminfo := t.Text("/proc/meminfo").Or("")
	number := func(line string) (n int64) {
		n = -1
		for text := range strings.Lines(meminfo) {
			if w := strings.Fields(text); len(w) > 1 && w[0] == line+":" {
				n, _ = strconv.ParseInt(w[1], 10, 64)
			}
		}
		return n
	}
	all, free, promised := number("HugePages_Total"), number("HugePages_Free"), number("HugePages_Rsvd")
	size := number("Hugepagesize") << 10
	if !ok || all < 0 || free < 0 || promised < 0 || size <= 0 {
		return ""
	}
	free = max(0, free-promised)
	if free >= (needs+size-1)/size {
		return ""
	}
	pages := all - free + (needs+size-1)/size
	return fmt.Sprintf(
		"its cache of %s takes huge pages, with a quarter more for the rest of its shared memory, and %d of %s are free; "+
			"reserve them: sudo sysctl vm.nr_hugepages=%d (now %d; note it to put it back)", result.Format(float64(want), "B"),
		free, result.Format(float64(size), "B"), pages, all)
}

// units are those of PostgreSQL's sizes: a number without one counts blocks.
var units = map[string]int64{"": 8 << 10, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}

// sizeOf reads a size as PostgreSQL does. No machine has what is too large to reckon with.
func sizeOf(text string) (bytes int64, ok bool) {
	digits := strings.TrimRight(text, "kmgtb")
	unit, known := units[strings.TrimPrefix(text, digits)]
	n, err := strconv.ParseInt(digits, 10, 32)
	if !known || err != nil || n <= 0 || n > math.MaxInt64/4/unit {
		return 0, false
	}
	return n * unit, true
}
