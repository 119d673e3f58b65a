package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/watch"
)

type watchOptions struct {
	m                  machine
	interval, duration time.Duration
	count              int
	out                printing
	status             strict
	logDir             string
	commits            bool
	record             string
	listen, textfile   string
	analyze            string
	ring               ringOptions
}

func newWatchCommand(std streams) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [flags]",
		Short: "What each CPU does: use, clock, sleep; judge a recorded night",
		Long: `watch shows what the CPUs of this host do, once a second: how busy they are,
their clock in % of the highest, their idle states, and whether tasks wait for a
CPU. It also shows how long writes and flushes of the log device take. On a
terminal it fills the screen (q quits, h lists the keys). Elsewhere, or with
--format, it writes one line per sample.

--save FILE appends samples to a file. A day of 64 CPUs at 1 s takes 15 MB
when quiet and 75 MB when busy. --interval 10s makes it a tenth, and gzip a
tenth of that. --from FILE judges such a record, also a gzipped one. It finds
the quiet time and the load after it. It says whether the load spread over the
CPUs more unevenly than by chance, and whether some CPUs were asleep or slow.

--service NAME --ring 2d keeps an account of a service every 10 s instead, from
which 'hostlab assess --at 02:14' and '--worst 10m' answer. It takes about 15 MB
a day, and 50 MB at most. Without root it lacks what only root sees.

A record has the busy share of each sample, not the bursts within it. 'hostlab
predict --workload' needs bursts: take them from 'hostlab assess --bursts', now
or from the ring.

On Windows it reads performance counters, at least 1 s apart: use, % of Maximum
Frequency, % Processor Performance, the queue of processors, context switches,
and writes to the volume of --log-dir. Windows counts no idle states, pressure,
iowait, steal or flushes there. A record has the same form. --from takes % of
Maximum Frequency as the clock: the requested clock, not the measured one.

watch writes only the files that you name. --probe-commits makes a few small
durable commits a second in --log-dir. Reading a CPU's counters wakes no CPU. If
this host hides something, watch names it once.

--listen serves the same to Prometheus. It answers only requests for localhost,
for the address they arrived at, or for the name in --listen. --textfile writes
it for the textfile collector of node_exporter. Names begin with hostlab_.

Exit status:
  0    done, also when ended by q, Ctrl-C or SIGTERM
  1    failed on the way
  2    a flag or file cannot be used
  3    there is nothing to watch
  130  interrupted before --count or --duration was reached
With --from and --exit-status:
  0    the load spread evenly
  10   it left CPUs out, or busy CPUs were slow at first
  11   undecided`,
		Example: `  hostlab watch --log-dir /var/lib/postgresql
  hostlab watch --interval 10s --save night.jsonl --duration 24h
  hostlab watch --from night.jsonl
  hostlab watch --from night.jsonl --out night.html
  hostlab watch --service postgresql --ring 2d
  hostlab watch --format json --count 1 | jq '.cpus[] | select(.deep > 0.9)'
  hostlab watch --interval 10s --listen 127.0.0.1:9750`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.ring.check(cmd, o.duration); err != nil {
				return err
			}
			if o.ring.keep != "" {
				return o.ring.run(cmd.Context(), notes(cmd, std), o.duration, o.listen)
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			if o.analyze != "" {
				return o.judge(std)
			}
			return o.run(cmd.Context(), std, notes(cmd, std))
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.interval, "interval", time.Second, "time between samples, 100ms to 1h")
	f.IntVar(&o.count, "count", 0, "end after this many samples")
	f.DurationVar(&o.duration, "duration", 0, "end after this time, such as 24h")
	o.out.flags(cmd, std, tableForms)
	o.status.flag(cmd, "with --from: end with the verdict as a status, 10 or 11")
	f.StringVar(&o.logDir, "log-dir", "", "directory of the database's log: watch its disks too")
	f.BoolVar(&o.commits, "probe-commits", false,
		"also time 3 durable commits of 4 KiB a sample in --log-dir; this writes")
	f.StringVar(&o.record, "save", "", "append samples to `FILE`")
	f.StringVar(&o.listen, "listen", "", "serve Prometheus metrics on `ADDRESS:PORT`; a port alone is on 127.0.0.1")
	f.StringVar(&o.textfile, "textfile", "", "write metrics to `FILE`, which ends in .prom, at each sample")
	f.StringVar(&o.analyze, "from", "", "judge a record in `FILE` (- for stdin) in place of watching")
	o.ring.flags(cmd)
	o.m.flags(cmd)
	cobra.CheckErr(cmd.MarkFlagDirname("log-dir"))
	return cmd
}

// check refuses what cannot be meant.
func (o *watchOptions) check(cmd *cobra.Command) error {
	given := func(names ...string) (list []string) {
		for _, n := range names {
			if cmd.Flags().Changed(n) {
				list = append(list, "--"+n)
			}
		}
		return list
	}
	if o.analyze != "" {
		if odd := given("interval", "count", "duration", "log-dir", "probe-commits", "save", "listen", "textfile",
			"root"); len(odd) > 0 {
			return usagef("%s is of no use with --from, which reads a record and watches nothing", strings.Join(odd, ", "))
		}
		return nil
	}
	if odd := given("exit-status", "out"); len(odd) > 0 {
		return usagef("%s needs --from FILE; samples go to stdout, and --save keeps them", strings.Join(odd, ", "))
	}
	switch {
	case o.out.format != "text" && o.out.format != "json":
		return usagef("--format %s needs --from FILE: samples are text or json", o.out.format)
	case o.interval < watch.Shortest || o.interval > time.Hour:
		return usagef("--interval %s: expected %s to 1h", o.interval, screen.Brief(watch.Shortest))
	case cmd.Flags().Changed("count") && o.count < 1:
		return usagef("--count %d: expected 1 or more", o.count)
	case cmd.Flags().Changed("duration") && o.duration < o.interval:
		return usagef("--duration %s: expected at least one interval, %s", o.duration, o.interval)
	case o.commits && o.logDir == "":
		return usagef("--probe-commits needs --log-dir DIRECTORY, where it commits")
	case o.commits && o.m.root != "":
		return usagef("--probe-commits measures this machine, and --root names another")
	case o.record == "-":
		return usagef("--save -: a record is appended to a file; --format json writes samples to stdout")
	}
	if o.logDir != "" {
		abs, err := filepath.Abs(o.logDir)
		if err != nil {
			return err
		}
		if o.m.root == "" {
			info, err := os.Stat(abs)
			if err != nil {
				return usagef("--log-dir %s: %w", o.logDir, plain(err))
			}
			if !info.IsDir() {
				return usagef("--log-dir %s is not a directory", o.logDir)
			}
		}
		o.logDir = abs
	}
	if o.textfile != "" {
		// node_exporter reads *.prom only (collector/textfile.go).
		if filepath.Ext(o.textfile) != ".prom" {
			return usagef("--textfile %s: name a file that ends in .prom; node_exporter reads no others", o.textfile)
		}
		if err := checkWritable("textfile", o.textfile); err != nil {
			return err
		}
	}
	return nil
}

func (o *watchOptions) judge(std streams) error {
	in := std.in
	name := "stdin"
	if o.analyze != "-" {
		name = o.analyze
		f, err := openInput("from", name, math.MaxInt64, nil)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	r, err := watch.ReadRecord(in)
	if err != nil {
		return usagef("--from %s: %w", name, plain(err))
	}
	if len(r.Points) < 2 {
		return usagef("--from %s: it holds one sample only; let the recording run through a quiet time and the load after it",
			name)
	}
	a := watch.Analyze(r, watch.DefaultQuestion())
	switch err := o.out.print(std, a.Document()); {
	case err != nil:
		return err
	case a.Found():
		return o.status.verdict(exitFound)
	case !a.Decided():
		return o.status.verdict(exitUndecided)
	}
	return nil
}

// sizes says what a day of a recording takes.
func sizes(cpus int, interval time.Duration) string {
	quiet, busy := watch.DaySize(cpus, interval)
	return fmt.Sprintf("a day of %s at %s takes about %s when quiet and %s when busy", screen.Count(cpus, "CPU"),
		screen.Brief(interval),
		result.Format(quiet, "B"), result.Format(busy, "B"))
}

// done reports whether an end that came by a signal is how this watch was to end.
func (o *watchOptions) done(ctx context.Context) error {
	if o.count == 0 && o.duration == 0 {
		return nil
	}
	if o.record != "" && ctx.Err() != nil {
		return stopped{fmt.Sprintf("%s holds the samples until then", o.record)}
	}
	return ctx.Err()
}
