package screen

import "strings"

// Meant returns the known word that is near enough to s for a slip, or "": one letter
// off, or a third of the word's at most, or more than the word.
func Meant(s string, known []string) string {
	s = strings.TrimSpace(s)
	best, at := len(s), ""
	for _, w := range known {
		d := distance(strings.ToLower(s), strings.ToLower(w))
		if near := d <= max(1, len(w)/3) || len(w) > 3 && strings.Contains(s, w); near && d < best {
			best, at = d, w
		}
	}
	return at
}

// distance is the Levenshtein distance in bytes, with two neighbours that changed
// places as one step.
func distance(a, b string) int {
	row, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		before := above // the row of i-2
		above = append([]int(nil), row...)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
