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
	line, _ := lineOf(p.t.Text(p.file("status")).Or(""), "Uid:")
	ids := strings.Fields(line) // real, effective, saved, of files
	if len(ids) < 2 || ids[1] != strconv.Itoa(at.owner) {
		return Unknown[string](p.file("status"), errors.New(name+" does not belong to the account that the process runs as"))
	}
	exe := p.file("exe")
	link, err := readPath(p.t, exe)
	if StateOf(err) == StateDenied && os.Geteuid() != 0 {
		return dir // whose writing harms this user alone
	}
	if err == nil && slices.Contains(p.programs, strings.TrimSuffix(path.Base(link), " (deleted)")) {
		if by, err := nodeOf(exe); err == nil && by.owner == 0 {
			return dir
		}
	}
	names, _ := p.t.Dir(name)
	if slices.ContainsFunc(names, p.engine.file.MatchString) {
		return dir
	}
	return Unknown[string](exe, errors.New("its program is not one that root installed, and "+name+" has none of its files"))
}
