package screen

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// glued stands for a space that a line must not break at. It is a private-use
// character, which Clean lets no text from the host bring along.
const glued = "\uE000"

var (
	unitAfter = regexp.MustCompile(
		`(\d) ((?:ns|us|ms|s|min|%|[kMG]?Hz|[KMGTPE]iB|B|[kMG]?/s|[KMG]?i?B/s)(?:[\s,.;:)\]*]|$))`)
	sizeIs   = regexp.MustCompile(`\bn = (\d)`)
	brackets = regexp.MustCompile(`\[[^\[\]]*\]`)
)

// WrapFigures breaks text from anywhere into lines of at most width columns, and leaves
// numbers with their units, and intervals that fit a line, in one piece.
func WrapFigures(s string, width int) []string {
	s = unitAfter.ReplaceAllString(Clean(s), "${1}"+glued+"${2}")
	s = sizeIs.ReplaceAllString(s, "n"+glued+"="+glued+"${1}")
	s = brackets.ReplaceAllStringFunc(s, func(b string) string {
		if utf8.RuneCountInString(b) > width {
			return b
		}
		return strings.ReplaceAll(b, " ", glued)
	})
	lines := Wrap(s, width)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], glued, " ")
	}
	return lines
}
