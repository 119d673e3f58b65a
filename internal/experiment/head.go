package experiment

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"hostlab/internal/result"
)

// Head returns the head of a record: all but ID, Version, Started and Host.
func Head(s *Study) *result.Experiment {
	x := &result.Experiment{Schema: result.SchemaVersion, Name: s.Name, Title: s.Title, BuiltIn: s.BuiltIn, Study: Hash(s),
		Overrides: maps.Clone(s.Overrides),
		Evidence:  s.Evidence, Workload: s.Workload.Name, Parameters: s.parameters(), Contrasts: slices.Clone(s.Contrasts),
		Design:  s.Design,
		Section: s.Section, Absent: slices.Clone(s.Absent), Machine: s.Known, Places: slices.Clone(s.Places)}
	for _, f := range s.Factors {
		x.Factors = append(x.Factors, f.Factor)
	}
	for _, r := range s.Responses {
		x.Responses = append(x.Responses, r.Response)
	}
	x.Cells, x.Blocks = Plan(s)
	return x
}

// parameters are those of the workload as text, without those that factors vary.
func (s *Study) parameters() map[string]string {
	out := map[string]string{}
	if s.Workload.Params == nil {
		return out
	}
	for _, p := range s.description().List() {
		varied := slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.Parameter == p.Name })
		if !varied {
			out[p.Name] = p.Text(s.Workload.Params)
		}
	}
	return out
}

// Hash identifies a study: the SHA-256, in hexadecimal, of its file's bytes (as
// sha256sum prints it) and, where there are any, of the overrides by name. A
// record may be resumed by a study of the same hash only. It is part of records:
// a change to it makes them impossible to resume.
func Hash(s *Study) string {
	h := sha256.New()
	h.Write(s.Source)
	for _, k := range slices.Sorted(maps.Keys(s.Overrides)) {
		for _, t := range []string{k, s.Overrides[k]} { // lengths first, so that no two lists give the same bytes
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(t))))
			h.Write([]byte(t))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Duration returns how long a study takes at a time per run: at least, to its
// first look, and at most, to its last or until the budget is spent. perRun 0 is
// what the study expects; without that too, both are 0: not known. It counts
// settle times and warm-up, and neither boots nor people.
func Duration(s *Study, perRun time.Duration) (least, most time.Duration) {
	if perRun <= 0 {
		perRun = s.Workload.Expect
	}
	if perRun <= 0 && s.Paced(0) <= 0 || len(s.Design.Looks) == 0 {
		return 0, 0
	}
	one := perRun + s.Workload.Settle
	var plot time.Duration
	for _, f := range s.Factors {
		if wholePlot(f) {
			plot += f.Settle
		} else {
			one += f.Settle // every run applies its levels anew
		}
	}
	if s.Paced(0) > 0 {
		return s.pairsTake()
	}
	block := float64(s.RunsPerBlock())*float64(one) + float64(s.PlotsPerBlock())*float64(plot)
	warmUp := float64(s.Workload.WarmUp) * float64(one)
	if s.Design.Kind == result.SplitPlot {
		block, warmUp = block+float64(s.PlotsPerBlock())*warmUp, 0
	}
	warmUp += block * float64(2*s.Design.AA) / float64(max(1, combinations(s.Factors)))
	after := func(blocks int) time.Duration {
		t := warmUp + float64(blocks)*block
		return time.Duration(min(t, 1<<62))
	}
	least, most = after(s.Design.Looks[0]), after(s.Design.Looks[len(s.Design.Looks)-1])
	if s.Design.Dwell > 0 {
		most += time.Duration(3*s.Design.Dwell*s.Tests()) * one
	}
	if s.Budget > 0 {
		least, most = min(least, s.Budget), min(most, s.Budget)
	}
	return least, most
}
