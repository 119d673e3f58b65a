package connect

import (
	"context"
	"fmt"
	"strings"

	"hostlab/internal/explain"
)

var (
	hanaServer = explain.Query{Name: "server", SQL: `select version, current_user from m_database`}
	hanaNow    = explain.Query{Name: "now", SQL: `select to_varchar(current_timestamp, 'YYYY-MM-DD HH24:MI:SS.FF3') from dummy`}
	hanaCounts = explain.Query{Name: "log", SQL: `select sum(total_writes + total_trigger_async_writes), sum(total_write_size), sum(total_write_time)
 from m_volume_io_total_statistics where type = 'LOG'`}
	hanaEpoch = explain.Query{Name: "epoch", SQL: `select to_varchar(min(start_time), 'YYYY-MM-DD HH24:MI:SS')
 from m_service_statistics`}
	hanaCommit = explain.Query{Name: "commits", SQL: `select sum(commit_count + rollback_count) from m_workload`}
)

func hanaSamples(since string) explain.Query {
	return explain.Query{Name: "samples", SQL: fmt.Sprintf(`select to_varchar("TIMESTAMP", 'YYYY-MM-DD HH24:MI:SS.FF3'), connection_id, thread_state, lock_wait_name, count(*) from m_service_thread_samples
 where "TIMESTAMP" > '%s' and connection_id > 0 and connection_id <> current_connection group by "TIMESTAMP", connection_id, thread_state, lock_wait_name order by 1`, since), Most: explain.Sessions}
}

// hanaSource asks SAP HANA where its threads' time goes. It was written from the
// documentation of the monitoring views and has not been tried on a live server.
//
//   - M_SERVICE_THREAD_SAMPLES: HANA's own samples, one a second by default
//     (global.ini, [resource_tracking] service_thread_sampling_monitor_sample_interval)
//   - M_VOLUME_IO_TOTAL_STATISTICS: writes of the log volumes, TYPE = 'LOG'
type hanaSource struct {
	explain.Asked
	since string
}

func newHANA(ctx context.Context, a explain.Asker, to string, _ bool) (explain.Source, error) {
	r, err := explain.One(ctx, a, hanaServer)
	if err != nil {
		return nil, err
	}
	s := &hanaSource{Asked: explain.Asked{Asker: a, Info: explain.Server{Vendor: "SAP HANA", Version: r.Text(0), Target: to,
		OwnRate: 1}, Meanings: hanaMeanings}}
	t, err := explain.One(ctx, a, hanaNow)
	if err != nil {
		return nil, err
	}
	if s.since = t.Text(0); !hanaClean(s.since) {
		return nil, fmt.Errorf("the server tells its time as %q, which cannot be used", s.since)
	}
	if _, err := a.Ask(ctx, hanaCounts); err != nil {
		return nil, fmt.Errorf("%w; grant system privilege MONITORING (or role sap.hana.admin.roles::Monitoring) to %s", err,
			r.Text(1))
	}
	untried(&s.Asked)
	s.Miss("sessions that do nothing: HANA samples working threads only, so that time in the application does not show")
	return s, nil
}

// hanaClean is true of the time that goes into the next question.
func hanaClean(t string) bool {
	return t != "" && len(t) < 40 && strings.Trim(t, "0123456789-:. ") == ""
}

// hanaPart says where a thread state belongs.
func hanaPart(state, lock string) explain.PartName {
	switch {
	case strings.Contains(lock, "LogWait"), strings.Contains(lock, "LogBuffer"), strings.Contains(lock, "Log Write"),
		strings.Contains(lock, "Log write"), strings.Contains(state, "Log"):
		return explain.LogWait
	}
	switch state {
	case "Running":
		return explain.DatabaseCPU
	case "IO Wait", "Resource Load Wait":
		return explain.DataReads
	case "Exclusive Lock Enter", "Shared Lock Enter", "Mutex Wait", "Semaphore Wait", "Barrier Wait", "Conditional Variable Wait",
		"RecordLock Wait":
		return explain.Locks
	case "Network Read", "Network Write", "Network Poll":
		return explain.Application
	case "Inactive":
		return explain.Idle
	}
	return explain.OtherWaits
}

// Sample returns all samples that the server took since the last call. A connection with
// several threads in one sample is one session.
func (s *hanaSource) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	rows, err := s.Ask(ctx, hanaSamples(s.since))
	if err != nil {
		return nil, err
	}
	var out []explain.Snapshot
	seen := map[int64]bool{}
	for _, r := range rows {
		if t := r.Text(0); t != s.since || len(out) == 0 {
			if !hanaClean(t) {
				continue
			}
			s.since = t
			out = append(out, explain.Snapshot{})
			clear(seen)
		}
		id := r.Int(1)
		if seen[id] {
			continue
		}
		seen[id] = true
		x := explain.Session{ID: id, Part: hanaPart(r.Text(2), r.Text(3)), Event: r.Text(2)}
		if lock := r.Text(3); lock != "" {
			x.Event += " (" + lock + ")"
		}
		if x.Part == explain.DatabaseCPU {
			x.Event = explain.OnCPU
		}
		shot := &out[len(out)-1]
		shot.Sessions = append(shot.Sessions, x)
	}
	if len(out) == 0 { // nothing worked
		out = append(out, explain.Snapshot{})
	}
	return out, nil
}

// Count implements explain.Source. Times are in microseconds.
func (s *hanaSource) Count(ctx context.Context) (explain.Counters, error) {
	c := explain.Counters{Values: map[string]int64{}}
	r, err := explain.One(ctx, s, hanaEpoch)
	if err != nil {
		return c, err
	}
	c.Epoch = r.Text(0)
	if r, err = explain.One(ctx, s, hanaCounts); err != nil {
		return c, err
	}
	c.Values["writes"], c.Values["bytes"], c.Values["us"] = r.Int(0), r.Int(1), r.Int(2)
	if r, err = explain.One(ctx, s, hanaCommit); err == nil && !r.Null(0) { // not every release sums it up
		c.Values["transactions"] = r.Int(0)
	}
	return c, nil
}

func (s *hanaSource) Account(g explain.Growth) explain.Account {
	a := explain.Account{Log: explain.NoLog(), Transactions: -1}
	if g.Has("transactions") {
		a.Transactions = int64(g.Get("transactions"))
	}
	a.Log.Writes, a.Log.Bytes, a.Log.Source = int64(g.Get("writes")), int64(g.Get("bytes")), "M_VOLUME_IO_TOTAL_STATISTICS"
	a.Log.Timed(g.Get("us")/1e6, g.Get("writes"))
	return a
}

var hanaMeanings = map[string]string{
	"on cpu": "runs on a CPU", "io wait": "data from disk", "recordlock wait": "a row that another changes",
	"semaphore wait":            "another thread",
	"conditional variable wait": "another thread", "network read": "the application works",
}
