// Package spelling finds what somebody meant to type.
package spelling

import "strings"

// Meant returns the known word that is near enough to s for a slip, or "".
func Meant(s string, known []string) string {
	s = strings.TrimSpace(s)
	best, at := len(s), ""
	for _, w := range known {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); d < best && d <= max(2, len(w)/2) {
			best, at = d, w
		}
	}
	return at
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
