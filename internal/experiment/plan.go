package experiment

import (
	"maps"
	"math/rand/v2"
	"slices"

	"hostlab/internal/result"
)

// stream separates the plan's random numbers from others with the same seed.
const stream = 0x686f73746c6162 // "hostlab"

// Draw gives a study that names no seed one of its own: with the same for all, a study
// that is repeated would have the same order again, and what disturbs that order once
// would disturb it every time. 32 bits can be typed after --seed.
func Draw(s *Study) {
	if s.Seeded {
		return
	}
	s.Design.Seed = uint64(rand.Uint32())
}

// Plan returns the cells of a study and all its blocks: those up to the last look in order, behind them the
// pairs of the baseline with itself (A/A), and at the end one of stretches (Dwell). It is pure: the same study and seed
// give the same plan, and fewer blocks give its beginning.
//
// A complete block is one plot that holds every cell once, in random order. A superblock of a split plot has a plot
// for every combination of whole-plot levels, in random order; each holds the cells of those levels Repeats times, in
// random order. A pair A/A is two runs of the baseline, or two boots: boots are what has to be compared.
func Plan(s *Study) ([]result.Cell, []result.Block) {
	cells := cellsOf(s)
	groups := plots(s, cells)
	r := rand.New(rand.NewPCG(s.Design.Seed, stream))
	n := 0
	if len(s.Design.Looks) > 0 {
		n = s.Design.Looks[len(s.Design.Looks)-1]
	}
	blocks := make([]result.Block, n, n+s.Design.AA+1)
	for b := range blocks {
		blocks[b].Seed = r.Uint64()
		blocks[b].Plots = make([][]int, len(groups))
		for i, g := range groups {
			g = slices.Clone(g)
			r.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
			blocks[b].Plots[i] = g
		}
		p := blocks[b].Plots
		r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	}
	base := result.CellAt(cells, s.Baselines())
	one := slices.Repeat([]int{base}, max(1, s.Design.Repeats))
	for range s.Design.AA {
		pair := result.Block{Seed: r.Uint64(), Plots: [][]int{{base, base}}}
		if s.Design.Kind == result.SplitPlot {
			pair.Plots = [][]int{one, one}
		}
		blocks = append(blocks, pair)
	}
	if s.Design.Dwell > 0 {
		blocks = append(blocks, s.stretches(cells, base))
	}
	return cells, blocks
}

// stretches has a plot for each level of the primary contrasts that is one cell beside the baseline: Dwell runs of the
// baseline, of the level, and of the baseline again. What a host takes several runs to follow does not show where
// levels change from run to run.
func (s *Study) stretches(cells []result.Cell, base int) (b result.Block) {
	for _, c := range s.Contrasts {
		if !c.Primary || len(c.Factors) > 1 {
			continue
		}
		want := maps.Clone(cells[base].Levels)
		want[c.Factors[0]] = c.Levels[0]
		level := result.CellAt(cells, want)
		n := s.Design.Dwell
		b.Plots = append(b.Plots, slices.Concat(slices.Repeat([]int{base}, n), slices.Repeat([]int{level}, n),
			slices.Repeat([]int{base}, n)))
	}
	return b
}

// Baselines are those of all factors, by name.
func (s *Study) Baselines() map[string]string {
	out := map[string]string{}
	for _, f := range s.Factors {
		out[f.Name] = f.Baseline
	}
	return out
}

// cellsOf lists all combinations of levels, the last factor's changing fastest.
func cellsOf(s *Study) []result.Cell {
	cells := []result.Cell{{Levels: map[string]string{}}}
	for _, f := range s.Factors {
		var next []result.Cell
		for _, c := range cells {
			for _, l := range f.Levels {
				levels := maps.Clone(c.Levels)
				levels[f.Name] = l
				next = append(next, result.Cell{Levels: levels})
			}
		}
		cells = next
	}
	return cells
}

// plots lists the cells of each plot of a block, before they are shuffled.
func plots(s *Study, cells []result.Cell) [][]int {
	var groups [][]int
	index := map[string]int{}
	for c, cell := range cells {
		key := ""
		for _, f := range s.Factors {
			if s.Design.Kind == result.SplitPlot && wholePlot(f) {
				key += cell.Levels[f.Name] + "\x00"
			}
		}
		g, ok := index[key]
		if !ok {
			g = len(groups)
			index[key] = g
			groups = append(groups, nil)
		}
		for range max(1, s.Design.Repeats) {
			groups[g] = append(groups[g], c)
		}
	}
	return groups
}
