package host

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// genuine are the names of a server's program, and a file that only its kind keeps beside
// its log or its data.
var genuine = map[string]struct {
	programs []string
	file     *regexp.Regexp
}{
	"postgresql": {[]string{"postgres", "postmaster"}, regexp.MustCompile(`^([0-9A-F]{24}|PG_VERSION)$`)},
	"mariadb":    {[]string{"mariadbd", "mysqld"}, regexp.MustCompile(`^(ib_logfile\d+|#ib_redo\d+|ibdata1)$`)},
	"mysql":      {[]string{"mysqld", "mariadbd"}, regexp.MustCompile(`^(ib_logfile\d+|#ib_redo\d+|ibdata1)$`)},
	"oracle":     {[]string{"oracle"}, regexp.MustCompile(`(?i)redo|\.log$`)},
	"hana":       {[]string{"hdbindexserver"}, regexp.MustCompile(`^(logsegment|datavolume)_`)},
	"sqlserver":  {[]string{"sqlservr"}, regexp.MustCompile(`(?i)\.[lm]df$`)},
}

// believed is a server's directory. Any user may start a program of a server's name in any
// directory, and root writes to what is taken for the log: so the directory belongs to the
// account of the process, and its program is one that root installed, or the directory has a
// server's files. A recording tells no owners, and nothing is written there.
func (s server) believed(dir Fact[string]) Fact[string] {
	name, known := dir.Get()
	if !known || !s.t.Live() {
		return dir
	}
	s.t = s.t.quiet()
	owner, err := ownerOf(name)
	if err != nil {
		return dir // what wants to use it says why
	}
	line, _ := lineOf(s.t.Text(s.file("status")).Or(""), "Uid:")
	ids := strings.Fields(line) // real, effective, saved, of files
	if len(ids) < 2 || ids[1] != owner {
		return doubted(s.file("status"), name+" does not belong to the account that the process runs as")
	}
	kind := genuine[s.kind]
	exe := s.file("exe")
	link, err := readPath(s.t, exe)
	if StateOf(err) == StateDenied && os.Geteuid() != 0 {
		return dir // whose writing harms this user alone
	}
	if err == nil && slices.Contains(kind.programs, strings.TrimSuffix(path.Base(link), " (deleted)")) {
		if by, err := ownerOf(exe); err == nil && by == "0" {
			return dir
		}
	}
	names, _ := s.t.Dir(name)
	if slices.ContainsFunc(names, kind.file.MatchString) {
		return dir
	}
	return doubted(exe, "its program is not one that root installed, and "+name+" has none of its files")
}

func doubted(source, why string) Fact[string] {
	return Fact[string]{Source: source, State: StateError, Reason: why}
}
