package screen

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cells makes a row safe for CSV: it keeps foreign text from being a formula where a spreadsheet opens the file. OWASP,
// "CSV Injection", has a quote put before it, for the fullwidth forms as well. Text that begins with a
// quote gets one more, so that no two texts give the same cell. Numbers stay numbers.
func Cells(row []string) []string {
	for i, s := range row {
		s = Clean(s)
		if first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " ")); strings.ContainsRune("=+-@＝＋－＠'", first) {
			if _, err := strconv.ParseFloat(s, 64); err != nil {
				s = "'" + s
			}
		}
		row[i] = s
	}
	return row
}
