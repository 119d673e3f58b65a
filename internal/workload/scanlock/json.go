package scanlock

import (
	"time"

	"hostlab/internal/result"
	"hostlab/internal/workload/cpus"
)

// Schema is the version of the JSON document; docs/schema/scanlock.schema.json
// describes it.
const Schema = 1

// Data holds a run as JSON. What is not known is null; what a thread of
// its role does not do is 0.
type Data struct {
	Schema      int             `json:"schema"`
	Tool        string          `json:"hostlab"`
	Host        string          `json:"host"`
	Started     time.Time       `json:"started"`
	Seconds     float64         `json:"seconds"` // that were counted
	Interrupted bool            `json:"interrupted"`
	Incomplete  *string         `json:"incomplete"` // why the run ended before it should have; null: it did not
	Evidence    result.Evidence `json:"evidence"`
	Lock        LockKind        `json:"lock"`
	Critical    int             `json:"critical"`
	Touch       bool            `json:"touch"`
	Parallel    int             `json:"parallel"`
	Pause       bool            `json:"pause"`
	Antagonist  Role            `json:"antagonist"`
	ScanSize    int             `json:"scan_size"` // B
	Layout      Layout          `json:"layout"`
	Threads     []threadJSON    `json:"threads"`
	Rate        *float64        `json:"acquisitions_per_s"`
	Scans       *float64        `json:"scans_per_s"`
	FairShare   *float64        `json:"fair_share"`
	Jain        *float64        `json:"jain"`
	Latency     *Latency        `json:"latency"`
	Warnings    []string        `json:"warnings"`
}

type threadJSON struct {
	ID           int      `json:"id"`
	Role         Role     `json:"role"`
	CPU          int      `json:"cpu"`
	Affinity     string   `json:"affinity"`
	Place        *Near    `json:"place"`
	Acquisitions uint64   `json:"acquisitions"`
	Spins        uint64   `json:"spins"`
	Rounds       uint64   `json:"rounds"`
	PerSecond    *float64 `json:"acquisitions_per_s"`
	SpinsSecond  *float64 `json:"spins_per_s"`
	ScansSecond  *float64 `json:"scans_per_s"`
	RoundsSecond *float64 `json:"rounds_per_s"`
	SpinsPer     *float64 `json:"spins_per_acquisition"`
	Share        *float64 `json:"share"`
	OfFair       *float64 `json:"of_fair_share"`
	OnCPU        *float64 `json:"on_cpu"`
	Waited       *float64 `json:"waited"`
}

// NewData puts a run together.
func NewData(p Plan, r Result) Data {
	t, c := r.Total, p.Cell
	d := Data{Schema: Schema, Seconds: t.Seconds, Interrupted: r.Interrupted, Evidence: result.Measured, Lock: c.Lock, Critical: c.Critical,
		Touch: c.Touch, Parallel: c.Parallel, Pause: !c.NoPause, Antagonist: p.Antagonist, ScanSize: c.ScanSize, Layout: c.Layout,
		Threads: []threadJSON{}, Rate: result.Finite(t.PerSecond), Jain: result.Finite(t.Jain), Warnings: append(result.OrEmpty(p.Warnings), t.Warnings()...)}
	if t.Locks > 0 {
		d.FairShare = result.Finite(1 / float64(t.Locks))
	}
	if r.Lost != "" {
		d.Incomplete = &r.Lost
	}
	scans := 0.0
	for _, r := range t.Rows {
		j := threadJSON{ID: r.ID, Role: r.Role, CPU: r.CPU, Affinity: cpus.Affinity(r.CPU), Acquisitions: r.Acquisitions, Spins: r.Spins, Rounds: r.Rounds,
			PerSecond: result.Finite(r.PerSecond), SpinsSecond: result.Finite(r.SpinsPerSecond), ScansSecond: result.Finite(0),
			RoundsSecond: result.Finite(r.RoundsPerSecond), SpinsPer: result.Finite(r.SpinsPer), Share: result.Finite(r.Share), OfFair: result.Finite(r.OfFair),
			OnCPU: result.Finite(r.OnCPU), Waited: result.Finite(r.Waited)}
		if r.Near != "" {
			j.Place = &r.Near
		}
		if r.Role == Scan {
			j.ScansSecond = j.RoundsSecond
			scans += r.RoundsPerSecond
		}
		d.Threads = append(d.Threads, j)
	}
	d.Scans = result.Finite(scans)
	d.Latency = LatencyOf(t.Waits)
	return d
}
