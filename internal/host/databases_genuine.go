package host

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// believed is a server's directory. Any user may start a program of a server's name in any
// directory, and root writes to what is taken for the log: so the directory belongs to the
// account of the process, and its program is one that root installed, or the directory has a
// server's files. A recording tells no owners, and nothing is written there.
func (p process) believed(dir Fact[string]) Fact[string] {
	name, known := dir.Get()
	if !known || !p.t.Live() {
		return dir
	}
	p.t = p.t.quiet()
	at, err := nodeOf(name)
	if err != nil {
		return dir // what wants to use it says why
	}
	if EffectiveUser(p.t.Text(p.file("status")).Or("")) != strconv.Itoa(at.owner) {
		return Unknown[string](p.file("status"), errors.New(name+" does not belong to the account that the process runs as"))
	}
	exe := p.file("exe")
	own, err := p.program()
	if StateOf(err) == StateDenied && os.Geteuid() != 0 {
		return dir // whose writing harms this user alone
	}
	if by, err := nodeOf(exe); own && err == nil && by.owner == 0 {
		return dir
	}
	names, _ := p.t.Dir(name)
	if slices.ContainsFunc(names, p.engine.file.MatchString) {
		return dir
	}
	return Unknown[string](exe, errors.New("its program is not one that root installed, and "+name+
		" has none of its files"))
}

// program says whether the process runs a program of its kind's name. The error is why that cannot be seen.
func (p process) program() (bool, error) {
	link, err := readPath(p.t.quiet(), p.file("exe"))
	return slices.Contains(p.programs, strings.TrimSuffix(path.Base(link), " (deleted)")), err
}

// posing reports a process that has only the name of a server: neither is its program one that root or the server's
// maker has installed, nor has any of its directories a server's files. Such a process is no server, and what is
// advised for one, such as that it is never killed, must not be for any program that a user starts. What cannot be
// seen is no reason to leave a server out.
func (p process) posing(db Database) bool {
	own, err := p.program()
	if !p.t.Live() || len(p.programs) == 0 || err != nil {
		return false
	}
	if by, err := nodeOf(p.file("exe")); own && (p.accounts || err != nil || by.owner == 0) {
		return false
	}
	return !slices.ContainsFunc([]Fact[string]{db.DataDir, db.LogDir}, func(dir Fact[string]) bool {
		return dir.State == StateOK || dir.State == StateDenied
	})
}

// EffectiveUser is the number of the user as whom a process acts, by its status in /proc; "": that does not tell it.
func EffectiveUser(status string) string {
	line, _ := lineOf(status, "Uid:")
	if ids := strings.Fields(line); len(ids) > 1 { // real, effective, saved, of files (proc_pid_status(5))
		return ids[1]
	}
	return ""
}
