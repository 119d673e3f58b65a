package report

import (
	"math"

	"hostlab/internal/document"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// pictures in the order in which the page shows them; those without data are
// left out.
func pictures(a *Assessment) document.Section {
	var dists []result.Distribution
	var pairs []probe.PairResult
	for _, o := range a.Runs {
		pairs = append(pairs, o.Pairs...)
		dists = append(dists, o.Distributions...)
	}
	big := a.Facts != nil && len(a.Facts.Topology.CPUs) > 32
	all := []picture.Figure{
		{Title: "Wake-up penalty by slice", SVG: wakeupPicture(a.Probes),
			Note: "How much longer work takes right after a pause. Markers are estimates, bars their 95 % intervals, the grey bands are " +
				"the noise floor of this host: an effect inside them does not count."},
		{Title: "Commit latency", SVG: latencyPicture(dists, a.Probes),
			Note: "Each panel is scaled to its own peak. Memory loses everything at a power cut: it shows what no device can beat."},
		{Title: "Speed-up by degree", SVG: speedupPicture(a.Probes),
			Note: "A cached query on more and more CPUs, with 95 % intervals; the dashed line is for CPUs that do not slow " +
				"each other."},
		{Title: "Frequency of each CPU", SVG: frequencyPicture(a.Facts), Wide: a.Facts != nil &&
			len(a.Facts.Frequency.Current) > 64, Note: "As a share of the highest frequency of that CPU, at one moment."},
		{Title: "CPU topology", SVG: topologyPicture(a.Facts, pairs), Wide: big,
			Note: "Sockets, shared caches, cores and threads as the system reports them."},
	}
	s := document.Section{Title: "Pictures", Where: document.Page}
	for _, p := range all {
		s.Blocks = append(s.Blocks, document.Figure{Figure: p})
	}
	return s
}

// drawable reports whether a measurement has a place on an axis.
func drawable(m *result.Measurement) bool {
	if !m.Known() || math.IsNaN(m.Estimate.Value) {
		return false
	}
	for _, v := range []float64{m.Estimate.Value, m.Estimate.Low, m.Estimate.High} {
		if v <= 0 || v > 1e12 {
			return false // every axis here is one of times or ratios
		}
	}
	return true
}
