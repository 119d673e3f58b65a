package command

import "hostlab/internal/lazyre"

// What programs say of a command line that is wrong: of options, those of GNU, BusyBox, Go, Python, Rust and Node; of
// files, the C library and Windows. What a server's socket lacks may be there a moment later.
var (
	wrongOption = lazyre.New(`(?im)^.*(?:\b(?:unrecogni[sz]ed|invalid|unknown|illegal|unexpected|bad) (?:[\w-]+ )?` +
		`(?:options?|flags?|switch|operand|subcommand)\b|\b(?:unrecogni[sz]ed|unexpected) arguments?\b|` +
		`\boption .*is unknown\b|flag provided but not defined|option (?:.* )?requires an argument).*$`)
	missingFile = lazyre.New(`(?i)no such file or directory|(?:command|program|executable) not found|: not found$|` +
		`cannot find the (?:file|path) specified|no module named|cannot find module`)
	ofServer = lazyre.New(`(?i)\b(?:connect\w*|socket|server)\b`)
)

// Exit statuses of a shell, and of env(1), nice(1) and others that start a program: it cannot be run, or is missing.
const (
	cannotRun = 126
	notFound  = 127
)

// mistake reports that a program's command line is wrong, so that the same one fails again. said is what it printed,
// line what people are shown of that; why is the line that says so.
func mistake(status int, said []byte, line string) (why string, wrong bool) {
	if status <= 0 { // it was ended
		return line, false
	}
	if option := wrongOption.FindString(string(said)); option != "" {
		return usefulLine([]byte(option)), true
	}
	missing := missingFile.MatchString(line) && !ofServer.MatchString(line)
	return line, missing || status == cannotRun || status == notFound
}
