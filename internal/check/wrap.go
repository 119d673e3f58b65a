package check

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text from the host safe for a terminal: names of devices and
// mounts are chosen by others and may hold escape sequences.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, s)
}

// wrap breaks text into lines of at most width runes. A word that is too long,
// as paths are, breaks after a slash, comma or brace if it has one in reach.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		for {
			room := width - utf8.RuneCountInString(line)
			if line != "" {
				room--
			}
			if n := utf8.RuneCountInString(w); n <= room {
				if line != "" {
					line += " "
				}
				line += w
				break
			} else if n <= width || line != "" {
				lines, line = append(lines, line), ""
				continue
			}
			head := breakable(w, width)
			lines, w = append(lines, head), w[len(head):]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
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
		if strings.ContainsRune("/,}=", r) {
			good = end
		}
	}
	if good > width/3 {
		return w[:good]
	}
	return w[:end]
}

// wrapCommands lays out a remedy so that it can be pasted into a shell: a
// command that is too long goes on behind a backslash, a comment behind a new
// hash. Words are never broken. Quoted text with spaces must not be longer
// than a line, since the break would become part of it.
func wrapCommands(remedy string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(remedy, "\n") {
		line = clean(line)
		if utf8.RuneCountInString(line) > width {
			if command, comment, ok := strings.Cut(line, " # "); ok && !strings.HasPrefix(line, "#") {
				out = append(out, wrapCommands("# "+comment, width)...)
				line = command
			}
		}
		switch comment, ok := strings.CutPrefix(line, "# "); {
		case utf8.RuneCountInString(line) <= width:
			out = append(out, line)
		case ok:
			for _, l := range wrap(comment, width-2) {
				out = append(out, "# "+l)
			}
		default:
			out = append(out, continued(line, width)...)
		}
	}
	return out
}

// continued breaks a command at spaces outside quotes.
func continued(command string, width int) []string {
	var lines []string
	line := ""
	for _, w := range shellWords(command) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width-2 {
			lines, line = append(lines, line+" \\"), "  "+w
			continue
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}

// shellWords splits at spaces that are not within quotes.
func shellWords(s string) []string {
	var words []string
	var quote rune
	start := 0
	for i, r := range s {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && r == ' ':
			if i > start {
				words = append(words, s[start:i])
			}
			start = i + 1
		}
	}
	if start < len(s) {
		words = append(words, s[start:])
	}
	return words
}
