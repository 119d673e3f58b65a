// Package noise holds what disturbs run times: series recorded from real work on
// real hosts, and models made up of the disturbances seen in them. Both give the
// noise of consecutive runs, as logarithms, to simulated experiments.
package noise

import (
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"time"

	"hostlab/internal/stats"
)

//go:embed *.json.gz
var records embed.FS

// Record is what one recording of a host gave: several kinds of work that took
// turns. It names no host.
type Record struct {
	Label   string    `json:"label"`   // quiet, busy, ...
	About   string    `json:"about"`   // what else ran
	Command string    `json:"command"` // that recorded it
	When    time.Time `json:"when"`
	Took    float64   `json:"took_s"`
	Host    string    `json:"host"`
	Series  []Series  `json:"series"`
}

// Series is one kind of work: the time of each of its runs, in order. Runs of the
// other kinds lay between two of them.
type Series struct {
	Work  string  `json:"work"`
	About string  `json:"about"`
	Nanos []int64 `json:"ns"`
}

// Write stores r, compressed, as a new file: atomically, so that a broken
// recording leaves none.
func (r *Record) Write(file string) (err error) {
	f, err := os.CreateTemp(path.Dir(file), ".noise-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return err
	}
	if err := errors.Join(z.Close(), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// Read reads a record.
func Read(r io.Reader) (*Record, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var rec Record
	if err := json.NewDecoder(z).Decode(&rec); err != nil {
		return nil, err
	}
	for _, s := range rec.Series {
		if len(s.Nanos) < 100 || slices.Min(s.Nanos) <= 0 {
			return nil, fmt.Errorf("series %s: want at least 100 times above 0", s.Work)
		}
	}
	return &rec, nil
}

// Recorded returns the records that lie beside this file, by name.
func Recorded() ([]*Record, error) {
	names, err := fs.Glob(records, "*.json.gz")
	if err != nil {
		return nil, err
	}
	var all []*Record
	for _, name := range names {
		f, err := records.Open(name)
		if err != nil {
			return nil, err
		}
		r, err := Read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Logs returns the logarithms of the times over their median.
func (s Series) Logs() []float64 {
	z := make([]float64, len(s.Nanos))
	for i, ns := range s.Nanos {
		z[i] = math.Log(float64(ns))
	}
	m := stats.Median(z)
	for i := range z {
		z[i] -= m
	}
	return z
}
