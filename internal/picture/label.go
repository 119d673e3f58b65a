package picture

import (
	"strings"

	"hostlab/internal/result"
)

// Round prints a round number without the zeros that Format adds for precision:
// "10 ms", not "10.0 ms".
func Round(v float64, unit string) string {
	number, step, ok := strings.Cut(result.Format(v, unit), " ")
	if !ok {
		return number
	}
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + step
}

// AnchorAt keeps a centred label inside the picture.
func AnchorAt(x, w float64, text string) string {
	half := TextWidth(text) / 2
	switch {
	case x < half:
		return "start"
	case x > w-half:
		return "end"
	default:
		return "middle"
	}
}

// TextWidth guesses a small label's width, as the font is the reader's: on the
// large side, by the widths that DejaVu Sans has at 13 pixels.
func TextWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljI.,:;'|!", r):
			w += 4.4
		case strings.ContainsRune(" ()[]-/frt", r):
			w += 5.4
		case strings.ContainsRune("mwMW@%+=<>~#", r):
			w += 11.8
		case r >= 'A' && r <= 'Z':
			w += 9.4
		case r > 0x2e7f: // scripts of full width
			w += 13.5
		default:
			w += 8
		}
	}
	return w
}

// Lines wraps a label into at most n lines of a width; what does not fit ends in an
// ellipsis, and cut is true.
func Lines(text string, width float64, n int) (lines []string, cut bool) {
	rest := strings.Fields(text)
	for len(rest) > 0 && len(lines) < n {
		line := rest[0]
		rest = rest[1:]
		for len(rest) > 0 && TextWidth(line+" "+rest[0]) <= width {
			line, rest = line+" "+rest[0], rest[1:]
		}
		if len(lines) == n-1 && len(rest) > 0 {
			line, rest = line+" "+strings.Join(rest, " "), nil
		}
		if TextWidth(line) > width {
			r := []rune(line)
			for len(r) > 1 && TextWidth(string(r)+"…") > width {
				r = r[:len(r)-1]
			}
			line, cut = strings.TrimRight(string(r), " ")+"…", true
		}
		lines = append(lines, line)
	}
	return lines, cut
}
