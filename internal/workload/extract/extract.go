// Package extract is the workload of a batch job that unloads a table: it reads rows
// in packages from a database, works on each, and writes a file. It tells the time of
// the application from that of the database.
package extract

import (
	"context"
	"errors"
	"time"

	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
	"hostlab/internal/workload/thread"
)

// Workload implements workload.Workload.
type Workload struct{}

// The engines, and the ways to read.
const (
	embedded   = "embedded"
	inPostgres = "postgres"
	byCursor   = "cursor"
	byCopy     = "copy"
)

// Describe implements workload.Workload.
func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "extract",
		Title: "a batch job: reads rows from a database, works on them, writes a file",
		About: "A table of document lines, about 95 bytes a row and generated from the block's seed, is read in packages of rows; the job hashes each row as often as work says, " +
			"and writes it to a file, whose rows and checksum are verified after the run. The database is SQLite in this program, or a PostgreSQL of its own with the " +
			"table in its memory, which takes the programs of PostgreSQL, is reached through a Unix socket only, never runs as root (but as postgres, or nobody), and is removed " +
			"afterwards. Nothing is made durable, so it says nothing about log devices, and rows are read in the order in which they lie.",
		Params: []workload.Param{
			{Name: "engine", Kind: workload.String, Default: embedded, Choices: []string{embedded, inPostgres}, Help: "SQLite in this program, or a private PostgreSQL"},
			{Name: "rows", Kind: workload.Int, Default: int64(200_000), Min: 1, Max: 2e7, Help: "of the table"},
			{Name: "package", Kind: workload.Int, Default: int64(10_000), Min: 1, Max: 1e6, Help: "rows of a package"},
			{Name: "work", Kind: workload.Int, Default: int64(20), Max: 1e6, Help: "times that the job hashes a row: its own share of the time; 0: none"},
			{Name: "read", Kind: workload.String, Default: byCursor, Choices: []string{byCursor, byCopy}, Help: "postgres: a call for each package, as jobs do, or one COPY"},
		},
		Responses: []workload.Response{
			{Name: "wall", Title: "Elapsed time of the job", Unit: "s", Better: "lower"},
			{Name: "bytes_per_s", Title: "File written per second", Unit: "B/s", Better: "higher"},
			{Name: "rows_per_s", Title: "Rows per second", Unit: "1/s", Better: "higher"},
			{Name: "app_cpu_s", Title: "CPU time of the application", Unit: "s", Better: "lower"},
			{Name: "db_cpu_s", Title: "CPU time of the database", Unit: "s", Better: "lower"},
			{Name: "db_wait_s", Title: "Time in calls of the database", Unit: "s", Better: "lower"},
		},
	}
}

// Validate implements workload.Validator.
func (Workload) Validate(cfg workload.Config) error { return check(cfg.Params) }

func check(p workload.Values) error {
	if p.String("engine") == embedded && p.String("read") == byCopy {
		return &workload.ParamError{Name: "read", Text: "COPY is PostgreSQL's, and the engine is embedded", Hint: "write engine=postgres, or read=cursor"}
	}
	return nil
}

// Needs implements workload.Needing.
func (Workload) Needs(ctx context.Context, p workload.Values) error {
	return database.Installed(ctx, "engine", p.String("engine"))
}

// Open implements workload.Workload.
func (Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := check(cfg.Params); err != nil {
		return nil, err
	}
	s := &session{work: cfg.Work}
	if err := s.open(ctx, cfg.Params.String("engine")); err != nil {
		return nil, err
	}
	return s, nil
}

type session struct {
	work   string
	engine engine // nil: none
	name   string // of the engine

	loaded bool
	rows   int
	seed   uint64
	want   File
}

// open has the engine of that name, in place of another.
func (s *session) open(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	private, ok := s.engine.(*inServer)
	died := ok && private.server.Err() != nil
	if s.engine != nil && s.name == name && !died {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	s.name = name
	if name == inPostgres {
		p, err := openPostgres(ctx, s.work)
		if err != nil {
			return err
		}
		s.engine = p
		return nil
	}
	e, err := openSQLite(ctx, s.work)
	if err != nil {
		return err
	}
	s.engine = e
	return nil
}

// Run implements workload.Session.
func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := check(r.Params); err != nil {
		return out, err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // SQLite says "interrupted"
		}
	}()
	if err := s.open(ctx, r.Params.String("engine")); err != nil {
		return out, err
	}
	rows := int(r.Params.Int("rows"))
	if !s.loaded || s.rows != rows || s.seed != r.Seed {
		s.loaded = false
		if s.want, err = s.engine.load(ctx, rows, r.Seed); err != nil {
			return out, err
		}
		s.loaded, s.rows, s.seed = true, rows, r.Seed
	}
	app, err := newApplication(ctx, s.work, int(r.Params.Int("work")))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, app.close()) }()
	return s.job(ctx, r, app)
}

// job is what is timed, and the check of the file.
func (s *session) job(ctx context.Context, r workload.Request, app *application) (out workload.Sample, err error) {
	began := time.Now()
	before, hasCPU := thread.ProcessCPU()
	u, err := s.engine.read(ctx, options{rows: int(r.Params.Int("package")), read: r.Params.String("read")}, app.take)
	if err == nil {
		err = app.finish()
	}
	wall := time.Since(began).Seconds()
	after, _ := thread.ProcessCPU()
	if err == nil {
		err = app.check(s.want)
	}
	if err != nil {
		return out, err
	}
	out = workload.Sample{Operations: app.rows, Missing: map[string]string{}, Values: map[string]float64{"wall": wall,
		"bytes_per_s": float64(s.want.Bytes) / wall, "rows_per_s": float64(app.rows) / wall, "db_wait_s": u.wait.Seconds()}}
	const why = "this system does not tell"
	switch {
	case u.hasCPU:
		out.Values["db_cpu_s"] = u.cpu.Seconds()
	case u.doubt != "":
		out.Missing["db_cpu_s"] = u.doubt
	default:
		out.Missing["db_cpu_s"] = why
	}
	own := after - before
	if s.name == embedded { // the database is in this process too
		own, hasCPU = max(0, own-u.cpu), hasCPU && u.hasCPU
	}
	if hasCPU {
		out.Values["app_cpu_s"] = own.Seconds()
	} else {
		out.Missing["app_cpu_s"] = why
	}
	return out, nil
}

// Close implements workload.Session.
func (s *session) Close() error {
	s.loaded = false
	if s.engine == nil {
		return nil
	}
	err := s.engine.close()
	s.engine = nil
	return err
}
