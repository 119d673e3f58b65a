package host

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ServerSetting is a setting of a server that depends on the platform below it.
type ServerSetting struct {
	Name  string       `json:"name"`  // as the server calls it
	Value Fact[string] `json:"value"` // Default where nothing sets it
}

// Default is the value of a setting that nothing sets: that of the server's version holds.
const Default = "default"

// Setting is the value of a setting; nobody has looked for one that is not among the server's.
func (d *Database) Setting(name string) Fact[string] {
	for _, s := range d.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return Fact[string]{}
}

// Answered takes over what the server itself says of its settings, by name; source is where it said it. An empty value is that of
// no setting. What stands in its arguments stays, since that is where it has to be changed, and so does what MySQL has persisted
// and says, too.
func (d *Database) Answered(source string, values map[string]string) {
	for i := range d.Settings {
		s := &d.Settings[i]
		value, told := values[s.Name]
		typed := strings.HasSuffix(s.Value.Source, "/cmdline") && s.Value.Or(Default) != Default
		same := Persisted(s.Value) && strings.EqualFold(s.Value.Value, value)
		if told && !typed && !same {
			s.Value = Known(cmp.Or(value, Default), "", source)
		}
	}
}

// Persisted says that SET PERSIST of MySQL keeps a setting.
func Persisted(setting Fact[string]) bool {
	return setting.State == StateOK && strings.HasSuffix(setting.Source, "/mysqld-auto.cnf")
}

// platformSettings are the settings of each kind of server that meet the platform: how commits reach the
// device, huge pages, the size of the cache, and MongoDB's connections, which take mappings.
var platformSettings = map[string][]string{
	"postgresql": {"fsync", "wal_sync_method", "huge_pages", "shared_buffers"},
	"mariadb":    {"innodb_flush_method", "innodb_use_native_aio", "large_pages", "innodb_buffer_pool_size"},
	"mysql":      {"innodb_flush_method", "innodb_use_native_aio", "large_pages", "innodb_buffer_pool_size"},
	"sqlserver":  {"writethrough", "traceflag0", "traceflag1", "traceflag2"},
	"mongodb":    {"maxIncomingConnections"},
}

// readSettings reads them from configuration files. The command line wins, as it does for the server; over that, what
// MySQL persists.
func (p process) readSettings(db *Database) (list []ServerSetting) {
	c := p.serverConf(*db)
	source := cmp.Or(c.source, p.file("cmdline"))
	db.ConfDir = absentFact[string](source, "its configuration includes no directory of this host")
	if c.dir != "" && p.root == "" && !p.hidden {
		db.ConfDir = Known(c.dir, "", source)
	}
	kept, file, hidden := p.persisted(*db, c)
	for _, name := range platformSettings[db.Kind] {
		s := ServerSetting{Name: name, Value: Known(Default, "", source)}
		typed, value := p.typed(name), c.values[name]
		switch {
		case hidden != nil:
			s.Value = Unknown[string](file, hidden)
		case kept[name] != "":
			s.Value = Known(kept[name], "", file)
		case typed != "":
			s.Value = Known(typed, "", p.file("cmdline"))
		case c.denied != "":
			s.Value = Unknown[string](c.denied, c.why)
		case value != "":
			s.Value = Known(value, "", c.files[name])
		}
		list = append(list, s)
	}
	return list
}

// typed is an option of the command line; one without a value switches something on or off.
func (p process) typed(name string) string {
	if name == "maxIncomingConnections" {
		name = "maxConns"
	}
	if v := p.option(name); v != "" {
		return v
	}
	plain := strings.ReplaceAll(name, "_", "-")
	switch {
	case slices.Contains(p.args, "--"+name), slices.Contains(p.args, "--"+plain):
		return "on"
	case slices.Contains(p.args, "--skip-"+name), slices.Contains(p.args, "--skip-"+plain):
		return "off"
	}
	return ""
}

func (p process) serverConf(db Database) conf {
	switch db.Kind {
	case "postgresql":
		return p.postgresConf(db.DataDir)
	case "mariadb", "mysql":
		return p.mysqlConf()
	case "mongodb":
		return p.mongoSettings()
	case "sqlserver":
		return readConf(p, "control traceflag", "/var/opt/mssql/mssql.conf")
	}
	return conf{}
}

// postgresConf reads postgresql.conf with the files that it includes, and then what ALTER SYSTEM has written.
func (p process) postgresConf(data Fact[string]) conf {
	c := conf{values: map[string]string{}, files: map[string]string{}}
	dir, known := data.Get()
	files := []string{dir + "/postgresql.conf", dir + "/postgresql.auto.conf"}
	if f := p.option("config_file"); path.IsAbs(f) {
		files[0] = p.seen(f)
	}
	if !known {
		files, c.denied, c.why = files[:0], data.Source, errDenied
	}
	for left := confFiles; len(files) > 0 && left > 0; left-- {
		file := files[0]
		own, inView := viewOf(p.t, file)
		real, err := own.resolve(inView)
		var b []byte
		if err == nil {
			b, err = p.t.keeping(postgresLines).Read(own.root + real)
		}
		c.miss(file, err)
		var included []string
		for line := range strings.Lines(string(b)) {
			name, value := postgresLine(line)
			at := value
			if !path.IsAbs(at) {
				at = path.Join(path.Dir(file), value)
			} else {
				at = p.seen(at)
			}
			switch name {
			case "":
			case "include", "include_if_exists":
				included = append(included, at)
			case "include_dir":
				names, _ := p.t.Dir(at)
				slices.Sort(names)
				for _, n := range names {
					if strings.HasSuffix(n, ".conf") && n[0] != '.' {
						included = append(included, at+"/"+n)
					}
				}
			default:
				c.values[name], c.files[name], c.source = value, file, file
			}
		}
		files = append(included, files[1:]...)
	}
	return c
}

// postgresLine splits a line such as "fsync = on  # comment", whose equals sign may be missing.
func postgresLine(line string) (name, value string) {
	m := postgresRE.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	if m[2] != "" {
		return strings.ToLower(m[1]), m[2]
	}
	return strings.ToLower(m[1]), m[3]
}

var postgresRE = regexp.MustCompile(`(?i)^\s*(include(?:_dir|_if_exists)?|fsync|wal_sync_method|huge_pages|shared_buffers)\s*(?:=|\s)\s*(?:'([^']*)'|([^\s#']+))`)

// postgresLines leaves of a configuration the lines that are read. Others may hold passwords.
func postgresLines(data []byte) []byte {
	var kept []string
	for line := range strings.Lines(string(data)) {
		if postgresRE.MatchString(line) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return []byte(strings.Join(kept, "\n"))
}
