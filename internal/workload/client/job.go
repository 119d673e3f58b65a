package client

import (
	"context"
	"time"

	"hostlab/internal/thread"
)

// timing is where the wall time of a job went, as its application sees it.
type timing struct {
	duration    time.Duration // from the first read to the last commit's answer
	read, write time.Duration // within calls of the database
	commits     []float64     // s each
	rows        int64
	inCalls     time.Duration // CPU time of this program within the database's calls
	inCommits   time.Duration // of that, in commits
	onServer    float64       // CPU time of the session in commits, s; 0 also where nobody tells it
	cpu         time.Duration // and altogether
	hasCPU      bool
	sum         uint64 // of the application's work, so that no compiler leaves it out
}

func (t *timing) commit() (s float64) {
	for _, c := range t.commits {
		s += c
	}
	return s
}

// busyInCommits is the time of commits that were no wait, s: one side or the other had
// a CPU, and while the one does the other does not.
func (t *timing) busyInCommits() float64 { return t.inCommits.Seconds() + t.onServer }

// inDatabase is the time within calls, s.
func (t *timing) inDatabase() float64 { return (t.read + t.write).Seconds() + t.commit() }

// task is what a job does.
type task int

const (
	copies task = iota
	deletes
	extracts
)

// job is one run of a task.
type job struct {
	e      *served
	l      *tables
	work   int // rounds of hashing a value
	task   task
	unload *unload // of an extract
	t      timing
	p      pkg
}

// call times one call of the database.
func (j *job) call(sum *time.Duration, f func() error) error {
	began := time.Now()
	cpu, _ := thread.ProcessCPU()
	err := f()
	after, _ := thread.ProcessCPU()
	*sum += time.Since(began)
	j.t.inCalls += after - cpu
	return err
}

func (j *job) commit(ctx context.Context) error {
	var took time.Duration
	cpu := j.t.inCalls
	before, _ := j.e.session()
	err := j.call(&took, func() error { return j.e.commit(ctx) })
	if after, _ := j.e.session(); before.why == "" && after.why == "" {
		j.t.onServer += after.value - before.value
	}
	j.t.inCommits += j.t.inCalls - cpu
	j.t.commits = append(j.t.commits, took.Seconds())
	return err
}

func (j *job) run(ctx context.Context) error {
	began := time.Now()
	cpu, ok := thread.ProcessCPU()
	for i := range j.l.list {
		if err := ctx.Err(); err != nil {
			return err
		}
		steps := [...]func(context.Context, int) error{copies: j.copyTable, deletes: j.deleteTable, extracts: j.unloadTable}
		if err := steps[j.task](ctx, i); err != nil {
			return err
		}
	}
	if j.unload != nil {
		if err := j.unload.finish(); err != nil {
			return err
		}
	}
	after, _ := thread.ProcessCPU()
	j.t.cpu, j.t.hasCPU = after-cpu, ok
	j.t.duration = time.Since(began)
	return nil
}

// packages reads the rows of a table, or their keys, in packages, works on them, and hands each to
// put with the key behind which it was read. put returns how many rows it dealt with.
func (j *job) packages(ctx context.Context, i int, read func(context.Context, int, key, *pkg) error,
	put func(after key) (int64, error)) error {
	for at := (key{}); ; at = j.p.last() {
		if err := j.call(&j.t.read, func() error { return read(ctx, i, at, &j.p) }); err != nil {
			return err
		}
		rows := j.p.rows()
		if rows == 0 {
			return nil
		}
		if err := j.process(ctx); err != nil {
			return err
		}
		did, err := put(at)
		j.t.rows += did
		if err != nil || rows < j.l.size {
			return err
		}
	}
}

// write does something in a transaction of its own.
func (j *job) write(ctx context.Context, do func() error) error {
	err := j.call(&j.t.write, func() error {
		if err := j.e.begin(ctx); err != nil {
			return err
		}
		return do()
	})
	if err != nil {
		return err
	}
	return j.commit(ctx)
}

// copyTable inserts each package with a commit of its own.
func (j *job) copyTable(ctx context.Context, i int) error {
	return j.packages(ctx, i, j.e.read, func(key) (int64, error) {
		return int64(j.p.rows()), j.write(ctx, func() error { return j.e.insert(ctx, i, &j.p) })
	})
}

// process is the application's share.
func (j *job) process(ctx context.Context) error {
	if j.work == 0 {
		return nil
	}
	for n := range j.p.ends {
		if n%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		j.t.sum += process(j.p.value(n), j.work)
	}
	return nil
}

// deleteTable reads the keys of a package and deletes what lies between them.
func (j *job) deleteTable(ctx context.Context, i int) error {
	return j.packages(ctx, i, j.e.keys, func(after key) (gone int64, err error) {
		err = j.write(ctx, func() (err error) {
			gone, err = j.e.remove(ctx, i, after, j.p.last())
			return err
		})
		return gone, err
	})
}
