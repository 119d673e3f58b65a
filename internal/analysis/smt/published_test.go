package smt

import (
	"math"
	"testing"
)

// PublishedRun is one printed run of Slava Oks' program, "Be aware: To Hyper or not to
// hyper" (2005): four CPUs, of which 0x1 and 0x4, and 0x2 and 0x8, share a core, on
// Windows Server 2003; one CPU scans, the others want one lock, over 10 s.
type PublishedRun struct {
	Command string
	Scanner int
	Lines   []PublishedLine
}

// PublishedLine is one line of the run's table.
type PublishedLine struct {
	Affinity     int // one bit
	Locked, Spin int64
}

// PublishedSeconds is how long the program counts before it prints and counts anew.
const PublishedSeconds = 10

// PublishedRuns are the runs as printed.
var PublishedRuns = []PublishedRun{
	{"test.exe -s8 -l7", 8, []PublishedLine{{8, 0, 9035}, {1, 9290331, 10373717}, {2, 676397, 40879794}, {4, 10274030, 42433521}}},
	{"test.exe -s4 -l11", 4, []PublishedLine{{4, 0, 8943}, {1, 741166, 11421139}, {2, 10747824, 10024252}, {8, 10210221, 13988134}}},
	{"test.exe -s1 -l14", 1, []PublishedLine{{1, 0, 8472}, {2, 10550011, 20156206}, {4, 722554, 11211074}, {8, 11182506, 25376166}}},
	{"test.exe -s2 -l13", 2, []PublishedLine{{2, 0, 8585}, {1, 9900899, 12267885}, {4, 8984095, 11909080}, {8, 1297138, 28199769}}},
}

// publishedSiblings is which CPU shares a core with which, as the document says.
var publishedSiblings = map[int]int{1: 4, 4: 1, 2: 8, 8: 2}

// Share is the acquisitions of the scanner's sibling over the mean of the other lock
// threads.
func (r PublishedRun) Share() float64 {
	sibling, others := r.locked()
	return float64(sibling) / mean(others)
}

// locked returns the acquisitions of the scanner's sibling, and of the others.
func (r PublishedRun) locked() (sibling int64, others []int64) {
	for _, l := range r.Lines {
		switch l.Affinity {
		case r.Scanner:
		case publishedSiblings[r.Scanner]:
			sibling = l.Locked
		default:
			others = append(others, l.Locked)
		}
	}
	return sibling, others
}

func mean(list []int64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += float64(x)
	}
	return sum / float64(len(list))
}

// FromPublished is the input that the printed runs make. No thread ran alone in them: the
// mean of the two lock threads on the other core stands for it, and the slower of
// those two against the same mean for a thread beside a scanner on another core,
// which favours none of the sibling's harm. Each run is a round.
func FromPublished() Input {
	var in Input
	for _, r := range PublishedRuns {
		sibling, others := r.locked()
		slower := min(others[0], others[1])
		in.Sibling = append(in.Sibling, math.Log(float64(sibling)/mean(others)))
		in.Other = append(in.Other, math.Log(float64(slower)/mean(others)))
		in.Alone += mean(others) / PublishedSeconds / float64(len(PublishedRuns))
		in.Beside += float64(sibling) / PublishedSeconds / float64(len(PublishedRuns))
	}
	return in
}

// What a report cites is what the printed runs give.
func TestCited(t *testing.T) {
	low, high := math.Inf(1), 0.0
	for _, r := range PublishedRuns {
		low, high = min(low, r.Share()), max(high, r.Share())
	}
	if got := Judge(FromPublished()).Decision; Cited.Low != low || Cited.High != high || Cited.Runs != len(PublishedRuns) || Cited.Decision != got {
		t.Errorf("%+v, want %v to %v of %d runs, %s", Cited, low, high, len(PublishedRuns), got)
	}
}
