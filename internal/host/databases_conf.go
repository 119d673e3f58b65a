package host

import (
	"path"
	"slices"
	"strings"
)

// conf holds the settings of some sections of INI files, the last one read of
// each name. Names have underscores where the file has dashes.
type conf struct {
	source string // the last file that has a value
	values map[string]string
	files  map[string]string // that have the values
	denied string            // the first file that cannot be read, whose settings may differ
	why    error             // it cannot
	dir    string            // the last directory that is included
}

// or is the first of some directories that it names, or that hold where it names none. Where a
// part of it may not be read, none is known, since that may name another.
func (c conf) or(dirs ...Fact[string]) Fact[string] {
	if c.denied != "" {
		return Unknown[string](c.denied, c.why)
	}
	return firstKnown(dirs...)
}

// miss notes a file that is there and cannot be read.
func (c *conf) miss(file string, err error) {
	if err != nil && StateOf(err) != StateAbsent && c.denied == "" {
		c.denied, c.why = file, adviseDenied(bare(err))
	}
}

// confFiles bounds how many files an !includedir can make us read.
const confFiles = 64

// mysqlConf reads the option files of MySQL and MariaDB in their order, each
// later one over the earlier. It tells of a file that may not be read, so that no
// default is taken for what that file may say otherwise.
func (p process) mysqlConf() conf {
	files := []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}
	if f := p.option("defaults_file"); f != "" {
		files = []string{f}
	} else if f := p.option("defaults_extra_file"); f != "" {
		files = append(files, f)
	}
	if slices.Contains(p.args, "--no-defaults") {
		files = nil
	}
	// Sections for one version are written like [mariadb-10.11].
	return readConf(p, "mysqld server mariadb mariadbd", files...)
}

// hanaConf reads global.ini of the system that the server belongs to. If the
// server's files cannot be seen, the only system of the host is the one.
func (p process) hanaConf() conf {
	const dir = "/usr/sap"
	sid := p.environ("SAPSYSTEMNAME")
	if sid == "" {
		var systems []string
		names, _ := p.t.Dir(p.root + dir)
		for _, n := range names {
			if len(n) == 3 && p.t.Exists(p.root+dir+"/"+n+"/SYS/global/hdb") {
				systems = append(systems, n)
			}
		}
		if len(systems) != 1 {
			return conf{}
		}
		sid = systems[0]
	}
	return readConf(p, "persistence", dir+"/"+sid+"/SYS/global/hdb/custom/config/global.ini")
}

// readConf reads the named sections of INI files, as the server sees them.
func readConf(p process, sections string, files ...string) conf {
	c := conf{values: map[string]string{}, files: map[string]string{}}
	for left := confFiles; len(files) > 0 && left > 0; left-- {
		file := files[0]
		files = files[1:]
		if !path.IsAbs(file) {
			continue
		}
		own, inView := viewOf(p.t, p.seen(file))
		real, err := own.resolve(inView)
		var b []byte
		if err == nil {
			b, err = p.t.keeping(confLines).Read(own.root + real)
		}
		c.miss(file, err)
		values, includes := parseConf(string(b), strings.Fields(sections))
		for k, v := range values {
			c.values[k], c.files[k], c.source = v, file, file
		}
		var included []string
		for _, line := range includes {
			if f, ok := strings.CutPrefix(line, "!include "); ok {
				included = append(included, strings.TrimSpace(f))
			} else if dir, ok := strings.CutPrefix(line, "!includedir "); ok {
				dir = strings.TrimSpace(dir)
				if path.IsAbs(dir) {
					c.dir = path.Clean(dir)
				}
				names, _ := p.t.Dir(p.seen(dir))
				slices.Sort(names)
				for _, n := range slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".cnf") }) {
					included = append(included, path.Join(dir, n))
				}
			}
		}
		files = append(included, files...)
	}
	return c
}

// parseConf reads the values of the wanted sections, and the lines that include
// other files, which may stand anywhere.
func parseConf(text string, wanted []string) (values map[string]string, includes []string) {
	values = map[string]string{}
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '!':
			includes = append(includes, line)
		case line[0] == '[':
			name, _, _ := strings.Cut(strings.Trim(line, "[] "), "-")
			in = slices.Contains(wanted, name)
		case in:
			k, v, has := strings.Cut(line, "=")
			if !has { // an option alone switches something on
				v = "on"
			}
			k = strings.ReplaceAll(strings.TrimSpace(k), "-", "_")
			if v, _, _ = strings.Cut(v, " #"); k != "" {
				values[k] = strings.Trim(strings.TrimSpace(v), `"'`)
			}
		}
	}
	return values, includes
}
