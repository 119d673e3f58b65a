package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreters are programs whose name does not say what they do, with the options that take the next word, and the letters of those after
// which a program's text follows, or no file at all.
var interpreters = []struct {
	name  *regexp.Regexp
	takes []string
	texts string
}{
	{regexp.MustCompile(`^python[\d.]*$`), []string{"-W", "-X"}, "c"},
	{regexp.MustCompile(`^java$`), []string{"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"}, ""},
	{regexp.MustCompile(`^node$`), []string{"-r", "--require", "--import", "--loader"}, "ep"},
	{regexp.MustCompile(`^(ruby|perl)$`), []string{"-r", "-I"}, "eE"},
	{regexp.MustCompile(`^php[\d.]*$`), []string{"-d", "-c"}, "r"},
	{regexp.MustCompile(`^(ba|da|k|z)?sh$`), []string{"-o"}, "cs"},
}

// scripts are paths whose base names may stand in a sentence: an argument that is more than a path may hold a secret.
var scripts = regexp.MustCompile(`^[\w./-]*?(\w[\w.-]{0,39})$`)

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

func script(args, takes []string, texts string) string {
	for len(args) > 0 {
		switch a := args[0]; {
		case slices.Contains(takes, a) && len(args) > 1:
			args = args[2:]
		case a == "-", a == "--", a == "--eval", a == "--print",
			strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && texts != "" && strings.ContainsAny(a, texts):
			return ""
		case strings.HasPrefix(a, "-"): // java -jar FILE and python3 -m MODULE name it next
			args = args[1:]
		case strings.HasPrefix(a, "/dev/fd/"), strings.HasPrefix(a, "/proc/self/fd/"): // whose names are numbers
			return ""
		default:
			if scripts.MatchString(a) {
				return scripts.FindStringSubmatch(filepath.Base(a))[1]
			}
			return ""
		}
	}
	return ""
}

// mostSaid is more than the environment or the command line of nearly any program. mostGiven is what execve(2) takes
// of both at most (fs/exec.c: three quarters of 8 MiB).
const (
	mostSaid  = 128 << 10
	mostGiven = 6 << 20
)

// errLong is of a process whose memory says more: it may name any of it as its environment (PR_SET_MM_MAP in
// prctl(2)), a mapping of gigabytes, too.
var errLong = errors.New("longer than the text of a program is")

// Words are the strings of a process's environ or cmdline. What they say is the process's own doing.
func Words(pid int, file string) ([]string, error) {
	return words(fmt.Sprintf("/proc/%d/%s", pid, file), mostSaid)
}

func words(name string, most int64) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > most:
		return nil, fmt.Errorf("%s: %w", name, errLong)
	}
	return strings.Split(string(b), "\x00"), nil
}
