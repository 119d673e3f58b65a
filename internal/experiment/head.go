package experiment

import (
	"cmp"
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
	looks := s.Design.Looks
	_, one := s.blockTakes(0, perRun)
	if one == 0 || len(looks) == 0 {
		return 0, 0
	}
	least, most = s.after(looks[0], perRun), s.after(looks[len(looks)-1], perRun)
	if s.Design.Dwell > 0 {
		most += time.Duration(float64(3*s.Design.Dwell*s.Tests()) * one)
	}
	if s.Budget > 0 {
		least, most = min(least, s.Budget), min(most, s.Budget)
	}
	return least, most
}

// after is how long so many blocks take, with the runs that warm up and the A/A pairs.
func (s *Study) after(blocks int, perRun time.Duration) time.Duration {
	block, one := s.blockTakes(0, perRun)
	t := block * float64(2*s.Design.AA) / float64(max(1, combinations(s.Factors)))
	if s.Design.Kind != result.SplitPlot {
		t += float64(s.Workload.WarmUp) * one
	}
	for b := range blocks {
		block, _ = s.blockTakes(b, perRun)
		t += block
	}
	return time.Duration(min(t, 1<<62))
}

// BlockTime is what a block takes, counted from 0, as Duration has it, and without what goes before the first one.
func (s *Study) BlockTime(block int, perRun time.Duration) time.Duration {
	all, _ := s.blockTakes(block, perRun)
	return time.Duration(min(all, 1<<62))
}

// blockTakes is what a block takes in ns, and one of its runs: as long as the workload says, or perRun.
func (s *Study) blockTakes(block int, perRun time.Duration) (all, one float64) {
	run := cmp.Or(s.Paced(block), perRun, s.Workload.Expect)
	if run == 0 {
		return 0, 0
	}
	one = float64(run) + float64(s.Workload.Settle)
	plot := 0.0
	for _, f := range s.Factors {
		if wholePlot(f) {
			plot += float64(f.Settle)
		} else {
			one += float64(f.Settle) // every run applies its levels anew
		}
	}
	if s.Design.Kind == result.SplitPlot {
		plot += float64(s.Workload.WarmUp) * one
	}
	return float64(s.RunsPerBlock())*one + float64(s.PlotsPerBlock())*plot, one
}
