package proc

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreters are programs whose name does not say what they do, with the options that take the next word and those
// after which no file follows, as the text of a program does.
var interpreters = []struct {
	name         *regexp.Regexp
	takes, texts []string
}{
	{regexp.MustCompile(`^python[\d.]*$`), []string{"-W", "-X"}, []string{"-c"}},
	{regexp.MustCompile(`^java$`), []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"},
		nil},
	{regexp.MustCompile(`^(node|ruby|perl)$`), []string{"-r", "-I"}, []string{"-e", "-E", "-p"}},
	{regexp.MustCompile(`^php[\d.]*$`), []string{"-d", "-c"}, []string{"-r"}},
	{regexp.MustCompile(`^(ba|da|k|z)?sh$`), []string{"-o"}, []string{"-c"}},
}

// scripts are names that may stand in a sentence.
var scripts = regexp.MustCompile(`^\w[\w.-]{0,39}$`)

// Script is the file, module or class that an interpreter runs, by the base name in its command line: report.py of
// python3 /opt/report.py. "": the program is none of the interpreters that are known, or runs no file.
func Script(pid int, name string) string {
	for _, i := range interpreters {
		if i.name.MatchString(name) {
			if args, err := Words(pid, "cmdline"); err == nil && len(args) > 1 {
				return script(args[1:], i.takes, i.texts)
			}
		}
	}
	return ""
}

func script(args, takes, texts []string) string {
	for len(args) > 0 {
		switch a := args[0]; {
		case slices.Contains(texts, a):
			return ""
		case slices.Contains(takes, a) && len(args) > 1:
			args = args[2:]
		case strings.HasPrefix(a, "-"): // java -jar FILE and python3 -m MODULE name it next
			args = args[1:]
		default:
			return scripts.FindString(filepath.Base(a))
		}
	}
	return ""
}
