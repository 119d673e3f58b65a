package dialog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostlab/internal/model/burstlog"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

// recordable says what stands in the way of a record, before any time is spent. A
// file that is no record is not overwritten.
func (s *session) recordable(file string) error {
	if file == "" {
		return nil
	}
	path := workload.Under(s.dir, file)
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return workload.Wrong("record", fmt.Sprintf("there is no directory %s", filepath.Dir(path)), "make it first")
	}
	f, err := trust.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return workload.Wrong("record", err.Error(), "name another file")
	}
	defer f.Close()
	head := make([]byte, 200)
	if n, _ := f.Read(head); n > 0 && !strings.Contains(string(head[:n]), burstlog.Kind) {
		return workload.Wrong("record", path+" is there and is no record of bursts", "name another file")
	}
	return nil
}

// manyStalls is the share of a record from which on its idle times are no longer those
// that the workload left.
const manyStalls = 0.05

// described returns what a record was made of, and what is wrong with it.
func described(p plan, r reply) (source string, warnings []string) {
	source = "workload dialog, on the host's own clock"
	if p.Policy != "" {
		source = "workload dialog, on a clock emulated as " + p.Policy
		warnings = append(warnings,
			fmt.Sprintf("the record holds what the clock emulated as %s added, and a prediction from it "+
				"would slow the work twice; record with policy = none", p.Policy))
	}
	if !r.HasCPU {
		return source + "; bursts hold an unknown time that threads waited for a CPU", warnings
	}
	share := 0.0
	if r.Watched > 0 {
		share = r.Stalled / r.Watched
	}
	source += fmt.Sprintf("; others kept threads from their CPU in %.2g %% of the record, which counts as idle", 100*share)
	if share > manyStalls {
		// Without the share, which is in the source: reports count warnings of equal text.
		warnings = append(warnings,
			fmt.Sprintf("in more than %.0f %% of the record a thread had work while others had its CPU; it "+
				"counts as idle, so that idle times are longer than those of this workload by itself", 100*manyStalls))
	}
	return source, warnings
}

// record writes the bursts of a run, all or nothing.
func (s *session) record(file string, began time.Time, p plan, r reply) (warnings []string, err error) {
	path := workload.Under(s.dir, file)
	fail := func(err error) ([]string, error) { return nil, fmt.Errorf("record %s: %w", path, err) }
	dir, base, err := trust.Place(path)
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	tmp := ".hostlab-record-" + rand.Text()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(err)
	}
	defer dir.Remove(tmp) //nolint:errcheck // gone already when all went well
	source, warnings := described(p, r)
	if _, err := os.Stat(path); err == nil {
		warnings = append(warnings, "the record of an earlier run was replaced: "+file+" holds the last run alone")
	}
	err = func() error {
		w, err := burstlog.NewWriter(f, burstlog.Head{Started: began.UTC(), CPUs: p.CPUs, Source: source})
		if err != nil {
			return err
		}
		slices.SortStableFunc(r.Bursts, func(a, b burstlog.Burst) int {
			if a.At < b.At {
				return -1
			}
			return 1
		})
		for _, b := range r.Bursts {
			if err := w.Write(b); err != nil {
				return err
			}
		}
		return w.Flush()
	}()
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	if err := dir.Rename(tmp, base); err != nil {
		return fail(err)
	}
	return warnings, nil
}
