package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainInShell are the characters that mean themselves in every shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@%+=,-"

// Word quotes one word of a command that is printed, so that a shell takes each of its
// bytes as data. Every foreign name in a command goes through it, also those in remarks:
// zsh runs what follows a # that is typed. What a terminal must not see is written in
// octal within $'...' (POSIX 2024, 2.2.4), which older shells take for other data.
func Word(s string) string {
	switch {
	case s != "" && strings.Trim(s, plainInShell) == "" && s[0] != '=' && s[0] != '%':
		return s
	case Clean(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError || !unicode.IsPrint(r) || r == '\'' || r == '\\' {
			for i := range n {
				fmt.Fprintf(&b, `\%03o`, s[i])
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	b.WriteString("'")
	return b.String()
}

// Operand quotes the name of a file that is an argument by itself: one that begins with a
// dash would be an option.
func Operand(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return Word(path)
}

// Commands lays out one or more shell commands, a line each, so that it can be pasted into
// a shell: a command that is too long goes on after a backslash, a comment after a new
// hash. A word that alone is longer than a line stays whole, since what is after a line's
// end would be another command.
func Commands(remedy string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(remedy, "\n") {
		line = Clean(line)
		if utf8.RuneCountInString(line) > width {
			if command, comment, ok := cutComment(line); ok {
				out = append(out, Commands("# "+comment, width)...)
				line = command
			}
		}
		switch comment, ok := strings.CutPrefix(line, "# "); {
		case utf8.RuneCountInString(line) <= width:
			out = append(out, line)
		case ok:
			for _, l := range Wrap(comment, width-2) {
				out = append(out, "# "+l)
			}
		default:
			out = append(out, continued(line, width)...)
		}
	}
	return out
}

// continued breaks a command at spaces outside quotes.
func continued(command string, width int) (lines []string) {
	line := ""
	for _, w := range shellWords(command) {
		switch {
		case line == "":
			line = w
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width-2:
			lines, line = append(lines, line+" \\"), "  "+w
		default:
			line += " " + w
		}
	}
	return append(lines, line)
}

// cutComment parts a line at the first word that begins with a hash; a line that is all
// comment stays whole.
func cutComment(line string) (command, comment string, ok bool) {
	words := shellWords(line)
	for i, w := range words {
		if w == "#" && i > 0 {
			return strings.Join(words[:i], " "), strings.Join(words[i+1:], " "), true
		}
		if w == "#" {
			break
		}
	}
	return line, "", false
}

// shellWords splits at spaces that are not within quotes.
func shellWords(s string) []string {
	var words []string
	var quote rune
	start, escaped := 0, false
	for i, r := range s {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
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
