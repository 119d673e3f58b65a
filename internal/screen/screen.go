// Package screen lays text out for a terminal: wrapped to a width, safe from
// control characters that the host's own names may hold, and with commands that
// can be pasted into a shell from several lines.
package screen

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from the host safe for a terminal: names of devices, mounts
// and hosts are chosen by others and may hold escape sequences or line ends.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}

// CleanPage does for a whole page what Clean does for a line: spaces and line ends stay,
// what steers a terminal or the direction of text goes (Unicode TR 36, 3.5). Figures stay in one line, but for scripts
// and code, which are to be copied.
func CleanPage(page []byte) []byte {
	var out []byte
	for at := 0; at < len(page); {
		text, rest := page[at:], []int{len(page) - at, len(page) - at}
		if m := markup.FindIndex(text); m != nil {
			rest = m
		}
		out = append(out, figures(string(text[:rest[0]]), "\u00a0", longestInterval)...)
		out = append(out, text[rest[0]:rest[1]]...)
		at += rest[1]
	}
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, out)
}

// markup is what a reader of a page does not read as text: scripts, styles, code and tags.
var markup = regexp.MustCompile(`(?s)<(?:script|style|code)\b.*?</(?:script|style|code)>|<[^>]*>`)

// Count writes a number with its noun, which takes an s in the plural.
func Count(n int, noun string) string {
	return Plural(n, noun, noun+"s")
}

// Plural writes a number with its noun, in words of their own for one and for several.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Short cuts text that is quoted in a message.
func Short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

// Cut leaves so many characters of a text that others wrote, and says how many it left out.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return fmt.Sprintf("%s ... (%s more)", string(r[:most]), Count(len(r)-most, "character"))
}

// Brief writes a duration without its zeros: 1m0s is 1m.
func Brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Lasting writes how long something takes in at most two units: 90 s, 47 min, 2 h 5 min, 3 days.
func Lasting(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60), " 0 min")
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// Pad fills s with spaces to width runes.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// Narrowest is the fewest columns of a screen or of a table's column that text is laid out in.
const Narrowest = 8

// Wrap breaks text into lines of at most width runes, one line at least. A word that is too long,
// as paths are, breaks after a slash, point, comma or the like if it has one in reach.
func Wrap(text string, width int) []string {
	width = max(width, Narrowest)
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		for {
			room := width - utf8.RuneCountInString(line)
			if line != "" {
				room--
			}
			if fits(w, room) {
				if line != "" {
					line += " "
				}
				line += w
				break
			} else if line != "" || fits(w, width) {
				lines, line = append(lines, line), ""
				continue
			}
			head := breakable(w, width)
			lines, w = append(lines, head), w[len(head):]
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// fits reports whether s has at most n runes. It looks no further, so that a word
// of megabytes takes no longer to wrap than its length.
func fits(s string, n int) bool {
	for range s {
		if n--; n < 0 {
			return false
		}
	}
	return true
}

// breakable returns the part of a long word that fits on a line.
func breakable(w string, width int) string {
	end, good, n := 0, 0, 0
	for i, r := range w {
		if n == width {
			break
		}
		n++
		end = i + utf8.RuneLen(r)
		if strings.ContainsRune("/,}=._", r) {
			good = end
		}
	}
	if good > width/3 {
		return w[:good]
	}
	return w[:end]
}

// OneLine is an error in one line, for a terminal and for JSON.
func OneLine(err error) string {
	line := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
	const longest = 4000 // a program or a server may have said any of it
	return Clean(Cut(line, longest))
}

// glued stands for a space that a line must not break at. It is a private-use
// character, which Clean lets no text from the host bring along.
const glued = "\uE000"

var (
	unitAfter = regexp.MustCompile(
		`(\d) ((?:ns|us|µs|ms|s|min|h|W|%|[kMG]?Hz|[KMGTPE]iB|B|[kMG]?/s|[KMG]?i?B/s)(?:[\s,.;:)\]*]|$))`)
	sizeIs = regexp.MustCompile(`\bn = (\d)`)
	whole  = regexp.MustCompile(`\[[^\[\]]*\]|"[^"]*"|'hostlab [^']*'`) // intervals, and what is to be typed
)

// longestInterval is that of a page, which may be narrow.
const longestInterval = 20

// figures has another space in numbers with their units, in sizes, and in what is whole and at most so long.
func figures(s, space string, most int) string {
	s = unitAfter.ReplaceAllString(s, "${1}"+space+"${2}")
	s = sizeIs.ReplaceAllString(s, "n"+space+"="+space+"${1}")
	return whole.ReplaceAllStringFunc(s, func(b string) string {
		if utf8.RuneCountInString(b) > most {
			return b
		}
		return strings.ReplaceAll(b, " ", space)
	})
}

// WrapFigures breaks text from anywhere into lines of at most width columns, and leaves
// numbers with their units, and intervals and commands that fit a line, in one piece.
func WrapFigures(s string, width int) []string {
	lines := Wrap(figures(Clean(s), glued, width), width)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], glued, " ")
	}
	return lines
}

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
