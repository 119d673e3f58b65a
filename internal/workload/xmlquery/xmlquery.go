// Package xmlquery is the workload of a query that costs nothing but CPU
// time: a cached table with an XML column, every document of which is shredded
// into rows and typed columns, at a chosen degree of parallelism.
//
// It does what SQL's XML methods do: nodes (the row path /order/items/item), value
// (columns converted to whole numbers, decimals, dates and text) and query (a node
// that stays XML), and sums all of it up, so that nothing can be left out.
package xmlquery

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hostlab/internal/thread"
)

// chunkRows is how many rows a worker takes at a time: some 15 kB, or tens of
// microseconds, small against a run and large against an atomic addition.
const chunkRows = 4

// Sum is what a query returns. It does not depend on the order of rows.
type Sum struct {
	Rows  int64         // items
	Check uint64        // of all columns of all rows
	CPU   time.Duration // of all workers; 0 where that is not known
}

// Query shreds every row of t passes times with degree workers and returns the
// sum over all and how long it took, from before the first worker starts until the
// last has ended. Workers are threads that the operating system places as it
// would a database's, on some CPUs or, without any, on all: they are not pinned. It is
// cancelled within one chunk a worker. Beside starting the workers it does not allocate.
func Query(ctx context.Context, t *Table, degree, passes int, cpus ...int) (Sum, time.Duration, error) {
	if degree < 1 || passes < 1 {
		return Sum{}, 0, fmt.Errorf("degree %d, %d passes: want at least 1", degree, passes)
	}
	rows := t.Rows() * passes
	workers := make([]scanWorker, degree)
	var next atomic.Int64
	var stop atomic.Bool
	unwatch := context.AfterFunc(ctx, func() { stop.Store(true) })
	defer unwatch()

	begin := time.Now()
	var ends []<-chan error
	for i := range workers {
		ends = append(ends, thread.Within(cpus, func() error {
			workers[i].run(t, rows, &next, &stop)
			workers[i].sum.CPU, _ = thread.CPUTime() // of a thread of its own
			return workers[i].err
		}))
	}
	var errs []error
	for _, end := range ends {
		errs = append(errs, <-end)
	}
	took := time.Since(begin)

	var sum Sum
	for i := range workers {
		sum.Rows += workers[i].sum.Rows
		sum.Check += workers[i].sum.Check
		sum.CPU += workers[i].sum.CPU
	}
	if err := errors.Join(errs...); err != nil {
		return Sum{}, took, err
	}
	if err := ctx.Err(); err != nil {
		return Sum{}, took, err
	}
	return sum, took, nil
}

// scanWorker has what one degree of parallelism needs. The padding keeps the sums of
// two of them off one cache line (and off the pair that the prefetcher fetches).
type scanWorker struct {
	scanner shredder
	sum     Sum
	err     error
	_       [128]byte
}

func (w *scanWorker) run(t *Table, rows int, next *atomic.Int64, stop *atomic.Bool) {
	if w.scanner.scan.stack == nil {
		w.scanner.scan.stack = make([]byte, 0, 256)
		w.scanner.scratch = make([]byte, 0, 1024)
	}
	for !stop.Load() {
		end := int(next.Add(chunkRows))
		begin := end - chunkRows
		if begin >= rows {
			return
		}
		for i := begin; i < min(end, rows); i++ {
			n, check, err := w.scanner.shred(t.Row(i % t.Rows()))
			if err != nil {
				w.err = fmt.Errorf("row %d: %w", i%t.Rows(), err)
				stop.Store(true)
				return
			}
			w.sum.Rows += n
			w.sum.Check += check
		}
	}
}
