package scanlock

import (
	"slices"
	"time"

	"hostlab/internal/result"
)

// Schema is the version of the JSON document; docs/schema/scanlock.schema.json
// describes it.
const Schema = 1

// Data holds a run as JSON. What is not known is null; what a thread of
// its role does not do is 0.
type Data struct {
	Kind        string          `json:"kind"`
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
	Threads     []Row           `json:"threads"`
	Rate        float64         `json:"acquisitions_per_s"`
	Scans       float64         `json:"scans_per_s"`
	FairShare   float64         `json:"fair_share"`
	Jain        float64         `json:"jain"`
	Latency     *Latency        `json:"latency"`
	Warnings    []string        `json:"warnings"`
}

// NewData puts a run together.
func NewData(p Plan, r Result) Data {
	t, c := r.Total, p.Cell
	d := Data{Kind: "scanlock", Schema: Schema, Seconds: t.Seconds, Interrupted: r.Interrupted, Evidence: result.Measured, Lock: c.Lock,
		Critical: c.Critical,
		Touch:    c.Touch, Parallel: c.Parallel, Pause: !c.NoPause, Antagonist: p.Antagonist, ScanSize: c.ScanSize, Layout: c.Layout,
		Threads: t.Rows, Rate: t.PerSecond, FairShare: 1 / float64(t.Locks), Jain: t.Jain,
		Latency: LatencyOf(t.Waits), Warnings: slices.Concat(p.Warnings, t.Warnings())}
	if r.Lost != "" {
		d.Incomplete = &r.Lost
	}
	for _, r := range t.Rows {
		d.Scans += r.ScansPerSecond
	}
	return d
}
