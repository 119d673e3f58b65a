package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/lazyre"
)

var digits = lazyre.New(`\d+`)

// naturalKey is a name with each number behind its length, so that cpu10 comes after cpu9.
func naturalKey(name string) string {
	return digits.ReplaceAllStringFunc(name, func(d string) string {
		d = strings.TrimLeft(d, "0")
		return fmt.Sprintf("%03d%s", len(d), d)
	})
}

// SortNatural sorts names so that cpu10 comes after cpu9.
func SortNatural(names []string) {
	keys := make(map[string]string, len(names))
	for _, n := range names {
		keys[n] = naturalKey(n)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
}
