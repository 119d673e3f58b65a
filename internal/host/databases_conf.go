package host

import (
	"encoding/json"
	"slices"
	"strings"

	"hostlab/internal/trust"
)

// conf holds the settings of some sections of INI files, the last one read of
// each name. Names have underscores where the file has dashes.
type conf struct {
	source string // the last file that has a value
	values map[string]string
	files  map[string]string       // that have the values
	denied string                  // the first file that cannot be read, whose settings may differ
	why    error                   // it cannot
	dir    string                  // the last directory that is included
	open   map[string]Fact[string] // settings of which it is not known whether the server reads them so
}

func newConf() conf {
	return conf{values: map[string]string{}, files: map[string]string{}, open: map[string]Fact[string]{}}
}

// set takes over a setting that the server reads.
func (c conf) set(name, value, file string) {
	c.values[name], c.files[name] = value, file
	delete(c.open, name)
}

// value is a setting as it is given; absent where nothing gives it. What stands in arguments wins over any file.
func (c conf) value(name string) Fact[string] {
	value, given := c.values[name]
	switch open, is := c.open[name]; {
	case is:
		return open
	case given && strings.HasSuffix(c.files[name], "/cmdline"):
		return Known(value, "", c.files[name])
	case c.denied != "":
		return Unknown[string](c.denied, c.why)
	case given:
		return Known(value, "", c.files[name])
	}
	return absentFact[string](c.source, "nothing sets it")
}

// miss notes a file that is there and cannot be read.
func (c *conf) miss(file string, err error) {
	if err != nil && StateOf(err) != StateAbsent && c.denied == "" {
		c.denied, c.why = file, adviseDenied(trust.Bare(err))
	}
}

// confFiles bounds how many files an !includedir can make us read.
const confFiles = 64

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

// readConf reads the named sections of an INI file, as the server sees it.
func readConf(p process, sections, file string) conf {
	c := newConf()
	if p.hidden { // its files are not those that are here
		c.denied, c.why = p.file("root"), errDenied
		return c
	}
	own, inView := viewOf(p.t, p.seen(file))
	real, err := own.resolve(inView)
	var b []byte
	if err == nil {
		b, err = p.t.keeping(confLines).Read(own.root + real)
	}
	c.miss(file, err)
	for k, v := range parseConf(string(b), strings.Fields(sections)) {
		c.set(k, v, file)
		c.source = file
	}
	return c
}

// parseConf reads the values of the wanted sections.
func parseConf(text string, wanted []string) map[string]string {
	values := map[string]string{}
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			in = slices.Contains(wanted, strings.Trim(line, "[] "))
		case in:
			k, v, _ := strings.Cut(line, "=")
			k = strings.ReplaceAll(strings.TrimSpace(k), "-", "_")
			if v, _, _ = strings.Cut(v, " #"); k != "" {
				values[k] = strings.Trim(strings.TrimSpace(v), `"'`)
			}
		}
	}
	return values
}

// persisted reads mysqld-auto.cnf, in which SET PERSIST of MySQL 8.0 keeps settings. The server takes them over those
// of option files and of its arguments (MySQL's WL#8688, R4), except where either says that it shall not.
func (p process) persisted(db Database, c conf) (values map[string]string, file string, err error) {
	load, ok := mySwitch(c.value("persisted_globals_load").Or("on"))
	older := strings.HasPrefix(db.Version.Or(""), "5.") || strings.HasPrefix(db.Version.Or(""), "10.") // MariaDB's mysqld
	if db.Kind != "mysql" || older || slices.Contains(p.args, "--no-defaults") || ok && load == "OFF" {
		return nil, "", nil
	}
	dir, known := db.DataDir.Get()
	if !known {
		return nil, db.DataDir.Source, errDenied
	}
	file = dir + "/mysqld-auto.cnf"
	b, err := p.t.keeping(persistedLines).Read(file)
	if StateOf(err) == StateAbsent {
		return nil, "", nil
	}
	if err == nil {
		values, err = parsePersisted(b)
	}
	return values, file, err
}

// parsePersisted finds the settings that are read, at whatever depth: until 8.0.29 they stood below mysql_server, and
// now below names such as mysql_static_variables.
func parsePersisted(b []byte) (map[string]string, error) {
	values := map[string]string{}
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		for name, below := range node {
			below, ok := below.(map[string]any)
			if !ok {
				continue
			}
			_, wanted := settingOf("mysql", name)
			if value, is := below["Value"].(string); is && wanted {
				values[name] = value
			} else if !is {
				walk(below)
			}
		}
	}
	var all map[string]any
	err := json.Unmarshal(b, &all)
	walk(all)
	return values, err
}

// persistedLines leaves the settings that are read. Others may hold passwords, and all name who set them.
func persistedLines(data []byte) []byte {
	values, err := parsePersisted(data)
	if err != nil {
		return []byte("{") // which cannot be read either
	}
	kept := map[string]map[string]string{}
	for name, value := range values {
		kept[name] = map[string]string{"Value": value}
	}
	b, _ := json.Marshal(map[string]any{"mysql_server": kept}) // strings alone
	return b
}
