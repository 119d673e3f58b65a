package postgres

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// Findings are what its counters and its sessions' waits tell of its settings.
func Findings(r *explain.Report) (out []explain.Finding) {
	if r.Busy <= 0 {
		return nil
	}
	f := findings{r, r.Whole()}
	looks := []func() (explain.Finding, bool){f.pauses, f.Holding, f.Keeping, f.commitDelay, f.checkpoints, f.connections,
		f.temporary, f.standby, f.habits, f.cache, f.backendWrites, f.autovacuum, f.snapshot, f.dead, f.compiles}
	for _, look := range append(f.waits(), looks...) {
		if x, ok := look(); ok && x.Matters() {
			out = append(out, x)
		}
	}
	return out
}

type findings struct {
	*explain.Report
	totals *explain.Totals
}

func (f *findings) set(parameter string, part explain.PartName) explain.Finding {
	return explain.Finding{Parameter: parameter, Part: part, Value: f.setting(parameter)}
}

// setting is a value as the server writes it; "": it did not tell.
func (f *findings) setting(name string) string {
	if f.totals == nil {
		return ""
	}
	return f.totals.Settings[name]
}

// now is a setting's value for a sentence.
func now(x explain.Finding) string {
	if x.Value == "" {
		return x.Parameter
	}
	return x.Parameter + " (" + x.Value + ")"
}

// upTo is the most that parts take, as a share of active time, and no less than what is known, s: the bound of a
// setting that shortens nothing else.
func (f *findings) upTo(known float64, parts ...explain.PartName) *float64 {
	return f.share(max(known, f.Highest(parts...)))
}

// share is seconds as a share of active time.
func (f *findings) share(seconds float64) *float64 {
	return result.Finite(max(0, min(1, seconds/f.Busy)))
}

func (f *findings) in(names ...string) (sum float64) {
	for _, e := range f.Events {
		for _, n := range names {
			if strings.EqualFold(e.Name, n) {
				sum += e.Seconds
			}
		}
	}
	return sum
}

// sampled are the same as samples showed them: calls that never leave the CPU are taken for CPU time in events.
func (f *findings) sampled(names ...string) (sum float64) {
	for name, seconds := range f.Sampled {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			sum += seconds
		}
	}
	return sum
}

// alter is the statement that changes a setting for all, without a restart.
func alter(parameter, value string) string {
	return "alter system set " + parameter + " = '" + value + "'; select pg_reload_conf()"
}

// page is what a full-page image holds at most (BLCKSZ, as it is by default), and imaged the CPU time that one takes:
// to copy it twice, to sum it up, and to write it. bench/causes saw 29 us of CPU time and of waits for a CPU less for
// each.
const (
	page   = 8192
	imaged = 10e-6
)

// pauses: a client that sits still within a transaction keeps its locks.
func (f *findings) pauses() (x explain.Finding, ok bool) {
	x = f.set("idle_in_transaction_session_timeout", explain.Locks)
	b, seconds := f.Paused()
	x.Number, x.Unit, x.N = seconds, "s", int64(b.Share.N)
	x.Explains, x.AtMost = f.share(seconds), f.upTo(seconds, explain.Locks, explain.Application)
	x.Text, x.Step = f.Idler(b, *x.Explains)
	x.Step += "; to end every session that sits still for longer: " + alter(x.Parameter, "10s")
	return x, seconds > 0
}

// checkpoints: the log fills max_wal_size before checkpoint_timeout is over. After each checkpoint the first change of
// a page logs all of it. One that a person asks for counts as forced, too, so that the log's rate decides: a checkpoint
// begins once the log has max_wal_size / (1 + checkpoint_completion_target) since the last one
// (CalculateCheckpointSegments in xlog.c).
func (f *findings) checkpoints() (x explain.Finding, ok bool) {
	x = f.set("max_wal_size", explain.LogWait)
	forced, timed, written := f.totals.Get("checkpoints_forced"), f.totals.Get("checkpoints_timed"), f.totals.Get("log")
	if forced == 0 || forced < timed || written <= 0 {
		return x, false
	}
	largest, timeout := quantity(x.Value), quantity(f.setting("checkpoint_timeout"))
	if rate := written / f.totals.Seconds; largest > 0 && timeout > 0 {
		if rate*timeout < largest/2 {
			return x, false
		}
		x.Step = alter(x.Parameter, size(min(rate*timeout, 16*largest))) // what a disk has room for is not known
	}
	x.Number, x.Unit, x.N, x.Plain = forced/(forced+timed), "of checkpoints", int64(forced), true
	x.Text = fmt.Sprintf("%.0f of %.0f checkpoints in %s were forced by %s", forced, forced+timed,
		result.Format(f.totals.Seconds, "s"), now(x))
	if n := float64(f.Transactions); n > 0 {
		x.More = []string{"a transaction logs " + result.Format(written/n, "B")}
	}
	if all := f.totals.Get("wal_bytes"); all > 0 {
		pages := f.totals.Get("wal_fpi")
		full := min(1, pages*page/all)
		x.More = append(x.More, fmt.Sprintf("up to %s of the log are full pages", result.Share(full)))
		ran, log := f.Part(explain.DatabaseCPU).Seconds, full*f.Part(explain.LogWait).Seconds
		copies := 0.0
		if ran > 0 { // the wait for a CPU shrinks with what computes
			copies = min(1, pages*imaged/ran) * (ran + f.Part(explain.RunQueue).Seconds)
		}
		if copies > log {
			x.Part = explain.DatabaseCPU
		}
		x.Explains = f.share(log + copies)
		x.AtMost = f.upTo(log+copies, explain.LogWait, explain.DatabaseCPU, explain.RunQueue, explain.OtherWaits,
			explain.DataReads)
		x.Unseen = "it does not show what sessions wait for while a checkpoint writes pages"
	}
	return x, true
}

// commitDelay: a session sleeps before it flushes the log, where others are within transactions (XLogFlush in xlog.c).
// Who comes meanwhile waits for the rest of one such time, and may sleep itself.
func (f *findings) commitDelay() (x explain.Finding, ok bool) {
	x = f.set("commit_delay", explain.OtherWaits)
	if f.totals == nil {
		return x, false
	}
	delay := commitDelay(f.totals.Settings, f.Peak)
	if delay <= 0 {
		return x, false
	}
	n := float64(max(0, f.Transactions))
	slept := f.in(sleeping)
	if slept == 0 { // without the CPU time of sessions, a sleep looks as if it ran
		slept = min(n*delay, f.Part(explain.DatabaseCPU).Seconds+f.Part(explain.RunQueue).Seconds)
	}
	x.Number, x.Unit, x.N = delay, "s", int64(n)
	x.Explains, x.AtMost = f.share(slept), f.share(max(slept, min(2*n*delay, f.Busy))) // who wakes up finds its caches cold
	x.Text = fmt.Sprintf("by commit_delay, each commit sleeps for %s before its flush: %s of active time",
		result.Format(delay, "s"),
		result.Share(*x.Explains))
	x.Step = alter(x.Parameter, "0")
	return x, true
}

// slowest is what it takes to begin a session, s, at most: what is more is the error of a difference.
const slowest = 0.2

// connections: a session takes a process, its caches and a login. The server counts for how long there was one, from
// its process's begin on, and for how long it ran statements or paused within a transaction; samples show for how long
// it was idle.
func (f *findings) connections() (x explain.Finding, ok bool) {
	x = explain.Finding{Parameter: "pool of connections", Part: explain.DatabaseCPU, Unit: "connections/s",
		Step: "let clients keep their connections, or put a pooler such as pgbouncer between"}
	n := f.totals.Get("sessions")
	if n <= 0 {
		return x, false
	}
	x.N, x.Number = int64(n), n/f.totals.Seconds
	if x.Number < 1 {
		return x, false
	}
	x.Text = fmt.Sprintf("clients connect %s times a second", explain.Plain(x.Number))
	if all := float64(f.Transactions); all > 0 {
		x.Plain = n >= all/2 && x.Number >= often
	}
	if all := float64(f.Transactions); all >= n/2 {
		x.Text += fmt.Sprintf(", for %s each", transactions(all/n))
	}
	own := f.totals.Seconds
	began := f.totals.Get("session_us")*us - own - f.totals.Get("active_us")*us - f.totals.Get("paused_us")*us - f.Part(explain.Idle).Seconds
	if began = min(began, n*slowest); began > 0 {
		x.Explains = result.Finite(began / (began + f.Busy))
		x.More = []string{"beginning and ending a session takes " + result.Format(began/n, "s")}
		x.AtMost, x.Unseen = f.share(f.Busy), "it does not show what clients take to connect"
	}
	return x, true
}

// often is how many connections a second are many by themselves.
const often = 10

func transactions(n float64) string {
	if n < 1.05 {
		return "one transaction"
	}
	return explain.Plain(n) + " transactions"
}

// spilled is what sessions write to temporary files in a second of their active time, B, that is much by itself. So is
// a file for every other transaction, however small: it may be read many times.
const spilled = 20e6

// temporary: sorts and hashes that do not fit into work_mem go to files. A file is counted when it is removed.
func (f *findings) temporary() (x explain.Finding, ok bool) {
	x = f.set("work_mem", explain.OtherWaits)
	n, bytes := f.totals.Get("temp_files"), f.totals.Get("temp_bytes")
	if n == 0 {
		return x, false
	}
	x.Number, x.Unit, x.N = bytes/f.totals.Seconds, "B/s", int64(n)
	x.Plain = bytes >= spilled*f.Busy || f.Transactions > 0 && n >= float64(f.Transactions)/2
	if seconds := f.sampled("IO:BufFileRead", "IO:BufFileWrite"); seconds > 0 {
		x.Explains = f.share(seconds)
	}
	x.AtMost = f.upTo(0, explain.DatabaseCPU, explain.RunQueue, explain.OtherWaits)
	x.Unseen = "it does not show what of the CPU time copies such files to and from the page cache"
	x.Text = fmt.Sprintf("sorts and hashes exceed %s: %.0f temporary files of %s on average, %s a second", now(x), n,
		result.Format(bytes/n, "B"),
		result.Format(x.Number, "B"))
	x.Step = alter(x.Parameter, size(2*max(bytes/n, quantity(x.Value))))
	return x, true
}

func (f *findings) standby() (x explain.Finding, ok bool) {
	x = f.set("synchronous_commit", explain.OtherWaits)
	seconds := f.in("IPC:SyncRep")
	x.Number, x.Unit, x.N = seconds/f.Busy, "of active time", -1
	// its processes take CPUs, too, where it runs on this host
	x.Explains, x.AtMost = f.share(seconds), f.upTo(seconds, explain.OtherWaits, explain.Locks, explain.RunQueue, explain.Application)
	x.Text = fmt.Sprintf("sessions wait for a standby of synchronous_standby_names for %s of active time",
		result.Share(x.Number))
	x.Step = "look at the standby and the way to it; with synchronous_commit = local a commit waits for none, and may be lost with this host"
	return x, seconds > 0
}

// soon is the CPU time of a transaction, s, below which compiling its statements may well take most of it: with
// optimisation that takes tens to hundreds of milliseconds each time (PostgreSQL's documentation, chapter 32).
const soon = 0.5

// least is the CPU time, s, below which no statement is compiled: making and emitting its code alone take milliseconds.
const least = 1e-3

// compiles: jit compiles each execution of a statement anew, which short ones do not earn back.
func (f *findings) compiles() (x explain.Finding, ok bool) {
	x = f.set("jit", explain.DatabaseCPU)
	x.EachTime = true
	if f.totals == nil || f.totals.Levels[compiled] == 0 || f.Transactions == 0 {
		return x, false
	}
	n := f.totals.Levels[compiled]
	cpu := f.Part(explain.DatabaseCPU).Seconds
	each := cpu / float64(f.Transactions)
	x.Number, x.Unit, x.N = each, "s of CPU time a transaction", f.Transactions
	x.Plain = cpu+f.Part(explain.RunQueue).Seconds >= f.Busy/2 && each >= least && each < soon // what computes waits for a CPU, too
	x.AtMost = f.upTo(0, explain.DatabaseCPU, explain.RunQueue)
	x.Unseen = "it does not show what of the CPU time is compiling"
	x.Text = fmt.Sprintf("%d of its processes have loaded the compiler (jit)", n)
	x.More = []string{fmt.Sprintf("a transaction takes %s of CPU time, most of which compiling may be", result.Format(each, "s"))}
	x.Step = "see what compiling takes: explain (analyze) of a statement has it under JIT; then raise jit_above_cost, or " + alter(x.Parameter, "off")
	return x, true
}

// logged is what a line in the server's log takes of a statement's time at least, s.
const logged = 1e-5

// habits: what is logged of each statement, and what looking at each step of it takes.
func (f *findings) habits() (x explain.Finding, ok bool) {
	all := []explain.Habit{{Name: "log_statement", Value: "all", Each: logged},
		{Name: "log_min_duration_statement", Value: "0", Each: logged}, {Name: "log_duration", Value: "on", Each: logged}}
	if f.setting("auto_explain.log_min_duration") != "-1" { // else it explains nothing
		all = append([]explain.Habit{{Name: "auto_explain.log_analyze", Value: "on"}}, all...)
	}
	x = f.Habits(all, float64(f.Transactions))
	x.Step = "alter system reset " + x.Parameter + "; select pg_reload_conf()"
	return x, x.Text != ""
}

// cache: a page that is not in shared_buffers is copied from the kernel's page cache, which takes CPU time and no
// device.
func (f *findings) cache() (x explain.Finding, ok bool) {
	x = f.set("shared_buffers", explain.DatabaseCPU)
	c := f.Copies
	if c == nil || c.Count <= 0 {
		return x, false
	}
	x.Number, x.Unit, x.N = c.Seconds/float64(c.Count), "s a read", c.Count
	x.Explains, x.AtMost = f.share(c.Seconds), f.share(c.Seconds+f.Part(explain.DatabaseCPU).Seconds)
	x.Unseen = "it does not show what a session computes to find a place for a page"
	x.Text = fmt.Sprintf("%s of active time goes to copies from the page cache into %s, %s each",
		result.Share(*x.Explains), now(x), result.Format(x.Number, "s"))
	larger := 4 * quantity(x.Value)
	if all := quantity(f.setting(explain.Memory)); all > 0 { // a quarter is what the documentation begins with
		larger = max(larger, all/8)
	}
	x.Step = "set shared_buffers higher, if memory has room, and restart the server"
	if larger > 0 {
		x.Step = "alter system set shared_buffers = '" + size(larger) + "', if memory has room, and restart the server"
	}
	return x, true
}

// backendWrites: who wants a place in shared_buffers and finds a changed page there has to write it.
func (f *findings) backendWrites() (x explain.Finding, ok bool) {
	x = f.set("shared_buffers", explain.OtherWaits)
	n, seconds := f.totals.Get("written_backend"), f.sampled("IO:DataFileWrite")
	if n <= 0 || seconds <= 0 {
		return x, false
	}
	x.Number, x.Unit, x.N = n/f.totals.Seconds, "pages/s", int64(n)
	x.Explains, x.AtMost = f.share(seconds), f.upTo(seconds, explain.OtherWaits, explain.Locks)
	x.Text = fmt.Sprintf("sessions write changed pages themselves to get a place in %s: %s pages a second, %s of active time", now(x), explain.Plain(x.Number),
		result.Share(*x.Explains))
	x.Step = alter("bgwriter_lru_maxpages", "1000")
	return x, true
}

// autovacuum: its workers take CPU time and devices from sessions.
func (f *findings) autovacuum() (x explain.Finding, ok bool) {
	x = f.set("autovacuum_vacuum_cost_limit", explain.RunQueue)
	w := f.Vacuum
	if w == nil || w.Seconds <= 0 || w.Watched <= 0 {
		return x, false
	}
	x.Number, x.Unit, x.N = w.Seconds/w.Watched, "workers", int64(w.Looks)
	x.Plain = w.Running >= explain.FindingFrom*f.Busy
	x.AtMost = f.upTo(0, explain.RunQueue, explain.DataReads, explain.LogWait, explain.Locks)
	x.Unseen = "it does not show which waits the workers cause"
	x.Text = fmt.Sprintf("%s autovacuum workers ran at once on average, and spent %s of their time on a CPU or in I/O",
		explain.Plain(x.Number),
		result.Share(w.Running/w.Seconds))
	x.Step = alter("autovacuum_vacuum_cost_delay", "20ms") + " slows them down"
	return x, true
}

// manyDead is how many transactions that change rows, while one snapshot is kept, are many by themselves.
const manyDead = 1000

// snapshot: what transactions leave dead stays for as long as a session has a snapshot of before, and who looks for the
// rows passes over all of it.
func (f *findings) snapshot() (x explain.Finding, ok bool) {
	x = explain.Finding{Parameter: "oldest snapshot", Value: f.setting("snapshot_of"), Part: explain.DatabaseCPU,
		Number: f.totals.Get("xids"), Unit: "transactions"}
	pid := f.setting("snapshot_pid")
	if pid == "" || f.setting("snapshot_xmin") == "" || x.Number < manyDead { // another session at either end
		return x, false
	}
	x.N, x.Plain = int64(x.Number), true
	x.AtMost = f.share(f.Busy) // clients that wait for the same CPUs do so for less, too
	x.Unseen = "it does not show how long reading takes that passes over dead rows"
	x.Text = fmt.Sprintf("session %s of %s keeps an old snapshot", pid, x.Value)
	x.More = []string{fmt.Sprintf("%.0f transactions have changed rows meanwhile, and who reads those passes over all that is dead",
		x.Number)}
	x.Step = fmt.Sprintf("have it end its transaction; to end it now: select pg_terminate_backend(%s)", pid)
	return x, true
}

// dead: who looks for rows of a table passes over all that are dead until a vacuum takes them away, and its pages stay.
func (f *findings) dead() (x explain.Finding, ok bool) {
	if f.totals == nil {
		return x, false
	}
	for name, pages := range f.totals.Grown {
		table, is := strings.CutPrefix(name, pagesOf)
		share := float64(pages) / max(1, f.totals.Get("blocks_hit")+f.totals.Get("blocks_read"))
		if !is || share < 0.5 {
			continue
		}
		x = explain.Finding{Parameter: "dead rows", Value: table, Part: explain.DatabaseCPU, Number: share, Unit: "of all pages",
			N: pages, Plain: true, EachTime: true, AtMost: f.upTo(0, explain.DatabaseCPU, explain.RunQueue, explain.DataReads)}
		x.Unseen = "it does not show how many of those pages hold dead rows"
		x.Text = fmt.Sprintf("%s of the pages that statements ask for are of table %s, of which most rows are dead", result.Share(share), table)
		x.Step = "vacuum " + table + ", or vacuum (full) while nobody uses it; then see why autovacuum does not"
	}
	return x, x.Plain
}

// units are PostgreSQL's (guc.c), in bytes and seconds.
var units = map[string]float64{"": 1, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
	"us": us, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}

// quantity is a value as current_setting writes it; 0: it is none.
func quantity(s string) float64 {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzBGKMT")
	v, err := strconv.ParseFloat(digits, 64)
	unit, known := units[s[len(digits):]]
	if err != nil || !known || v < 0 {
		return 0
	}
	return v * unit
}

// size rounds bytes up to a power of two as a setting takes it.
func size(bytes float64) string {
	kb := math.Exp2(math.Ceil(math.Log2(max(bytes, 1024) / 1024)))
	switch {
	case kb >= 1<<20:
		return fmt.Sprintf("%.0fGB", kb/(1<<20))
	case kb >= 1<<10:
		return fmt.Sprintf("%.0fMB", kb/(1<<10))
	}
	return fmt.Sprintf("%.0fkB", kb)
}
