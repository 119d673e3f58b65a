package trace

import (
	"math"
	"time"

	"hostlab/internal/result"
)

// Schema is the version of Data.
const Schema = 1

// Data is the report as JSON; docs/schema/record.schema.json describes it. What is not known is null.
type Data struct {
	Kind      string           `json:"kind"`
	Schema    int              `json:"schema"`
	Hostlab   string           `json:"hostlab"`
	Evidence  result.Evidence  `json:"evidence"`
	Service   string           `json:"service"`
	Recorded  bool             `json:"recorded"`
	Reason    *string          `json:"reason"` // why it was not
	Seconds   float64          `json:"seconds"`
	Started   *time.Time       `json:"started"`
	Ended     *string          `json:"ended"` // why it ended early
	Seen      *float64         `json:"seen"`  // share of seconds
	Windows   int              `json:"windows"`
	Run       *result.Estimate `json:"run"`
	RunQueue  *result.Estimate `json:"run_queue"`
	Beside    *result.Estimate `json:"beside_sibling"`
	NoSibling *string          `json:"beside_sibling_reason"`
	AllTasks  *result.Estimate `json:"all_tasks"`
	Wakeups   *dataWakeups     `json:"wakeups"`
	CPUs      []dataCPU        `json:"cpus"`
	Bursts    dataBursts       `json:"bursts"`
	Cost      *dataCost        `json:"cost"`
	Bounds    []dataBound      `json:"bounds"`
	Warnings  []string         `json:"warnings"`
}

type dataWakeups struct {
	Idle dataLatency `json:"idle_cpu"`
	Busy dataLatency `json:"busy_cpu"`
}

type dataLatency struct {
	N       uint64   `json:"n"`
	PerS    float64  `json:"per_s"`
	P50     *float64 `json:"p50"` // s
	P99     *float64 `json:"p99"`
	Mean    *float64 `json:"mean"`
	Seconds float64  `json:"seconds_per_s"`
}

type dataCPU struct {
	CPU     int     `json:"cpu"`
	Busy    float64 `json:"busy"`
	Service float64 `json:"service"`
	Bursts  int     `json:"bursts"`
}

type dataBursts struct {
	N    int     `json:"n"`
	Lost uint64  `json:"lost"`
	File *string `json:"file"`
}

type dataCost struct {
	OfBusy    float64 `json:"of_cpu_time_in_use"`
	Budget    float64 `json:"budget"`
	Programs  float64 `json:"programs"` // s
	Reader    float64 `json:"reader"`   // s
	On        float64 `json:"in_window_ns"`
	Off       float64 `json:"outside_ns"`
	Measured  bool    `json:"measured"`
	Switches  uint64  `json:"switches"`
	InWindows uint64  `json:"switches_in_windows"`
	Unseen    uint64  `json:"switches_unseen"`
}

type dataBound struct {
	Name    string   `json:"name"`
	AtMost  *float64 `json:"at_most"` // s/s
	About   string   `json:"about"`
	Source  string   `json:"source"`
	Unknown *string  `json:"reason"`
}

func (r *Report) data() Data {
	d := Data{Kind: "record", Schema: Schema, Hostlab: r.Hostlab, Evidence: result.Measured, Service: r.Service, Recorded: r.Result != nil,
		Seconds: r.Length,
		CPUs:    []dataCPU{}, Bounds: []dataBound{}, Warnings: []string{}, Reason: text(r.Reason)}
	for _, b := range r.Bounds {
		d.Bounds = append(d.Bounds, dataBound{b.Name, b.Value, b.About, b.Source, text(b.Reason)})
	}
	s := r.Result
	if s == nil {
		return d
	}
	seen := s.SeenShare()
	d.Seconds, d.Started, d.Ended, d.Seen, d.Windows = s.Length, &s.Started, text(s.Ended), &seen, s.Windows
	d.Run, d.RunQueue, d.AllTasks, d.NoSibling = &s.Run, &s.Queue, &s.Busy, text(s.NoOverlap)
	d.Beside = s.Overlap
	d.Wakeups = &dataWakeups{latency(s.OnIdle, s.Seen), latency(s.OnBusy, s.Seen)}
	for _, c := range s.CPUs {
		d.CPUs = append(d.CPUs, dataCPU{c.Number, c.Busy, c.Run, c.Bursts})
	}
	d.Bursts = dataBursts{len(s.Bursts), s.Lost, text(r.Out)}
	c := s.Cost
	d.Cost = &dataCost{c.OfBusy, c.Budget, c.Programs, c.Reader, c.OnNS, c.OffNS, c.Measured, c.Switches, c.Watched, s.Unseen}
	d.Warnings = append(d.Warnings, s.warnings()...)
	return d
}

func latency(l Latency, seen float64) dataLatency {
	return dataLatency{l.N, float64(l.N) / seen, known(l.Quantile(0.5)), known(l.Quantile(0.99)), known(l.Mean()), l.Sum / seen}
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
