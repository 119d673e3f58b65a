package xmlquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
)

// Workload implements workload.Workload.
type Workload struct {
	workload.Usual
	cpus.Placed
}

const (
	embedded   = "embedded" // the engines
	inPostgres = "postgres"

	maxBytes  = 1 << 30
	maxDegree = cpus.Most
)

// Params are the workload's parameters.
type Params struct {
	// in this program, in a private PostgreSQL, or in a SQL Server that you name (never tried on a real one)
	Engine string `toml:"engine" jsonschema:"enum=embedded,enum=postgres,enum=sqlserver"`
	// with engine sqlserver: sqlserver://USER@HOST, without a password; to another host with TLS; none: $HOSTLAB_DSN
	DSN string `toml:"dsn"`
	// of the table
	Size workload.Bytes `toml:"size" limits:"4096,1073741824"`
	// workers: a number, threads (as many as the CPUs that this process may use) or cores (one for each of their cores)
	Degree workload.Word `toml:"degree"`
	// all that this process may use, one-per-core of these (one thread of each core), or a list such as 0-3,8
	CPUs string `toml:"cpus"`
	// times that a run queries the table
	Passes int `toml:"passes" jsonschema:"minimum=1,maximum=1000000"`
}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "xmlquery",
		Title: "a query that costs nothing but CPU time, at a degree of parallelism",
		About: "Orders in memory, generated from the block's seed, one XML document of about 4 kB a row, are shredded into rows and " +
			"typed columns, as SQL's XML methods do. Workers take rows in small chunks and are placed by the operating system, on the " +
			"CPUs that cpus leaves them. Degree threads and cores are what MAXDOP would be with and without siblings; they are counted " +
			"over all CPUs, so that cpus = one-per-core alone leaves the degree as it was. It shows what clocks, siblings, quotas and " +
			"caches do to a parallel query; it reads no disk, takes no locks and sends nothing. With engine postgres the same orders " +
			"are shredded by XMLTABLE in a PostgreSQL of its own, fully cached, by parallel workers and their leader; the plan and the " +
			"result are checked, and processor time is the server's. It takes the programs of PostgreSQL, is reached through a Unix " +
			"socket only, never runs as root (but as postgres, or nobody), and is removed afterwards. With engine sqlserver a SQL " +
			"Server that you name shreds them in a temporary table of one session, with OPTION (MAXDOP degree) in the statement: " +
			"nothing is to be put back. It checks the result and, with VIEW SERVER STATE, the degree that the server took. That engine " +
			"follows Microsoft's documentation and was never tried on a real SQL Server.",
		Params: &Params{Engine: embedded, Size: 64 << 20, Degree: "1", CPUs: cpus.All, Passes: 1},
		Responses: []workload.Response{
			{Name: "wall", Title: "Elapsed time of the query", Unit: "s", Better: "lower"},
			{Name: "cpu_s", Title: "CPU time of the query", Unit: "s", Better: "lower"},
			{Name: "rows_per_s", Title: "Rows returned per second", Unit: "1/s", Better: "higher"},
			{Name: "bytes_per_s", Title: "XML read per second", Unit: "B/s", Better: "higher"},
		},
	}
}

func (Workload) Validate(cfg workload.Config) error {
	p := cfg.Params.(*Params)
	return errors.Join(cpus.CheckCount("degree", string(p.Degree)), cpus.Check("cpus", p.CPUs), checkEngine(p))
}

func (Workload) Needs(ctx context.Context, p workload.Params) error {
	return database.Installed(ctx, "engine", p.(*Params).Engine)
}

func (Workload) Outside(params workload.Params) string {
	p := params.(*Params)
	if p.Engine != inSQLServer {
		return ""
	}
	d, err := dsnOf(p)
	if err != nil {
		return ""
	}
	return "works on SQL Server (" + d.Target() + "), in a temporary table that ends with the session"
}

// checkEngine says what the server cannot do.
func checkEngine(p *Params) error {
	own := p.Engine == embedded
	if p.DSN != "" && p.Engine != inSQLServer {
		return workload.Wrong("dsn", "is of engine "+inSQLServer, "leave it out")
	}
	if p.Engine == inSQLServer {
		if _, err := dsnOf(p); err != nil {
			return err
		}
	}
	if !own && p.CPUs != cpus.All {
		return workload.Wrong("cpus",
			"the operating system places the server's processes; only the threads of engine=embedded are "+
				"kept to CPUs",
			"leave cpus out, or choose engine=embedded")
	}
	if n, err := strconv.Atoi(string(p.Degree)); err == nil && !own {
		return checkDegree(p.Engine, n)
	}
	return nil // a word is counted where it runs
}

func checkDegree(engine string, n int) error {
	switch {
	case engine == inSQLServer && n > mostMAXDOP:
		return workload.Wrong("degree", fmt.Sprintf("OPTION (MAXDOP n) takes at most %d, not %d", mostMAXDOP, n),
			"choose as many as the server has CPUs")
	case engine == inSQLServer || n <= maxWorkers+1:
		return nil
	}
	return workload.Wrong("degree", fmt.Sprintf("PostgreSQL gives a query at most %d workers and their leader, not %d",
		maxWorkers, n),
		fmt.Sprintf("choose at most %d, or engine=embedded", maxWorkers+1))
}

func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	p := cfg.Params.(*Params)
	q, _, err := questionOf(ctx, p)
	if err != nil {
		return nil, err
	}
	s := &session{worker: worker.Kept{Job: job}, database: NewDatabase(cfg.Work)}
	if p.Engine == inSQLServer {
		d, err := dsnOf(p)
		if err != nil {
			return nil, err
		}
		s.remote.connect = func(ctx context.Context) (explain.Asker, error) { return connect.Session(ctx, d) }
		if s.remote.asker, err = s.remote.connect(ctx); err != nil {
			return nil, workload.Wrong("dsn", err.Error(), "")
		}
		return s, nil
	}
	if p.Engine == inPostgres {
		if err := s.database.ready(ctx, int(p.Size)); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
	var got answer
	// A small table: that of a run is made, untimed, once its seed is known.
	if err := s.worker.Call(ctx, q.Degree, question{Size: 1}, &got); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

type session struct {
	worker   worker.Kept
	database *Database
	remote   remote
}

// questionOf is what a run asks of the worker, with the words of the parameters in
// this host's numbers as they are now.
func questionOf(ctx context.Context, p *Params) (q question, notes []string, err error) {
	here, err := cpus.Here(ctx)
	if err != nil {
		return q, nil, err
	}
	q = question{Size: int(p.Size), Passes: p.Passes}
	if q.Degree, err = here.Count("degree", string(p.Degree)); err != nil {
		return q, nil, err
	}
	if p.CPUs != cpus.All {
		q.CPUs, err = here.Choose("cpus", p.CPUs)
	}
	return q, here.Notes(p.CPUs, string(p.Degree)), err
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	p := r.Params.(*Params)
	q, notes, err := questionOf(ctx, p)
	if err != nil {
		return out, err
	}
	q.Seed = r.Seed
	switch p.Engine {
	case inPostgres:
		return s.database.sample(ctx, q, notes)
	case inSQLServer:
		return s.remote.sample(ctx, q, notes)
	}
	var a answer
	if err := s.worker.Call(ctx, q.Degree, q, &a); err != nil {
		return out, err
	}
	return a.sample(notes), nil
}

// Prepare implements workload.Preparer: it makes the table of the seed.
func (s *session) Prepare(ctx context.Context, r workload.Request) error {
	p := r.Params.(*Params)
	q, _, err := questionOf(ctx, p)
	if err != nil {
		return err
	}
	switch p.Engine {
	case inPostgres:
		return s.database.Load(ctx, q.Size, r.Seed)
	case inSQLServer:
		return s.remote.load(ctx, q.Size, r.Seed)
	}
	var a answer
	return s.worker.Call(ctx, q.Degree, question{Size: q.Size, Seed: r.Seed}, &a)
}

// sample turns an answer into responses.
func (a answer) sample(notes []string) workload.Sample {
	out := workload.Sample{Operations: a.Documents, Warnings: notes, Values: map[string]float64{
		"wall": a.Wall, "rows_per_s": float64(a.Rows) / a.Wall, "bytes_per_s": float64(a.Bytes) / a.Wall}}
	if a.HasCPU {
		out.Set("cpu_s", a.CPU)
	} else {
		out.Lack(cmp.Or(a.NoCPU, "this system does not tell"), "cpu_s")
	}
	return out
}

func (s *session) Close() error {
	return errors.Join(s.worker.Close(), s.database.Close(), s.remote.Close())
}

const job = "xmlquery"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: job, New: func() worker.Func { return worker.Handle((&server{}).answer) }}}
}

// question asks for a table, and with a degree for a query of it.
type question struct {
	Size   int
	Seed   uint64
	Degree int   `json:",omitempty"`
	CPUs   []int `json:",omitempty"` // none: all
	Passes int   `json:",omitempty"`
}

// answer is what a query took, in seconds.
type answer struct {
	Rows      int64 // of all passes
	Documents int64
	Bytes     int64
	Wall      float64
	CPU       float64
	HasCPU    bool
	NoCPU     string `json:",omitempty"` // why not, where that is known
}

// server keeps the last table.
type server struct {
	table *Table
	size  int
	seed  uint64
	one   Sum // of one pass
}

func (s *server) answer(q question) (a answer, err error) {
	if q.Size < 1 || q.Size > maxBytes || q.Degree < 0 || q.Degree > maxDegree || q.Passes < 0 {
		return a, fmt.Errorf("a table of %d bytes at degree %d, %d passes", q.Size, q.Degree, q.Passes)
	}
	ctx := context.Background() // a query that is cancelled ends with this process
	if s.table == nil || s.size != q.Size || s.seed != q.Seed {
		s.table = nil
		debug.FreeOSMemory() // the collector is off in workers
		if s.table, err = Generate(ctx, q.Size, q.Seed); err != nil {
			return a, err
		}
		s.size, s.seed = q.Size, q.Seed
		if s.one, _, err = Query(ctx, s.table, 1, 1); err != nil {
			return a, err
		}
	}
	if q.Degree == 0 {
		return a, nil
	}
	if runtime.GOMAXPROCS(0) < q.Degree {
		runtime.GOMAXPROCS(q.Degree + 2)
	}
	before, hasCPU := thread.ProcessCPU()
	sum, took, err := Query(ctx, s.table, q.Degree, q.Passes, q.CPUs...)
	after, _ := thread.ProcessCPU()
	if err != nil {
		return a, err
	}
	n := int64(q.Passes)
	if sum.Rows != s.one.Rows*n || sum.Check != s.one.Check*uint64(n) {
		return a, fmt.Errorf("degree %d returned %v in %d passes, one pass %v: the query is broken", q.Degree, sum, n, s.one)
	}
	return answer{Rows: sum.Rows, Documents: int64(s.table.Rows()) * n, Bytes: int64(s.table.Bytes()) * n,
		Wall: max(took, time.Nanosecond).Seconds(), CPU: (after - before).Seconds(), HasCPU: hasCPU}, nil
}
