// Package sorting sorts slices of structs by one copy of the code: slices.SortFunc makes a copy of its own, of 20 kB, for
// each type that it sorts.
package sorting

import (
	"cmp"
	"slices"
)

// Stable sorts as slices.SortStableFunc does. It takes room for a second slice.
func Stable[E any](s []E, compare func(a, b E) int) {
	from := make([]int, len(s))
	for i := range from {
		from[i] = i
	}
	was := slices.Clone(s)
	slices.SortFunc(from, func(i, j int) int { return cmp.Or(compare(was[i], was[j]), i-j) })
	for to, i := range from {
		s[to] = was[i]
	}
}
