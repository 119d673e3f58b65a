package runner

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"hostlab/internal/result"
)

// slot is a place with the attempt that is due.
type slot struct {
	result.At
	cell    int
	attempt int // from 1
}

// pending returns what is left of a plot, in the order to run: the plan's, but that a
// run that was void or failed went back to a random place among what was left then. It
// depends on the record alone, so that a resume goes on as the killed session would have.
func pending(x *result.Experiment, runs []result.Run, block, plot int) []slot {
	var left []slot
	for i, c := range x.Blocks[block].Plots[plot] {
		left = append(left, slot{result.At{Block: block, Plot: plot, Slot: i}, c, 1})
	}
	for i := range runs {
		r := &runs[i]
		if r.Block != block || r.Plot != plot || r.Status == result.WarmUp {
			continue
		}
		at := slices.IndexFunc(left, func(s slot) bool { return s.Slot == r.Slot })
		if at < 0 {
			continue
		}
		again := left[at]
		left = slices.Delete(left, at, at+1)
		if r.Status != result.OK {
			again.attempt = r.Attempt + 1
			left = requeue(x, left, again)
		}
		if r.Restarted { // the pair begins anew, in the order of its coin
			slices.SortStableFunc(left, func(a, b slot) int { return a.Slot - b.Slot })
		}
	}
	return left
}

// requeue puts a run that is made again at a random place among those left. At the end
// of its block it would be out of the random order: what disturbs the ends of blocks
// would disturb the levels most that fail most.
func requeue(x *result.Experiment, left []slot, again slot) []slot {
	h := fnv.New64a()
	for _, v := range []int{again.Block, again.Plot, again.Slot, again.attempt} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(v)))
	}
	if again.Block >= x.Planned() { // whose order is not random
		return slices.Insert(left, 0, again)
	}
	at := rand.New(rand.NewPCG(x.Design.Seed, h.Sum64())).IntN(len(left) + 1)
	return slices.Insert(left, at, again)
}

// cellText names a cell for people.
func cellText(x *result.Experiment, cell int) string {
	return result.LevelsText(x.Factors, x.Cells[cell].Levels)
}
