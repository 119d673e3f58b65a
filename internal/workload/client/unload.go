package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"hostlab/internal/workload"
)

// unload is the file that an extract writes: a row a line, its columns apart by tabs. No
// value holds either.
type unload struct {
	file  *os.File
	out   *bufio.Writer
	bytes int64
}

// newUnload makes the file in dir. close must be called.
func newUnload(dir string) (*unload, error) {
	f, err := os.CreateTemp(dir, "extract-*.txt")
	if err != nil {
		return nil, fmt.Errorf("cannot make the file: %w", err)
	}
	return &unload{file: f, out: bufio.NewWriterSize(f, 256<<10)}, nil
}

// write appends the rows of a package.
func (u *unload) write(p *pkg) error {
	for n := range p.ends {
		end := byte('\t')
		if (n+1)%p.columns == 0 {
			end = '\n'
		}
		v := p.value(n)
		_, _ = u.out.Write(v) // the writer keeps its first error
		if err := u.out.WriteByte(end); err != nil {
			return writeError(err)
		}
		u.bytes += int64(len(v)) + 1
	}
	return nil
}

// finish writes what is left. The file is not made durable: that is the log device's
// question, and not this job's.
func (u *unload) finish() error { return writeError(u.out.Flush()) }

func writeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(
		"cannot write the file: %w; make room, or choose another directory with TMPDIR, or of a study with --out",
		err)
}

// verify reads the file again and compares it with the rows of a layout.
func (u *unload) verify(l *tables) error {
	if _, err := u.file.Seek(0, 0); err != nil {
		return err
	}
	lines := bufio.NewScanner(u.file)
	var p pkg
	for i, t := range l.list {
		var got sums
		for got.rows < l.want[i].rows && lines.Scan() {
			p.reset(len(t.columns))
			for v := range bytes.SplitSeq(lines.Bytes(), []byte{'\t'}) {
				p.add(v)
			}
			got.add(&p)
		}
		if got != l.want[i] {
			return fmt.Errorf("the file has %d rows of table %s with checksum %016x, expected %d and %016x: the job is broken",
				got.rows, t.name, got.hash, l.want[i].rows, l.want[i].hash)
		}
	}
	if lines.Scan() {
		return errors.New("the file has rows that no table has: the job is broken")
	}
	return lines.Err()
}

func (u *unload) close() error { return errors.Join(u.file.Close(), os.Remove(u.file.Name())) }

// unloadTable reads packages, works on them, and writes them to the file.
func (j *job) unloadTable(ctx context.Context, i int) error {
	return j.packages(ctx, i, j.e.read, func(key) (int64, error) { return int64(j.p.rows()), j.unload.write(&j.p) })
}

// unloaded turns the responses of a job with commits into those of an extract.
func unloaded(out workload.Sample, rows, size int64) workload.Sample {
	out.Operations, out.Latency = rows, nil
	out.Values["bytes_per_s"] = float64(size) / out.Values["duration"]
	declared := map[string]bool{}
	for _, r := range unloadResponses() {
		declared[r.Name] = true
	}
	maps.DeleteFunc(out.Values, func(name string, _ float64) bool { return !declared[name] })
	maps.DeleteFunc(out.Missing, func(name, _ string) bool { return !declared[name] })
	return out
}
