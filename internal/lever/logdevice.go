package lever

import (
	"fmt"
	"math"

	"hostlab/internal/check"
	"hostlab/internal/result"
)

// logDevice is moved by where commits go. The probe bounds what any device can
// take from a commit; what that is worth to a job depends on the job's share of
// log waits, which only the database knows, so a gain is never a recommendation
// by itself.
func (in *input) logDevice() Lever {
	l := in.new(check.LeverLog, "Log device")
	l.BoundOf = "a commit's time"
	log, mem, gain := in.named("commit.p50"), in.named("commit.memory.p50"), in.named("commit.gain")
	if log == nil || !log.Known() {
		l.BoundWhy = "unknown: no commit was timed"
		l.Measurement = log
		in.rest(&l, in.whyUnmeasured("commit", "commit.p50"))
		return l
	}
	l.Measurement = log
	ratio := math.NaN() // memory over log, at its lowest
	switch {
	case gain != nil && gain.Known():
		if ratio = gain.Estimate.Value; gain.Estimate.HasInterval() {
			ratio = gain.Estimate.Low
		}
	case mem != nil && mem.Known() && log.Estimate.Value > 0:
		ratio = mem.Estimate.Value / log.Estimate.Value
	}
	if math.IsNaN(ratio) {
		l.BoundWhy = "unknown: no memory file system to compare with"
	} else {
		b := max(0, 1-ratio)
		l.Bound = &b
		l.BoundWhy = fmt.Sprintf("half of the commits take under %s", result.Format(log.Estimate.Value, "s"))
		if mem != nil && mem.Known() {
			l.BoundWhy += fmt.Sprintf("; in memory, which forgets them at a power cut, %s", result.Format(mem.Estimate.Value, "s"))
		}
		l.BoundWhy += ". Of a job's elapsed time it is that share of its commit waits, which this run does not know"
	}
	todo := actionable(in.findings(l.Name))
	switch {
	case len(todo) > 0:
		in.rest(&l, "")
		l.Summary += fmt.Sprintf("; a commit takes %s here", result.Format(log.Estimate.Value, "s"))
	case in.role == check.ProductionApp && len(in.facts.Databases) == 0:
		l.Verdict = NotForRole
		l.Summary = fmt.Sprintf("a commit takes %s here, but an application server commits on its database server: assess that one", result.Format(log.Estimate.Value, "s"))
		l.Next = "hostlab assess --role production-db   # on the database server"
	case l.Bound != nil && *l.Bound < Margin && known(gain) && gain.NoiseFloor <= Margin:
		l.Verdict = NoEffect
		l.Summary = "a commit here is nearly as fast as in memory: no device can give more"
	default:
		l.Verdict = Unresolved
		l.Summary = fmt.Sprintf("a commit takes %s here; what a faster device gives a job depends on how much of the job waits for its log", result.Format(log.Estimate.Value, "s"))
		l.Next = in.logShare()
	}
	return l
}

func known(m *result.Measurement) bool { return m != nil && m.Known() }

// logShare is how to learn the share of log waits from the database at hand.
func (in *input) logShare() string {
	for _, d := range in.facts.Databases {
		switch d.Kind {
		case "postgresql":
			return `psql -Xc "select wait_event_type, wait_event, count(*) from pg_stat_activity where state = 'active' group by 1, 2"   # every second during the job; WALSync and WALWrite are the log`
		case "mariadb", "mysql":
			return `mysql -e "select event_name, sum_timer_wait/1e12 as s from performance_schema.events_stages_summary_global_by_event_name where event_name like '%commit%'"   # before and after the job`
		case "oracle":
			return `sqlplus -S / as sysdba <<< "select event, time_waited_micro_fg from v\$system_event where event = 'log file sync';"   # before and after the job`
		case "sqlserver":
			return `sqlcmd -Q "select wait_time_ms from sys.dm_os_wait_stats where wait_type = 'WRITELOG'"   # before and after the job`
		}
	}
	return "# read the log-wait time in your database before and after the job (PostgreSQL WALSync, Oracle log file sync, SQL Server WRITELOG)"
}
