package host

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
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

// Answered takes over what the server itself says of its settings, by name; source is where it said it. An empty value
// is that of no setting. What stands in its arguments stays, since that is where it has to be changed, and so does
// what MySQL has persisted and says, too.
func (d *Database) Answered(source string, values map[string]string) {
	for i := range d.Settings {
		s := &d.Settings[i]
		value, told := values[s.Name]
		typed := strings.HasSuffix(s.Value.Source, "/cmdline") && s.Value.Or(Default) != Default
		same := Persisted(s.Value) && strings.EqualFold(s.Value.Value, value)
		if told && !typed && !same {
			setting, _ := settingOf(d.Kind, s.Name)
			s.Value = setting.read(Known(cmp.Or(value, Default), "", source))
		}
	}
}

// Persisted says that SET PERSIST of MySQL keeps a setting.
func Persisted(setting Fact[string]) bool {
	return setting.State == StateOK && strings.HasSuffix(setting.Source, "/mysqld-auto.cnf")
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
	for _, s := range settingsOf(db.Kind, c) {
		value := c.value(s.name)
		switch {
		case hidden != nil:
			value = Unknown[string](file, hidden)
		case kept[s.name] != "":
			value = Known(kept[s.name], "", file)
		case value.State == StateAbsent:
			value = Known(Default, "", source)
		case s.name == "log_bin" && value.State == StateOK: // whose value is a name
			value.Value = map[bool]string{true: "OFF", false: "ON"}[value.Value == switchedOff]
		}
		list = append(list, ServerSetting{Name: s.name, Value: s.read(value)})
	}
	return list
}

// settingsOf are the settings of a kind of server. SQL Server's trace flags have any number.
func settingsOf(kind string, c conf) []platformSetting {
	list := slices.Clone(platformSettings[kind])
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		if _, is := settingOf(kind, name); kind == "sqlserver" && !is && strings.HasPrefix(name, "traceflag") {
			list = append(list, platformSetting{name: name})
		}
	}
	return list
}

func (p process) serverConf(db Database) conf {
	switch db.Kind {
	case "postgresql":
		return p.postgresConf(db.DataDir)
	case "mariadb", "mysql":
		return p.mysqlConf(db.Version)
	case "mongodb":
		return p.mongoSettings()
	case "sqlserver":
		c := readConf(p, "control traceflag", "/var/opt/mssql/mssql.conf")
		for i, arg := range p.args[1:] { // -T3979
			if flag, ok := strings.CutPrefix(strings.ToUpper(arg), "-T"); ok && isNumber(flag) {
				c.set("traceflag-"+strconv.Itoa(i), flag, p.file("cmdline"))
			}
		}
		return c
	}
	return conf{}
}
