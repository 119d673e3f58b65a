package report

import (
	"cmp"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// latencyPicture draws the distribution of commit times, one panel for each device, with marks at p50
// and p99. Empty without data.
func latencyPicture(dists []result.Distribution, all []result.Measurement) picture.HTML {
	var panels []picture.Panel
	var says []string
	for _, d := range dists {
		p := picture.Panel{Distribution: d, Name: cmp.Or(d.Title, d.Name)}
		var notes []string
		for _, q := range []probe.Stat{probe.Median, probe.Tail} {
			for i := range all {
				if m := &all[i]; m.Kind == probe.CommitFile(d.Name).Of(q) && drawable(m) {
					p.Marks = append(p.Marks, m.Estimate.Value)
					notes = append(notes, string(q)+" "+result.Format(m.Estimate.Value, m.Unit))
					says = append(says, cmp.Or(m.Title, m.Name)+" "+lever.Figure(m))
				}
			}
		}
		p.Note = strings.Join(notes, ", ")
		panels = append(panels, p)
	}
	return picture.Panels("latency", "Commit latency", "time of one commit",
		"Distribution of single commits. "+strings.Join(says, "; "), panels)
}
