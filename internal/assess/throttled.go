package assess

import (
	"fmt"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// Throttle is a limit on a device of a control group around the service, and what it did a second.
type Throttle struct {
	service.Throttle
	Rate float64 `json:"rate"` // reads, writes or bytes a second
}

// reached is the share of a limit from which it holds: a device that is asked for more never gets quite there.
const reached = 0.8

// throttlesOf are the limits that held between two looks.
func throttlesOf(before, after []service.Throttle, seconds float64) (list []Throttle) {
	for _, now := range after {
		for _, was := range before {
			if was.File == now.File && was.Device == now.Device && was.Lift == now.Lift && seconds > 0 {
				if rate := (now.Done - was.Done) / seconds; rate >= reached*now.Limit {
					list = append(list, Throttle{now, rate})
				}
			}
		}
	}
	return list
}

// throttled are the limits on devices that hold, as findings: no faster device gives more.
func (m *Minute) throttled() (list []explain.Finding) {
	for _, t := range m.Throttles {
		parts, verb := []explain.PartName{explain.DataReads}, "reads"
		if t.Write {
			parts, verb = []explain.PartName{explain.LogWait, explain.OtherWaits}, "writes"
		}
		f := explain.Finding{Parameter: "limit on a device", Part: parts[0], Number: t.Rate, Unit: verb + "/s", N: -1}
		share, most := 0.0, 0.0
		for _, p := range parts {
			e := m.share(p)
			if share, most = share+e.Value, most+max(e.High, m.saving(p).AtMost); e.Value > m.share(f.Part).Value {
				f.Part = p
			}
		}
		if share < lever.Margin {
			continue
		}
		each := func(v float64) string { return fmt.Sprintf("%s %s a second", explain.Plain(v), verb) }
		if t.Bytes {
			f.Unit = "B/s"
			each = func(v float64) string { return verb + " of " + result.Format(v, "B") + " a second" }
		}
		f.Plain, f.Explains, f.AtMost = true, result.Finite(lever.Unit(share)), result.Finite(lever.Unit(most))
		f.Text = fmt.Sprintf("its control group limits it to %s on device %s, and it did %s", each(t.Limit), t.Device,
			each(t.Rate))
		f.Step = fmt.Sprintf("raise that limit; without one until its unit or runtime sets it anew: echo %q | sudo tee %s",
			t.Lift, screen.Word(t.File))
		list = append(list, f)
	}
	return list
}
