package mariadb

import (
	"fmt"
	"math"
	"strconv"

	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// Findings are what its counters tell of its settings.
func Findings(r *explain.Report) (out []explain.Finding) {
	if r.Busy <= 0 || r.Whole() == nil {
		return nil
	}
	f := findings{r, r.Whole()}
	holding, _ := f.Holding()
	keeping, _ := f.Keeping()
	for _, x := range []explain.Finding{f.pauses(), holding, keeping, f.connections(), f.turns(), f.pool(), f.logBuffer(),
		f.logSize(), f.noFree(), f.temporary(), f.tables(), f.habits()} {
		if x.Text != "" && x.Matters() {
			out = append(out, x)
		}
	}
	return out
}

type findings struct {
	*explain.Report
	totals *explain.Totals
}

// set begins a finding of a setting, of which a counter grew.
func (f *findings) set(parameter, counter string, part explain.PartName) explain.Finding {
	n := max(0, f.totals.Get(counter)-f.totals.Get("own_"+counter)) // our questions use temporary tables, too
	return explain.Finding{Parameter: parameter, Value: f.totals.Settings[parameter], Part: part,
		Number: n / f.totals.Seconds, Unit: "1/s", N: int64(n)}
}

// upTo is the most that parts take, as a share of active time: the bound of a setting that shortens nothing else.
func (f *findings) upTo(parts ...explain.PartName) *float64 {
	return result.Finite(min(1, f.Highest(parts...)/f.Busy))
}

// now is a setting with its value, for a sentence; sizes are in bytes.
func now(x explain.Finding) string {
	v, err := strconv.ParseFloat(x.Value, 64)
	if err != nil {
		return x.Parameter
	}
	return x.Parameter + " (" + result.Format(v, "B") + ")"
}

// larger is the statement that sets a size to some times of what it is, in whole MiB.
func larger(x explain.Finding, times int64) string {
	v, err := strconv.ParseInt(x.Value, 10, 64)
	if err != nil {
		return "set " + x.Parameter + " higher"
	}
	return fmt.Sprintf("set global %s = %d", x.Parameter, max(1, v*times>>20)<<20)
}

// often is how many connections a second are many by themselves, and some how many of other events.
const (
	often = 10
	some  = 1
)

// slowest is what a login is taken to last, s, at most.
const slowest = 0.2

// pauses: a client that sits still within a transaction keeps its locks. MySQL has no such limit.
func (f *findings) pauses() explain.Finding {
	b, seconds := f.Paused()
	if seconds == 0 {
		return explain.Finding{}
	}
	share := min(1, seconds/f.Busy)
	x := explain.Finding{Parameter: "idle_transaction_timeout", Value: f.totals.Settings["idle_transaction_timeout"],
		Part:   explain.Locks,
		Number: seconds, Unit: "s", N: int64(b.Share.N), Explains: &share,
		AtMost: result.Finite(min(1, max(seconds, f.Highest(explain.Locks, explain.Application))/f.Busy))}
	if x.Text, x.Step = f.Idler(b, share); f.Vendor == "MariaDB" {
		x.Step += "; to end every session that sits still for longer: set global idle_transaction_timeout = 10"
	}
	return x
}

// connections: each takes a login, and a thread unless one is kept for it.
func (f *findings) connections() explain.Finding {
	x := f.set("pool of connections", "connections", explain.DatabaseCPU)
	if x.Number < some {
		return explain.Finding{}
	}
	all := float64(max(0, f.Transactions))
	x.Plain = x.Number >= often && float64(x.N) >= all/2
	x.Step = "let clients keep their connections"
	x.Text = fmt.Sprintf("clients connect %s times a second", explain.Plain(x.Number))
	if each := all / max(1, float64(x.N)); each >= 0.5 {
		x.Text += fmt.Sprintf(", for %s transactions each", explain.Plain(each))
	}
	// one login, and no client's
	if took, err := strconv.ParseFloat(f.totals.Settings[explain.Login], 64); err == nil && took > 0 {
		began := min(took, slowest) * float64(x.N)
		x.Explains = result.Finite(began / (began + f.Busy))
		x.AtMost, x.Unseen = result.Finite(1), "it does not show what clients take to connect"
		x.More = append(x.More, fmt.Sprintf("hostlab's own login took %s", result.Format(took, "s")))
	}
	if f.Transactions < 0 {
		x.Plain = x.Number >= often && float64(x.N) >= f.totals.Get("questions")/4
	}
	if n := f.totals.Get("threads_created"); n >= float64(x.N)/2 && n > 0 {
		cache := f.set("thread_cache_size", "threads_created", explain.DatabaseCPU)
		x.More = append(x.More, fmt.Sprintf("%.0f new threads, as thread_cache_size is %s", n, cache.Value))
		x.Step += "; set global thread_cache_size = 256 keeps threads"
	}
	return x
}

// turns: where threads serve sessions in turn, a request waits until one is free. Its session looks idle meanwhile.
func (f *findings) turns() explain.Finding {
	q := f.Queue
	if q == nil || q.Waiting <= 0 {
		return explain.Finding{}
	}
	x := explain.Finding{Parameter: "thread_pool_size", Value: f.totals.Settings["thread_pool_size"],
		Part: explain.Application, Number: q.Waiting, Unit: "requests",
		N: int64(q.Looks)}
	x.Explains = result.Finite(q.Waiting / (q.Waiting + max(q.Working, 1)))
	x.AtMost = result.Finite(min(1, *x.Explains+2/math.Sqrt(float64(q.Looks))))
	x.Text = "requests that wait for a thread, on average: " + explain.Plain(q.Waiting)
	x.More = []string{"threads: " + explain.Plain(q.Working), fmt.Sprintf("the pool of threads has thread_pool_size %s and "+
		"thread_pool_max_threads %s", x.Value, f.totals.Settings["thread_pool_max_threads"])}
	x.Step = "set global thread_pool_size and thread_pool_max_threads higher"
	if n, err := strconv.ParseInt(x.Value, 10, 64); err == nil {
		x.Step = fmt.Sprintf("set global thread_pool_size = %d; set global thread_pool_max_threads = 65536",
			max(2*n, n+int64(math.Ceil(q.Waiting))))
	}
	return x
}

// placed is the CPU time that a page takes at least that is read into the pool, s: the call, its checksum, and another
// page that makes room.
const placed = 10e-6

// tables: one that is not in the cache is opened from its files, and another one closed for it.
func (f *findings) tables() explain.Finding {
	x := f.set("table_open_cache", "opened_tables", explain.DatabaseCPU)
	x.Plain = x.Number >= often && float64(x.N) >= f.totals.Get("questions")/20
	x.AtMost = f.upTo(explain.DatabaseCPU, explain.RunQueue, explain.Locks, explain.OtherWaits, explain.DataReads)
	x.Unseen = "it does not show what it takes to open a table"
	x.Text = fmt.Sprintf("%s tables a second are opened anew, as table_open_cache keeps %s", explain.Plain(x.Number), x.Value)
	if v, err := strconv.ParseInt(x.Value, 10, 64); err == nil {
		x.Step = fmt.Sprintf("set global %s = %d", x.Parameter, max(2000, 4*v))
	}
	return x
}

// logged is what a line of the general log takes of a statement's time at least, s.
const logged = 1e-5

// habits: what is written of each statement.
func (f *findings) habits() explain.Finding {
	x := f.Habits([]explain.Habit{{Name: "general_log", Value: "ON", Each: logged}}, f.totals.Get("questions"))
	x.Step = "set global " + x.Parameter + " = OFF"
	return x
}

// pool: what it does not hold is read from files. Where the kernel's page cache answers, memory has room for more of
// it.
func (f *findings) pool() explain.Finding {
	x := f.set("innodb_buffer_pool_size", "innodb_buffer_pool_reads", explain.DataReads)
	requests := f.totals.Get("innodb_buffer_pool_read_requests")
	if x.N == 0 || requests <= 0 {
		return explain.Finding{}
	}
	missed := min(1, float64(x.N)/requests)
	took := f.Part(explain.DataReads).Seconds + float64(x.N)*placed
	x.Plain = missed >= explain.FindingFrom && (f.Copies != nil || took >= explain.FindingFrom*f.Busy)
	if !x.Plain {
		x.Explains = result.Finite(min(1, f.Part(explain.DataReads).Seconds/f.Busy))
	}
	x.AtMost = f.upTo(explain.DataReads, explain.DatabaseCPU, explain.RunQueue)
	x.Unseen = "it does not show what a session computes to find a place for a page"
	x.Text = fmt.Sprintf("%s of the pages that were wanted were not in %s: %s a second", result.Share(missed), now(x),
		explain.Plain(x.Number))
	if f.Copies != nil {
		x.Part = explain.DatabaseCPU
		x.More = []string{"the page cache held them"}
	}
	x.Step = larger(x, 4) + ", if memory has room"
	return x
}

// logBuffer: a session waits for the log where the buffer is full.
func (f *findings) logBuffer() explain.Finding {
	x := f.set("innodb_log_buffer_size", "innodb_log_waits", explain.LogWait)
	x.Plain = x.Number >= some
	x.AtMost = f.upTo(explain.LogWait, explain.OtherWaits, explain.Locks)
	x.Text = fmt.Sprintf("sessions waited for the log %d times, %s a second, as %s was full", x.N, explain.Plain(x.Number),
		now(x))
	x.Step = "set " + x.Parameter + " to four times as much in the server's file, and restart it"
	return x
}

// The log is too small where it is full again within filled, s, and large enough where it holds what comes in roomy. Its
// most is how many times as large a step makes it.
const (
	filled = 5.0
	roomy  = 60.0
	most   = 64
)

// logSize: before the log begins anew, the pages that it changed have to be written (buf_flush_ahead in buf0flu.cc).
func (f *findings) logSize() explain.Finding {
	x := f.set("innodb_log_file_size", "innodb_os_log_written", explain.OtherWaits)
	size, _ := strconv.ParseFloat(x.Value, 64)
	if x.Unit = "B/s"; size <= 0 || x.Number*filled < size {
		return explain.Finding{}
	}
	x.Plain, x.AtMost = true, f.upTo(explain.DatabaseCPU, explain.RunQueue, explain.OtherWaits, explain.Locks, explain.LogWait,
		explain.DataReads)
	x.Unseen = "it does not show what sessions wait for while such pages are written"
	x.Text = fmt.Sprintf("the log fills %s in %s, and each time changed pages have to be written", now(x),
		result.Format(size/x.Number, "s"))
	x.Step = larger(x, int64(min(most, math.Ceil(x.Number*roomy/size)))) + "; before MariaDB 10.9 in the server's file"
	return x
}

// noFree: a session that wants a page waits until one is written and freed.
func (f *findings) noFree() explain.Finding {
	x := f.set("innodb_buffer_pool_size", "innodb_buffer_pool_wait_free", explain.OtherWaits)
	x.Plain = x.Number >= some
	x.AtMost = f.upTo(explain.OtherWaits, explain.DataReads, explain.Locks)
	x.Text = fmt.Sprintf("sessions waited for a free page %d times, %s a second, as %s was full", x.N,
		explain.Plain(x.Number), now(x))
	x.Step = larger(x, 4) + ", if memory has room"
	return x
}

// temporary: what sorts and groups exceed goes to files. Columns of long texts go there in any case.
func (f *findings) temporary() explain.Finding {
	x := f.set("tmp_table_size", "created_tmp_disk_tables", explain.DatabaseCPU)
	all := f.totals.Get("created_tmp_tables") - f.totals.Get("own_created_tmp_tables")
	x.Plain = x.Number >= some && float64(x.N) >= all/4
	x.AtMost = f.upTo(explain.DatabaseCPU, explain.RunQueue, explain.DataReads, explain.OtherWaits)
	x.Unseen = "it does not show what of the CPU time such tables take"
	x.Text = fmt.Sprintf("%d of %.0f temporary tables went to disk, as they exceed %s or hold long texts", x.N, all,
		now(x))
	x.Step = larger(x, 8) + "; max_heap_table_size, too"
	return x
}
