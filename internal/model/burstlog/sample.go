package burstlog

import (
	"cmp"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Sample are some bursts of a short recording, of which many make a record of a day.
type Sample struct {
	Head   Head    `json:"head"`
	Bursts []Burst `json:"bursts"`
}

// exact is to how many parts of a second times are rounded: to a hundredth of a short burst.
const exact = 1e7

// NewSample draws so many bursts at most of a recording's, each with the same chance. A part of a sample is a sample
// that saw less of the time.
func NewSample(head Head, bursts []Burst, most int, rng *rand.Rand) *Sample {
	s := &Sample{Head: head.numbered()}
	kept := make([]int, 0, most)
	for i := range bursts { // reservoir sampling
		if len(kept) < most {
			kept = append(kept, i)
		} else if at := rng.IntN(i + 1); at < most {
			kept[at] = i
		}
	}
	slices.Sort(kept)
	round := func(v float64) float64 { return math.Round(v*exact) / exact }
	for _, i := range kept {
		b := bursts[i]
		b.At, b.Busy, b.Idle, b.Service = round(b.At), max(1/exact, round(b.Busy)), round(b.Idle),
			math.Round(b.Service*1e3)/1e3
		s.Bursts = append(s.Bursts, b)
	}
	if part := float64(len(kept)) / float64(max(1, len(bursts))); part < 1 {
		s.Head.Seen *= part
		s.Head.Lost = uint64(math.Round(float64(s.Head.Lost) * part))
	}
	return s
}

// Sound reports that a sample can be one of a recording: others may have written it.
func (s *Sample) Sound() bool {
	const longest, most = 3600, 10000
	if s.Head.validate() != nil || s.Head.Length > longest || len(s.Bursts) > most {
		return false
	}
	cpus := map[int]bool{}
	for _, c := range s.Head.CPUs {
		cpus[c] = true
	}
	return !slices.ContainsFunc(s.Bursts, func(b Burst) bool {
		return b.validate() != nil || b.At > s.Head.Length || !cpus[b.CPU]
	})
}

// Join makes one sample of those that were taken one after the other; nil for none. Left out is one that begins before
// the end of another, as after a clock was set back. Each burst has the chance to be in it that one of the busiest
// sample had: else quiet times, of which a larger share was kept, would count for more than they are.
func Join(list []*Sample) *Sample {
	if len(list) == 0 {
		return nil
	}
	list = slices.SortedStableFunc(slices.Values(list),
		func(a, b *Sample) int { return a.Head.Started.Compare(b.Head.Started) })
	out := &Sample{Head: list[0].Head}
	head, cpus, ends := &out.Head, map[int]bool{}, map[int]float64{}
	least := slices.MinFunc(list, func(a, b *Sample) int { return cmp.Compare(a.Head.Seen, b.Head.Seen) }).Head.Seen
	rng := rand.New(rand.NewPCG(uint64(head.Started.UnixNano()), uint64(len(list))))
	var lost, load, all, end float64
	for _, s := range list {
		h := s.Head
		began := h.Started.Sub(head.Started).Seconds()
		if began < end {
			continue
		}
		end = began + h.Length
		load, all = load+h.Load*h.Length, all+h.Length
		chance := least / h.Seen
		lost += chance * float64(h.Lost)
		for _, c := range h.CPUs {
			cpus[c] = true
		}
		for _, b := range s.Bursts {
			if b.At += began; rng.Float64() < chance && b.At >= ends[b.CPU] {
				ends[b.CPU] = b.At + b.Busy + b.Idle
				out.Bursts = append(out.Bursts, b)
			}
		}
	}
	head.CPUs = slices.Sorted(maps.Keys(cpus))
	head.Length, head.Seen, head.Load, head.Lost = end, min(1, least*all/end), min(1, load/all), uint64(math.Round(lost))
	return out
}

// Write writes it as a record.
func (s *Sample) Write(w io.Writer) error {
	out, err := NewWriter(w, s.Head)
	if err != nil {
		return err
	}
	for _, b := range s.Bursts {
		if err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}
