package experiment

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"hostlab/internal/result"
)

// anyStudy draws a study with all that Plan reads.
func anyStudy(t *rapid.T) *Study {
	s := &Study{Design: result.Design{Kind: result.RCBD, Repeats: 1, Seed: rapid.Uint64().Draw(t, "seed"),
		AA:    rapid.IntRange(0, 3).Draw(t, "aa"),
		Looks: []int{rapid.IntRange(1, 12).Draw(t, "blocks")}}}
	for i := range rapid.IntRange(1, 3).Draw(t, "factors") {
		f := Factor{Factor: result.Factor{Name: fmt.Sprint("f", i), Change: result.Online}}
		if rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
			f.Change = result.Reboot
			s.Design.Kind = result.SplitPlot
		}
		for l := range rapid.IntRange(2, 4).Draw(t, "levels") {
			f.Levels = append(f.Levels, fmt.Sprint("l", l))
		}
		f.Baseline = rapid.SampledFrom(f.Levels).Draw(t, "baseline")
		s.Factors = append(s.Factors, f)
	}
	if s.Design.Kind == result.SplitPlot {
		s.Design.Repeats = rapid.IntRange(1, 3).Draw(t, "repeats")
	}
	return s
}

func TestPlanIsCompleteAndReproducible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStudy(t)
		cells, blocks := Plan(s)
		again, same := Plan(s)
		if diff := cmp.Diff(cells, again) + cmp.Diff(blocks, same); diff != "" {
			t.Fatalf("the same study gave another plan:\n%s", diff)
		}
		seen := map[string]bool{}
		for i, c := range cells {
			key := fmt.Sprint(c.Levels)
			if seen[key] || len(c.Levels) != len(s.Factors) {
				t.Fatalf("cell %v is there twice or lacks a factor", c)
			}
			seen[key] = true
			for _, f := range s.Factors {
				if !slices.Contains(f.Levels, c.Levels[f.Name]) {
					t.Fatalf("cell %d has level %q of %s", i, c.Levels[f.Name], f.Name)
				}
			}
		}
		if want := combinations(s.Factors); len(cells) != want {
			t.Fatalf("%d cells, expected %d", len(cells), want)
		}
		planned := s.Design.Looks[0]
		if len(blocks) != planned+s.Design.AA {
			t.Fatalf("%d blocks, expected %d and %d pairs", len(blocks), planned, s.Design.AA)
		}
		for _, pair := range blocks[planned:] { // of the baseline with itself
			for _, c := range slices.Concat(pair.Plots...) {
				if len(slices.Concat(pair.Plots...)) != 2*s.Design.Repeats || c != result.CellAt(cells, s.Baselines()) {
					t.Fatalf("a pair of the baseline with itself is %v", pair.Plots)
				}
			}
		}
		for b, block := range blocks[:planned] {
			checkBlock(t, s, cells, block, b)
		}
	})
}

// checkBlock expects every cell Repeats times, and one combination of whole-plot
// levels in each plot.
func checkBlock(t *rapid.T, s *Study, cells []result.Cell, block result.Block, b int) {
	if len(block.Plots) != s.PlotsPerBlock() {
		t.Fatalf("block %d has %d plots, expected %d", b, len(block.Plots), s.PlotsPerBlock())
	}
	count, runs := make([]int, len(cells)), 0
	boots := map[string]int{}
	for _, plot := range block.Plots {
		levels := map[string]bool{}
		for _, c := range plot {
			count[c]++
			runs++
			key := ""
			for _, f := range s.Factors {
				if f.Change.WholePlot() {
					key += " " + cells[c].Levels[f.Name]
				}
			}
			levels[key] = true
		}
		if len(levels) != 1 {
			t.Fatalf("block %d: one plot holds %v", b, levels)
		}
		for k := range levels {
			boots[k]++
		}
	}
	for k, n := range boots {
		if n != 1 {
			t.Fatalf("block %d: %d plots at %s", b, n, k)
		}
	}
	for c, n := range count {
		if n != s.Design.Repeats {
			t.Fatalf("block %d: cell %d runs %d times, expected %d", b, c, n, s.Design.Repeats)
		}
	}
	if runs != s.RunsPerBlock() {
		t.Fatalf("block %d: %d runs, RunsPerBlock says %d", b, runs, s.RunsPerBlock())
	}
}

// Fewer blocks are the beginning of more, so that a look changes nothing before it.
func TestPlanIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStudy(t)
		s.Design.AA = 0
		_, few := Plan(s)
		s.Design.Looks = append(s.Design.Looks, s.Design.Looks[0]+3)
		if _, more := Plan(s); !cmp.Equal(more[:len(few)], few) {
			t.Fatal("more blocks changed the first ones")
		}
	})
}

func TestPlanDependsOnSeed(t *testing.T) {
	s := &Study{Factors: []Factor{{Factor: result.Factor{Name: "f", Levels: []string{"a", "b"}, Baseline: "a"}}},
		Design: result.Design{Looks: []int{30}, Repeats: 1, Kind: result.RCBD}}
	seen := map[string]uint64{}
	for seed := range uint64(200) {
		s.Design.Seed = seed
		_, blocks := Plan(s)
		var order [][][]int
		for _, b := range blocks {
			order = append(order, b.Plots)
		}
		key := fmt.Sprint(order)
		if other, twice := seen[key]; twice {
			t.Errorf("seeds %d and %d give the same order", other, seed)
		}
		seen[key] = seed
	}
}

// TestPlanIsUniform counts how often each cell stands at each position, and each
// order of a block comes, and compares with equal shares. Seeds are fixed: what is
// tested is the shuffling, not luck.
func TestPlanIsUniform(t *testing.T) {
	const blocks, cells = 6000, 4
	for seed := range uint64(5) {
		s := &Study{Factors: []Factor{{Factor: result.Factor{Name: "f", Levels: []string{"a", "b", "c", "d"},
			Baseline: "a"}}},
			Design: result.Design{Looks: []int{blocks}, Repeats: 1, Kind: result.RCBD, Seed: seed}}
		_, plan := Plan(s)
		var at [cells][cells]float64
		orders := map[string]float64{}
		for _, b := range plan {
			for i, c := range b.Plots[0] {
				at[i][c]++
			}
			orders[fmt.Sprint(b.Plots[0])]++
		}
		positions := 0.0
		for _, row := range at {
			for _, n := range row {
				positions += square(n-blocks/cells) / (blocks / cells)
			}
		}
		// A random permutation's table has fixed sums of rows and columns, and entries that
		// vary k/(k-1) times as much as a contingency table's.
		positions *= (cells - 1.0) / cells
		if p := 1 - (distuv.ChiSquared{K: (cells - 1) * (cells - 1)}).CDF(positions); p < 0.001 {
			t.Errorf("seed %d: positions are not uniform: chi-square %.1f, p = %.2g", seed, positions, p)
		}
		all := 0.0
		for _, n := range orders {
			all += square(n-blocks/24) / (blocks / 24)
		}
		if p := 1 - (distuv.ChiSquared{K: 23}).CDF(all); len(orders) != 24 || p < 0.001 {
			t.Errorf("seed %d: %d orders of 24, chi-square %.1f, p = %.2g", seed, len(orders), all, p)
		}
	}
}

func square(x float64) float64 { return x * x }
