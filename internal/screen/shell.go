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

// Commands are the lines of a script, each as it is: a line that is broken may run as two commands, or end in what was
// a comment.
func Commands(script string) []string {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return lines
}
