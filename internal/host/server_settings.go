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

// platformSetting is a setting of a server that meets the platform, and how the server reads its value: as a word of
// its own list. nil: any text. A value that the server would not take is not known.
type platformSetting struct {
	name  string
	takes func(string) (word string, ok bool)
}

// platformSettings are those of each kind of server: how commits reach the device, huge pages, the size of the cache,
// and MongoDB's connections, which take mappings.
var platformSettings = map[string][]platformSetting{
	"postgresql": {{"fsync", pgSwitch}, {"synchronous_commit",
		pgWord("local", "remote_write", "remote_apply", "on", "off")},
		{"full_page_writes", pgSwitch}, {"wal_sync_method",
			pgWord("fsync", "fdatasync", "open_sync", "open_datasync", "fsync_writethrough")},
		{"huge_pages", pgWord("on", "off", "try")}, {"shared_buffers", nil}},
	"mariadb": append([]platformSetting{{"innodb_data_file_buffering", mySwitch}, {"innodb_log_file_buffering", mySwitch},
		{"debug_no_sync", mySwitch}}, innodb...),
	"mysql":     innodb,
	"sqlserver": {{"writethrough", oneWord("0", "1")}, {"traceflag0", nil}, {"traceflag1", nil}, {"traceflag2", nil}},
	"mongodb":   {{"maxIncomingConnections", nil}},
}

var innodb = []platformSetting{
	{"innodb_flush_method", myWord([]string{"fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"},
		"ALL_O_DIRECT")}, // Percona's, whose number is not known
	{"innodb_use_native_aio", mySwitch}, {"large_pages", mySwitch}, {"innodb_buffer_pool_size", nil},
	{"innodb_flush_log_at_trx_commit", myNumber}, {"log_bin", oneWord("OFF", "ON")}, {"sync_binlog", myNumber},
	{"innodb_doublewrite", doublewrite},
}

func settingOf(kind, name string) (platformSetting, bool) {
	list := platformSettings[kind]
	i := slices.IndexFunc(list, func(s platformSetting) bool { return s.name == name })
	if i < 0 {
		return platformSetting{name: name}, false
	}
	return list[i], true
}

// read is a value as the server takes it.
func (s platformSetting) read(value Fact[string]) Fact[string] {
	text, known := value.Get()
	if !known || s.takes == nil || text == Default {
		return value
	}
	word, ok := s.takes(strings.TrimSpace(text))
	if !ok {
		return Fact[string]{Source: value.Source, State: StateError,
			Reason: "hostlab does not know the value " + clip(text) + " of " + s.name + ": ask the server for it by SHOW"}
	}
	value.Value = word
	return value
}

// oneWord takes some words, in any case.
func oneWord(list ...string) func(string) (string, bool) {
	return func(s string) (string, bool) {
		i := slices.IndexFunc(list, func(w string) bool { return strings.EqualFold(w, s) })
		if i < 0 {
			return "", false
		}
		return list[i], true
	}
}

// beginning finds the only word that begins so, in any case, or the one that is just that.
func beginning(list []string, s string) (word string, ok bool) {
	for _, w := range list {
		switch {
		case strings.EqualFold(w, s):
			return w, true
		case s != "" && len(s) < len(w) && strings.EqualFold(w[:len(s)], s):
			word, ok = w, word == ""
		}
	}
	return word, ok
}

// pgSwitch is a boolean of PostgreSQL: the beginning of true, false, yes, no, on or off, if only one begins so; or 1
// or 0 (parse_bool_with_len in utils/adt/bool.c, PostgreSQL 17).
func pgSwitch(s string) (string, bool) {
	on := map[string]string{"true": "on", "yes": "on", "on": "on", "1": "on", "false": "off", "no": "off", "off": "off",
		"0": "off"}
	word, ok := beginning([]string{"true", "false", "yes", "no", "on", "off", "1", "0"}, s)
	return on[word], ok
}

// pgWord is an enum of PostgreSQL: one of its words, in any case (config_enum_lookup_by_name in utils/misc/guc.c).
// Those that have on and off take the other whole words of a switch, too.
func pgWord(list ...string) func(string) (string, bool) {
	return func(s string) (string, bool) {
		if word, ok := oneWord(list...)(s); ok {
			return word, true
		}
		if _, whole := oneWord("true", "false", "yes", "no", "1", "0")(s); whole && slices.Contains(list, "off") {
			return pgSwitch(s)
		}
		return "", false
	}
}

// mySwitch is a boolean of MySQL and MariaDB (get_bool_argument in mysys/my_getopt.c).
func mySwitch(s string) (string, bool) {
	switch strings.ToLower(s) {
	case "1", "on", "true":
		return "ON", true
	case "0", "off", "false":
		return "OFF", true
	}
	return "", false
}

// myWord is an enum of MySQL and MariaDB: a word, or its beginning, if only one begins so; or its number (find_type in
// mysys/typelib.c, and GET_ENUM in my_getopt.c).
func myWord(numbered []string, others ...string) func(string) (string, bool) {
	return func(s string) (string, bool) {
		if word, ok := beginning(append(numbered[:len(numbered):len(numbered)], others...), s); ok {
			return word, true
		}
		if n, err := strconv.ParseUint(s, 10, 8); err == nil && int(n) < len(numbered) {
			return numbered[n], true
		}
		return "", false
	}
}

// doublewrite is a boolean, or a word of MySQL 8.0.30 or MariaDB 11.8.
func doublewrite(s string) (string, bool) {
	if word, ok := mySwitch(s); ok {
		return word, true
	}
	return myWord(nil, "ON", "OFF", "DETECT_ONLY", "DETECT_AND_RECOVER", "fast")(s)
}

// myNumber is a number with a unit behind it: 1, 1K (eval_num_suffix in my_getopt.c).
func myNumber(s string) (string, bool) {
	shift := 0
	if n := len(s); n > 1 {
		if i := strings.IndexByte("kmgtpe", s[n-1]|0x20); i >= 0 {
			s, shift = s[:n-1], 10*(i+1)
		}
	}
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil || v<<shift>>shift != v {
		return "", false
	}
	return strconv.FormatUint(v<<shift, 10), true
}
