package sorting

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStable(t *testing.T) {
	type pair struct{ Key, Place int }
	rapid.Check(t, func(t *rapid.T) {
		got := rapid.SliceOf(rapid.Custom(func(t *rapid.T) pair {
			return pair{rapid.IntRange(0, 9).Draw(t, "key"), rapid.Int().Draw(t, "place")}
		})).Draw(t, "list")
		want := slices.Clone(got)
		compare := func(a, b pair) int { return cmp.Compare(a.Key, b.Key) }
		slices.SortStableFunc(want, compare)
		if Stable(got, compare); !slices.Equal(got, want) {
			t.Errorf("%v, expected %v", got, want)
		}
	})
}
