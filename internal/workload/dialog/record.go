package dialog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostlab/internal/model/burstlog"
	"hostlab/internal/workload"
)

// path is the record's, relative to the study's directory.
func (s *session) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.dir, file)
}

// recordable says what stands in the way of a record, before any time is spent. A
// file that is no record is not overwritten.
func (s *session) recordable(file string) error {
	if file == "" {
		return nil
	}
	wrong := func(text, hint string) error {
		return &workload.ParamError{Name: "record", Text: text, Hint: hint}
	}
	path := s.path(file)
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return wrong(fmt.Sprintf("there is no directory %s", filepath.Dir(path)), "make it first")
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrong(err.Error(), "name another file")
	}
	defer f.Close()
	head := make([]byte, 200)
	if n, _ := f.Read(head); n > 0 && !strings.Contains(string(head[:n]), burstlog.Kind) {
		return wrong(path+" is there and is no record of bursts", "name another file")
	}
	return nil
}

// record writes the bursts of a run, all or nothing.
func (s *session) record(file string, began time.Time, p plan, bursts []burstlog.Burst) error {
	path := s.path(file)
	fail := func(err error) error { return fmt.Errorf("record %s: %w", path, err) }
	f, err := os.CreateTemp(filepath.Dir(path), ".hostlab-record-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	source := "workload dialog, on the host's own clock"
	if p.Policy != "" {
		source = "workload dialog, on a clock emulated as " + p.Policy
	}
	err = func() error {
		w, err := burstlog.NewWriter(f, burstlog.Head{Started: began.UTC(), CPUs: p.CPUs, Source: source})
		if err != nil {
			return err
		}
		slices.SortStableFunc(bursts, func(a, b burstlog.Burst) int {
			if a.At < b.At {
				return -1
			}
			return 1
		})
		for _, b := range bursts {
			if err := w.Write(b); err != nil {
				return err
			}
		}
		return w.Flush()
	}()
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fail(err)
	}
	return nil
}
