package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/watch"
	"hostlab/internal/workload/logcommit"
)

// commitsASample is how many commits are timed for each sample: the median of three is not moved by one that met a
// stall, and three a second are nothing to a device that serves a database.
const commitsASample = 3

// Watch takes samples and hands them to its users.
type Watch struct {
	Counter  watch.Counter
	Log      *logcommit.Log          // where commits are timed; nil: none are
	Record   *watch.Recorder         // nil: none is kept
	Export   func(io.WriterTo) error // gets the metrics after each reading; nil: nobody does
	Serving  bool                    // the metrics are read over the network
	Version  string                  // of hostlab, for the metrics
	Interval time.Duration
	Count    int           // of samples, after which it is over; 0: any
	Duration time.Duration // after which it is over; 0: any

	last  watch.Reading
	began time.Time
	taken int // samples

	mu     sync.Mutex // the server reads metrics meanwhile
	expose watch.Exposer
}

// Begin takes the first reading, from which the first sample counts, and returns how many CPUs it is of.
func (w *Watch) Begin() (cpus int, err error) {
	if w.last, err = w.Counter.Read(time.Now()); err != nil {
		return 0, err
	}
	w.began = w.last.At
	w.expose.Version = w.Version
	w.expose.Add(w.Counter.Info(), w.last)
	return len(w.last.CPUs), nil
}

// Next takes a sample and hands it to the record and the metrics.
func (w *Watch) Next(ctx context.Context) (watch.Sample, error) {
	var commits []float64
	if w.Log != nil {
		var err error
		if commits, err = w.Log.Block(ctx, commitsASample, nil); err != nil {
			return watch.Sample{}, err
		}
	}
	now, err := w.Counter.Read(time.Now())
	if err != nil {
		return watch.Sample{}, err
	}
	now.Commits = commits
	info := w.Counter.Info()
	s := watch.Between(info, w.last, now)
	w.last = now
	w.taken++
	w.mu.Lock()
	w.expose.Add(info, now)
	w.mu.Unlock()
	if w.Record != nil {
		if err := w.Record.Write(now, s); err != nil {
			return s, fmt.Errorf("recording ended after %s: %w", screen.Count(w.taken, "sample"), err)
		}
	}
	return s, w.Publish()
}

// WriteTo writes the metrics.
func (w *Watch) WriteTo(to io.Writer) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expose.WriteTo(to)
}

// Publish hands the metrics of the last reading to Export.
func (w *Watch) Publish() error {
	if w.Export == nil {
		return nil
	}
	return w.Export(w)
}

// left is how long until the next sample is due. Those that were missed, as while
// the machine was suspended, are left out.
func (w *Watch) left() time.Duration { return w.Interval - time.Since(w.began)%w.Interval }

// over reports whether the last sample that was asked for has been taken.
func (w *Watch) over() bool {
	return w.Count > 0 && w.taken >= w.Count || w.Duration > 0 && time.Since(w.began)+w.Interval/2 > w.Duration
}

// Lines writes a line for each sample. It returns the context's error where that has ended.
func (w *Watch) Lines(ctx context.Context, out io.Writer, asJSON bool) error {
	for !w.over() {
		if err := proc.Sleep(ctx, w.left()); err != nil {
			return err
		}
		s, err := w.Next(ctx)
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		info := w.Counter.Info()
		text := []byte(screen.Clean(s.Text(info)))
		if asJSON {
			o := s.Object(info)
			if w.taken == 1 {
				o.Unknown = info.Unknown
			}
			if text, err = result.JSON(o); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
			return err
		}
	}
	return nil
}

// note says what else goes on, for the screen.
func (w *Watch) note() string {
	out := ""
	if w.Record != nil {
		out = fmt.Sprintf("record +%d kB", w.Record.Written()/1000)
	}
	if w.Serving {
		if out != "" {
			out += ", "
		}
		out += "serving"
	}
	return out
}

// Close closes all that the watch was given.
func (w *Watch) Close() error {
	var err error
	if w.Record != nil {
		err = w.Record.Close()
	}
	if w.Log != nil {
		err = errors.Join(err, w.Log.Close())
	}
	w.Counter.Close()
	return err
}
