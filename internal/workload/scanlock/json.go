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
	ScanSize    int             `json:"scan_size"` // B
	Threads     []Row           `json:"threads"`
	Rate        float64         `json:"acquisitions_per_s"`
	Scans       float64         `json:"scans_per_s"`
	// whether a scanner shares a core with a lock thread; "": there is no pair
	Shared   string   `json:"shared_core"`
	Warnings []string `json:"warnings"`
}

// NewData puts a run together.
func NewData(p Plan, r Result) Data {
	t := r.Total
	d := Data{Kind: "scanlock", Schema: Schema, Seconds: t.Seconds, Interrupted: r.Interrupted,
		Evidence: result.Measured, ScanSize: p.Cell.ScanSize,
		Threads: t.Rows, Rate: t.PerSecond, Scans: t.Scans, Warnings: slices.Concat(p.Warnings, t.Warnings())}
	if r.Lost != "" {
		d.Incomplete = &r.Lost
	}
	return d
}
