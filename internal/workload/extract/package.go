package extract

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// options are a run's.
type options struct {
	rows int    // of a package
	read string // cursor or copy
}

// usage is what the database took in a run.
type usage struct {
	wait   time.Duration // within its calls
	cpu    time.Duration
	hasCPU bool
	doubt  string // why not, where that is known
}

// engine is a database with the table.
type engine interface {
	// load makes the table anew and says what a file of it must have.
	load(ctx context.Context, rows int, seed uint64) (File, error)
	// read reads the table in packages, in the order in which it was loaded, and hands
	// each to the application. The last may be empty.
	read(ctx context.Context, o options, each func(pkg) error) (usage, error)
	close() error
}

// pkg is a package of rows as lines of the file.
type pkg struct {
	text []byte
	ends []int // of each row in text
}

func (p *pkg) reset()    { p.text, p.ends = p.text[:0], p.ends[:0] }
func (p *pkg) rows() int { return len(p.ends) }

// field appends a column, and after the last one ends the row.
func (p *pkg) field(b []byte, last bool) {
	p.text = append(p.text, b...)
	if !last {
		p.text = append(p.text, '\t')
		return
	}
	p.text = append(p.text, '\n')
	p.ends = append(p.ends, len(p.text))
}

// application processes packages and writes the file.
type application struct {
	ctx  context.Context //nolint:containedctx // of the one run that it lives for
	work int             // rounds of hashing for a row
	file *os.File
	out  *bufio.Writer
	rows int64
	sum  uint64 // of all rows' hashes, so that no compiler leaves them out
}

// newApplication makes the file in dir. Close must be called.
func newApplication(ctx context.Context, dir string, work int) (*application, error) {
	f, err := os.CreateTemp(dir, "extract-*.txt")
	if err != nil {
		return nil, fmt.Errorf("cannot make the file: %w", err)
	}
	return &application{ctx: ctx, work: work, file: f, out: bufio.NewWriterSize(f, 256<<10)}, nil
}

// take processes a package.
func (a *application) take(p pkg) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if a.work > 0 {
		begin := 0
		for _, end := range p.ends {
			a.sum += process(p.text[begin:end], a.work)
			begin = end
			if a.ctx.Err() != nil {
				return a.ctx.Err()
			}
		}
	}
	a.rows += int64(p.rows())
	if _, err := a.out.Write(p.text); err != nil {
		return fmt.Errorf("cannot write the file: %w; make room, or choose another directory with TMPDIR, or of a study with --out", err)
	}
	return nil
}

// finish writes what is left. The file is not made durable: that is the log device's
// question, and not this job's.
func (a *application) finish() error {
	if err := a.out.Flush(); err != nil {
		return fmt.Errorf("cannot write the file: %w; make room, or choose another directory with TMPDIR, or of a study with --out", err)
	}
	return nil
}

// check reads the file again.
func (a *application) check(want File) error {
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	got := File{Rows: a.rows}
	buf := make([]byte, 256<<10)
	for {
		n, err := a.file.Read(buf)
		got.add(buf[:n], 0)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("cannot read the file again: %w", err)
		}
	}
	if got != want {
		return fmt.Errorf("the file has %d rows, %d bytes and checksum %08x, expected %d, %d and %08x: the job is broken", got.Rows, got.Bytes, got.CRC, want.Rows, want.Bytes, want.CRC)
	}
	return nil
}

// close removes the file.
func (a *application) close() error {
	return errors.Join(a.file.Close(), os.Remove(a.file.Name()))
}
