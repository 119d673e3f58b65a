package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/watch"
	"hostlab/internal/watch/live"
	"hostlab/internal/workload/logcommit"
)

// commitsASample is how many commits --probe-commits makes for each sample: the
// median of three is not moved by one that met a stall, and three a second are
// nothing to a device that serves a database.
const commitsASample = 3

// watcher takes samples and hands them to its users.
type watcher struct {
	o       *watchOptions
	sampler watch.Counter
	log     *logcommit.Log
	rec     *watch.Recorder
	last    watch.Reading
	began   time.Time
	taken   int // samples

	mu     sync.Mutex // the server reads metrics meanwhile
	expose watch.Exposer
	url    string
}

func (o *watchOptions) run(ctx context.Context, std streams, note io.Writer) (err error) {
	tree, done, err := o.m.inspectable()
	if err != nil {
		return err
	}
	defer done()
	w := &watcher{o: o, expose: watch.Exposer{Version: versionText()}}
	defer func() {
		if e := w.close(); e != nil { // else a plain interruption would not be one
			err = errors.Join(err, e)
		}
	}()
	if err := w.open(ctx, tree, note); err != nil {
		return err
	}
	info := w.sampler.Info()
	if o.full(std) {
		return w.screen(ctx, std)
	}
	if o.out.format != "json" {
		for _, u := range info.Unknown {
			fmt.Fprintln(note, "hostlab: "+screen.Clean("unknown here: "+u.What+": "+u.Why))
		}
	}
	return w.lines(ctx, std.out)
}

// full reports whether the screen is to be filled: there is one, and a person at it.
func (o *watchOptions) full(std streams) bool {
	in, ok := std.in.(*os.File)
	tty, _ := terminal(std.out)
	return !o.out.given() && tty && ok && term.IsTerminal(int(in.Fd())) && os.Getenv("TERM") != "dumb"
}

// open opens all that was asked for and takes the first reading. What is refused is
// refused here, before anything was shown.
func (w *watcher) open(ctx context.Context, tree host.Tree, note io.Writer) error {
	o := w.o
	var err error
	if w.sampler, err = watch.OpenHere(ctx, watch.Config{Tree: tree, LogDir: o.logDir}); err != nil {
		return cmp.Or(ctx.Err(), error(cannotLook{err}))
	}
	if o.commits {
		if err := logcommit.Preflight(host.StorageOf(tree, o.logDir), o.logDir, logcommit.MaxFileBytes); err != nil {
			return usagef("--log-dir %w", err)
		}
		cfg := logcommit.DefaultConfig(o.logDir)
		cfg.Bytes = 8 << 20
		if w.log, err = logcommit.Open(cfg); err != nil {
			return usagef("--log-dir %w", err)
		}
	}
	if w.last, err = w.sampler.Read(time.Now()); err != nil {
		return cannotLook{err}
	}
	w.began = w.last.At
	w.expose.Add(w.sampler.Info(), w.last)
	if o.record != "" {
		if err := checkWritable("save", o.record); err != nil {
			return err
		}
		if w.rec, err = watch.OpenRecorder(o.record, w.sampler.Info().Hostname, o.interval, w.sampler.Info); err != nil {
			if no, ok := errors.AsType[*watch.NotRecord](err); ok {
				return usagef("--save %w", no)
			}
			return usagef("--save %s: %w", o.record, plain(err))
		}
		fmt.Fprintf(note, "hostlab: recording to %s; %s\n", screen.Clean(o.record), sizes(len(w.last.CPUs), o.interval))
	}
	if o.listen != "" {
		if w.url, err = serve(ctx, note, o.listen, w.write); err != nil {
			return err
		}
	}
	return w.export()
}

// next takes a sample and hands it to the record, the metrics and the textfile.
func (w *watcher) next(ctx context.Context) (watch.Sample, error) {
	var commits []float64
	if w.log != nil {
		var err error
		if commits, err = w.log.Block(ctx, commitsASample, nil); err != nil {
			return watch.Sample{}, err
		}
	}
	now, err := w.sampler.Read(time.Now())
	if err != nil {
		return watch.Sample{}, err
	}
	now.Commits = commits
	info := w.sampler.Info()
	s := watch.Between(info, w.last, now)
	w.last = now
	w.taken++
	w.mu.Lock()
	w.expose.Add(info, now)
	w.mu.Unlock()
	if w.rec != nil {
		if err := w.rec.Write(now, s); err != nil {
			return s, fmt.Errorf("recording to %s ended after %s: %w", w.o.record, screen.Count(w.taken, "sample"), plain(err))
		}
	}
	return s, w.export()
}

// write writes the metrics.
func (w *watcher) write(to io.Writer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.expose.WriteTo(to)
	return err
}

func (w *watcher) export() error {
	if w.o.textfile == "" {
		return nil
	}
	return writeFile(w.o.textfile, func(f *os.File) error {
		_, err := w.expose.WriteTo(f)
		return err
	})
}

// left is how long until the next sample is due. Those that were missed, as while
// the machine was suspended, are left out.
func (w *watcher) left() time.Duration {
	since := time.Since(w.began)
	return w.o.interval - since%w.o.interval
}

// over reports whether the last sample that was asked for has been taken.
func (w *watcher) over() bool {
	return w.o.count > 0 && w.taken >= w.o.count || w.o.duration > 0 && time.Since(w.began)+w.o.interval/2 > w.o.duration
}

func (w *watcher) lines(ctx context.Context, out io.Writer) error {
	for !w.over() {
		select {
		case <-ctx.Done():
			return w.o.done(ctx)
		case <-time.After(w.left()):
		}
		s, err := w.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return w.o.done(ctx)
			}
			return err
		}
		text := []byte(screen.Clean(s.Text(w.sampler.Info())))
		if w.o.out.format == "json" {
			o := s.Object(w.sampler.Info())
			if w.taken == 1 {
				o.Unknown = w.sampler.Info().Unknown
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

func (w *watcher) screen(ctx context.Context, std streams) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	err := live.Run(inner, live.Config{
		In: std.in, Out: std.out, Color: colour(std.out), Interval: w.o.interval,
		Info: w.sampler.Info,
		Next: func() (watch.Sample, error) { return w.next(inner) },
		Wait: w.left,
		Over: w.over,
		Note: w.note,
	})
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return w.o.done(ctx)
	}
	return err
}

// note says what else goes on, for the screen.
func (w *watcher) note() string {
	out := ""
	if w.rec != nil {
		total, _ := w.rec.Written()
		out = fmt.Sprintf("record +%d kB", total/1000)
	}
	if w.url != "" {
		if out != "" {
			out += ", "
		}
		out += "serving"
	}
	return out
}

func (w *watcher) close() error {
	var err error
	if w.rec != nil {
		err = w.rec.Close()
	}
	if w.log != nil {
		err = errors.Join(err, w.log.Close())
	}
	if w.sampler != nil {
		w.sampler.Close()
	}
	return err
}

// address completes what --listen was given: a port alone, or one without an
// address, is on the loopback interface, since metrics tell strangers about a host.
func address(given string) (string, error) {
	if _, err := strconv.Atoi(given); err == nil {
		given = ":" + given
	}
	name, port, err := net.SplitHostPort(given)
	if err != nil {
		return "", usagef("--listen %s: expected ADDRESS:PORT, such as 127.0.0.1:9750", given)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", usagef("--listen %s: the port must be 0 to 65535", given)
	}
	if name == "" {
		name = "127.0.0.1"
	}
	return net.JoinHostPort(name, port), nil
}
