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

// recorder keeps how long a CPU computed for its thread and idled. Idle times too
// short to tell from the pool's own work are part of the burst. A burst is as long as
// the thread's CPU time, spins included: while others had the CPU the thread did no
// work, and a prediction would slow that time as if it were. It counts as idle, so
// that the bursts of a CPU still follow each other without a hole.
type recorder struct {
	cpu     int
	on      bool
	within  bool
	from    time.Duration // of the present stretch of work
	used    time.Duration // the thread's CPU time then
	ended   time.Duration // when there was no work any more
	stalled time.Duration // there was work, but not the CPU for it
	out     []burst
}

// burst is one of the record, to the nanosecond.
type burst struct{ at, busy, idle time.Duration }

const shortest = 20 * time.Microsecond

// busy begins a stretch of work. used is the thread's CPU time, asked for only where
// there is a record.
func (r *recorder) busy(at time.Duration, used func() time.Duration) {
	if !r.on || r.within {
		return
	}
	r.within, r.from, r.used = true, at, used()
	if n := len(r.out) - 1; n >= 0 {
		last := &r.out[n]
		if gap := at - r.ended; gap < shortest {
			last.busy += gap
			return // it goes on
		}
		last.idle = at - last.at - last.busy
	}
	r.out = append(r.out, burst{at: at})
}

func (r *recorder) idle(at time.Duration, used func() time.Duration) {
	if !r.on || !r.within {
		return
	}
	// The two clocks are not read at one moment, and no burst is empty.
	did := max(1, min(used()-r.used, at-r.from))
	r.out[len(r.out)-1].busy += did
	r.stalled += max(0, at-r.from-did)
	r.within, r.ended = false, at
}

// finish closes the last burst's idle time and returns all.
func (r *recorder) finish(at time.Duration) []burstlog.Burst {
	out := make([]burstlog.Burst, len(r.out))
	for i, b := range r.out {
		if i == len(r.out)-1 {
			b.idle = max(0, at-b.at-b.busy)
		}
		out[i] = burstlog.Burst{CPU: r.cpu, At: b.at.Seconds(), Busy: b.busy.Seconds(), Idle: b.idle.Seconds()}
	}
	return out
}
