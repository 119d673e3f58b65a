package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hostlab/internal/assess"
	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/ring"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// keepRing makes a ring of a PostgreSQL that does 100 transactions a second from 02:00 to 02:30 of two days. On the second one,
// each waits four times as long for locks from 02:14 to 02:24.
//
//	ring DIR [without-bursts]
func keepRing(ts *testscript.TestScript, _ bool, args []string) {
	w, err := ring.Open(ts.MkAbs(args[0]), 48*time.Hour)
	ts.Check(err)
	defer w.Close()
	for day := range 2 {
		for i := range 180 {
			at := time.Date(2026, 11, 22+day, 2, 0, i*10, 0, time.UTC)
			lock := 0.001
			if day == 1 && i >= 14*6 && i < 24*6 {
				lock = 0.004
			}
			m := stretchOf(1000, lock)
			if i%6 == 0 && len(args) == 1 {
				m.Sample = &burstlog.Sample{Head: burstlog.Head{Schema: burstlog.Schema, Kind: burstlog.Kind, Started: at, CPUs: []int{0, 1},
					Source: "scheduler events", Length: 10, Seen: 0.1, Load: 0.2, Service: "postgresql"}}
				for n := range 60 {
					m.Sample.Bursts = append(m.Sample.Bursts, burstlog.Burst{CPU: n / 30, At: 0.3 * float64(n%30), Busy: 0.002, Idle: 0.008, Service: 1})
				}
			}
			text, err := result.RecordJSON(report.Kept{Schema: report.Schema, Host: "db7", Minute: m})
			ts.Check(err)
			ts.Check(w.Append(at, text))
		}
	}
}

// stretchOf is ten seconds of so many transactions, each of which waits so long for locks, s.
func stretchOf(n int64, lock float64) *assess.Minute {
	r := explain.Report{Vendor: "PostgreSQL", Version: "15.8", Target: "db7", Wall: 10, Transactions: n, Samples: 100, Peak: 8,
		Log: explain.NoLog()}
	for name, each := range map[explain.PartName]float64{explain.DatabaseCPU: 0.002, explain.Locks: lock, explain.LogWait: 0.001} {
		r.Parts = append(r.Parts, explain.Part{Name: name, Seconds: each * float64(n), Source: "samples"})
		r.Busy += each * float64(n)
	}
	r.Elapsed = r.Busy
	for i := range r.Parts {
		v := r.Parts[i].Seconds / r.Elapsed
		r.Parts[i].Share = result.Estimate{Value: v, Low: v / 2, High: min(1, 2*v), N: 100, Evidence: result.Measured}
	}
	seen := 100
	r.Seen = &seen
	windows := &chain.Account{Moments: 400, Own: map[int]bool{1: true}, Clients: map[int]bool{}}
	for range 4 { // a holder computes for 1 ms of each lock, and waits for the log in the rest
		windows.Windows = append(windows.Windows, chain.Shares{explain.Locks: {chain.End{Kind: chain.Computing, PID: 1}: 0.001,
			chain.End{Kind: chain.Log, PID: 1, Log: true}: lock - 0.001}})
		windows.Lengths = append(windows.Lengths, 0.01)
	}
	windows.Ran, windows.Waited = make([]float64, 4), make([]float64, 4)
	return &assess.Minute{Ends: windows, Service: service.Service{Kind: service.Database, Name: "PostgreSQL", PID: 1}, Connected: true, Report: r,
		Readings: []service.Reading{{At: 10, CPU: 2, Processes: 9, Threads: 9}}, Host: assess.Host{CPUs: 8}, Unseen: map[string]string{}}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{"2d": 48 * time.Hour, "36h": 36 * time.Hour, "60d": 60 * day} {
		testkit.Is(t, want, testkit.Must(span(text))(t), text)
	}
	for _, text := range []string{"", "d", "2", "0d", "-1d", "61d", "30m", "2w", "1e3d", strconv.Itoa(1<<40) + "d"} {
		testkit.Refused(span(text))(t, "", text, "is taken")
	}
}
