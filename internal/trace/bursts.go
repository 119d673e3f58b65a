package trace

import (
	"fmt"
	"io"

	"hostlab/internal/model/burstlog"
)

// WriteBursts writes the record that 'hostlab predict --workload' reads. It refuses one that
// lost too much.
func (r *Result) WriteBursts(w io.Writer) error {
	if err := r.Complete(); err != nil {
		return err
	}
	head := burstlog.Head{Started: r.Started.UTC(), Source: "scheduler events", Length: r.Length, Seen: r.SeenShare(),
		Lost: r.Lost, Service: r.Target}
	for _, c := range r.CPUs {
		head.CPUs = append(head.CPUs, c.Number)
		head.Load += c.Busy / float64(len(r.CPUs))
	}
	head.Load = min(1, head.Load) // a sum of rounded shares
	out, err := burstlog.NewWriter(w, head)
	if err != nil {
		return err
	}
	for _, b := range r.Bursts {
		if err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Complete is an error where the bursts make no record.
func (r *Result) Complete() error {
	if share := r.LostShare(); share > burstlog.MaxLost {
		return fmt.Errorf("%s of the bursts were lost, and at most %s may be: they are those of the busiest moments; record again", percent(share), percent(burstlog.MaxLost))
	}
	if len(r.Bursts) == 0 {
		return fmt.Errorf("no burst began in the %s that were watched; record for longer", span(r.Seen))
	}
	return nil
}
