package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/workload"
	"hostlab/internal/workload/logcommit"
)

// session has an engine, and knows what it was opened for.
type session struct {
	base, work string
	task       task

	engine *served // nil: none
	kind   string  // of the engine: its name and the server
	logDir string

	seed  uint64
	shape [2]int // tables and rows that list has
	list  []table
	want  []sums

	did uint64 // what the last run left, as far as the seed decides it
}

func open(ctx context.Context, cfg workload.Config, t task) (workload.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{base: cfg.Dir, work: cfg.Work, task: t}
	if err := s.ready(ctx, all(cfg.Params)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ready has the engine that parameters name, with its log where they say.
func (s *session) ready(ctx context.Context, p *CopyParams) error {
	if err := check(p); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	dir := p.LogDir
	switch {
	case dir == "":
		dir = s.work
	case !filepath.IsAbs(dir):
		dir = filepath.Join(s.base, dir)
	}
	d := speaks(p.Engine)
	kind := fmt.Sprint(strings.Join([]string{p.Engine, p.DSN, p.Schema}, "\n"), "\n", d.log(rowsOf(p)), p.Server)
	same := s.engine != nil && s.kind == kind && s.engine.alive()
	if same && s.logDir == dir {
		return nil
	}
	if dir != s.work {
		const least = 64 << 20
		if err := logcommit.Preflight(host.Storage{}, dir, least); err != nil {
			return logcommit.AsParam(err, "log_dir")
		}
	}
	if same {
		if err := s.engine.moveLog(ctx, dir); err != nil {
			return errors.Join(s.engine.explain(ctx, err), s.Close()) // it is neither here nor there
		}
		s.logDir = dir
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	e, err := s.start(ctx, d, p, dir)
	if err != nil {
		return err
	}
	s.engine, s.kind, s.logDir = e, kind, dir
	return nil
}

// start opens the engine.
func (s *session) start(ctx context.Context, d *dialect, p *CopyParams, logDir string) (*served, error) {
	if p.DSN == "" {
		return start(ctx, *d, s.work, logDir, p)
	}
	t, err := connect.ParseOwn(p.DSN)
	if err != nil {
		return nil, err
	}
	return use(ctx, *d, t, p.Schema)
}

func rowsOf(p *CopyParams) int {
	if p.Rows > 0 {
		return p.Rows
	}
	return sizes[p.Size]
}

// layout has the tables and what they must hold, once for a seed.
func (s *session) layout(p *CopyParams, seed uint64) (*tables, error) {
	shape := [2]int{p.Tables, rowsOf(p)}
	if s.want == nil || s.shape != shape || s.seed != seed {
		s.list, s.want = layout(shape[0], shape[1]), nil
		for i := range s.list {
			var sum sums
			if err := generate(&s.list[i], i, seed, func(p *pkg) error { sum.add(p); return nil }); err != nil {
				return nil, err
			}
			s.want = append(s.want, sum)
		}
		s.shape, s.seed = shape, seed
	}
	return &tables{list: s.list, want: s.want, seed: seed, size: p.Package}, nil
}

// sameTables reports whether what was made for one serves another.
func sameTables(a, b *tables) bool {
	return a.size == b.size && slices.EqualFunc(a.list, b.list, func(x, y table) bool {
		return x.name == y.name && len(x.columns) == len(y.columns) && len(x.indexes) == len(y.indexes)
	})
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	p := all(r.Params)
	if err := s.ready(ctx, p); err != nil {
		return out, err
	}
	l, err := s.layout(p, r.Seed)
	if err != nil {
		return out, err
	}
	defer func() {
		if err != nil && s.engine != nil {
			err = s.engine.explain(ctx, err)
		}
	}()
	clients := []string{source}
	if s.task == deletes {
		clients = append(clients, target)
	}
	if err := s.engine.fill(ctx, l, clients); err != nil {
		return out, err
	}
	j := &job{e: s.engine, l: l, task: s.task, work: p.Work}
	if s.task == extracts {
		if j.unload, err = newUnload(s.work); err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, j.unload.close()) }()
	}
	before, err := s.engine.counters(ctx, looks{})
	if err != nil {
		return out, err
	}
	stop := s.engine.watch(ctx)
	defer stop()
	if err := j.run(ctx); err != nil {
		return out, err
	}
	watched := stop()
	after, err := s.engine.counters(ctx, watched)
	if err != nil {
		return out, err
	}
	if err := s.verify(ctx, l, j.t.rows); err != nil {
		return out, err
	}
	out = sample(&j.t, after.since(before))
	if j.unload != nil {
		if err := j.unload.verify(l); err != nil {
			return out, err
		}
		out = unloaded(out, j.t.rows, j.unload.bytes)
	}
	out.Waits = watched.waits()
	out.Warnings = append(out.Warnings, s.engine.schema.notes...)
	if p.DSN != "" {
		out.Warnings = append(out.Warnings,
			"the log's numbers are the whole server's: what others wrote meanwhile is in them")
	}
	return out, nil
}

// verify compares what both clients hold with the seed.
func (s *session) verify(ctx context.Context, l *tables, rows int64) error {
	s.did = 0
	total := 0
	for i := range l.list {
		for _, client := range []string{source, target} {
			var got sums
			if err := s.engine.all(ctx, i, client, got.add); err != nil {
				return err
			}
			want := l.want[i]
			if client == target && s.task != copies {
				want = sums{}
			}
			if got != want {
				return fmt.Errorf(
					"table %s has %d rows of client %s with checksum %016x after the job, expected %d and %016x: the job is broken",
					l.list[i].name, got.rows, client, got.hash, want.rows, want.hash)
			}
			s.did += got.hash
		}
		total += l.want[i].rows
	}
	if rows != int64(total) {
		return fmt.Errorf("the job counted %d rows, expected %d: the job is broken", rows, total)
	}
	return nil
}

func (s *session) Close() error {
	if s.engine == nil {
		return nil
	}
	err := s.engine.close()
	s.engine = nil
	return err
}
