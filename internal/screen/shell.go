package screen

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
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

// With is a command that people type, with an option unless its value is empty.
func With(command, option, value string) string {
	if value != "" {
		command += " " + option + " " + Operand(value)
	}
	return command
}

// Operand quotes the name of a file that is an argument by itself: one that begins with a
// dash would be an option.
func Operand(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return Word(path)
}

// Commands are the lines of a script on so many columns. A longer line of a shell has its remark above it, and goes on
// behind a pipe, or before an option where a backslash stands: all of them may be pasted at once.
func Commands(script string, columns int) (out []string) {
	for line := range strings.SplitSeq(script, "\n") {
		line = Clean(line)
		if fits(line, columns) || strings.Contains(script, "<<") { // what a command reads stays as it is
			out = append(out, line)
			continue
		}
		if places := bare(" "+line, " # "); places != nil {
			for _, l := range WrapFigures(line[places[0]+len("# "):], columns-len("# ")) {
				out = append(out, "# "+l)
			}
			line = strings.TrimSpace(line[:places[0]])
		}
		for before, head := "", ""; line != ""; before = "  " {
			head, line = folded(line, columns-len(before))
			out = append(out, before+head)
		}
	}
	return out
}

// folded cuts a command at the last place that leaves it so many columns, else at the first.
func folded(line string, columns int) (head, rest string) {
	if fits(line, columns) {
		return line, ""
	}
	places := bare(line, " | ")
	if runtime.GOOS != "windows" { // no shell there takes a backslash so
		places = append(places, bare(line, " --")...)
	}
	slices.Sort(places)
	for _, at := range places {
		end := " \\"
		if strings.HasPrefix(line[at:], " | ") {
			end = " |"
		}
		if next := line[:at] + end; head == "" || fits(next, columns) {
			head, rest = next, strings.TrimPrefix(line[at+1:], "| ")
		}
	}
	return cmp.Or(head, line), rest
}

// bare are the places of some text in a command that no quotes hold.
func bare(line, text string) (places []int) {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quote != '\'':
			i++
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && strings.HasPrefix(line[i:], text):
			places = append(places, i)
		}
	}
	return places
}
