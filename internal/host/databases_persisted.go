package host

import (
	"encoding/json"
	"slices"
	"strings"
)

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
