package check

import (
	"path"
	"slices"
	"strings"

	"hostlab/internal/host"
)

// A finding of SRV-006 is high where commits may be lost, and medium where they only cost more.

func lookSync(f *host.Facts, _ Role) (v view) {
	lost := false
	for _, d := range of(engines("postgresql", "mariadb", "mysql", "sqlserver"), f.Databases) {
		var rs []reading
		switch d.Kind {
		case "postgresql":
			rs = []reading{setTo(d, "fsync", func(s string) bool { return !isOff(s) }),
				ofSetting(aside(d.Setting("wal_sync_method")), "wal_sync_method")}
			fix := remedy{alterSystem(d, "fsync = on")}
			if strings.HasSuffix(d.Setting("fsync").Source, "/cmdline") {
				fix = remedy{remark("it is in the server's arguments, which win over its files: take it out where the server is started")}
			}
			lost = v.note(d, rs[0], "fsync is off: a crash of the machine may destroy the cluster", fix) || lost
		case "sqlserver":
			r := forcedFlush(d)
			rs = []reading{r}
			lost = v.note(d, r, "trace flag 3979 takes the forced flush away, and writethrough is not set",
				remedy{script("sudo /opt/mssql/bin/mssql-conf set control.writethrough 1").noting("with a device that has forced unit " +
					"access; else drop the trace flag"),
					script("sudo systemctl restart mssql-server")}) || lost
		default:
			method := flushMethod(d)
			native := setTo(d, "innodb_use_native_aio", func(s string) bool { return !isOff(s) })
			rs = []reading{method, native}
			unsafe := method.bad && slices.Contains([]string{"nosync", "littlesync"}, strings.ToLower(method.value))
			lost = v.note(d, method, map[bool]string{true: "InnoDB flushes nothing: a crash of the machine may lose commits and " +
				"destroy tables",
				false: "InnoDB writes its data through the page cache"}[unsafe],
				mysqlKeeps(d, "innodb_flush_method", "O_DIRECT").and(remedy{restart})) && unsafe || lost
			v.note(d, native, "InnoDB does not use the kernel's asynchronous I/O",
				mysqlKeeps(d, "innodb_use_native_aio", "ON").and(remedy{restart}))
		}
		v.readings = append(v.readings, rs...)
	}
	if !lost {
		return v.atMost(Medium)
	}
	return v
}

// note adds the words and the remedy of a bad reading; it says whether this one is bad.
func (v *view) note(d host.Database, r reading, what string, fix remedy) bool {
	if r.bad {
		if v.bad != "" {
			v.bad += "; "
		}
		v.bad, v.fix = v.bad+nameOf(d)+": "+what, v.fix.and(fix)
	}
	return r.bad
}

// mysqlKeeps writes an option into a file of its own, in the directory whose files the server reads last. It says what to do by
// hand where there is none, or where another file would win: one that is read later, or the server's arguments. What MySQL has
// persisted wins over all of them.
func mysqlKeeps(d host.Database, option, value string) remedy {
	now, line := d.Setting(option), option+"="+value
	dir, known := d.ConfDir.Get()
	file := path.Join(dir, "90-hostlab-"+option+".cnf")
	wins := now.Or(host.Default) == host.Default && !strings.HasSuffix(now.Source, "/cmdline") && now.State == host.StateOK ||
		path.Dir(now.Source) == dir && now.Source <= file
	switch {
	case host.Persisted(now):
		return remedy{run("mysql", "-e", "set persist_only "+option+" = "+
			value).noting("as an account that may: SET PERSIST keeps it in " +
			"mysqld-auto.cnf, which wins over all files and arguments")}
	case strings.HasSuffix(now.Source, "/cmdline") && now.Or(host.Default) != host.Default:
		return remedy{remark(option + " is in the server's arguments, which win over its files: change it to " + value +
			" where the server is started")}
	case strings.HasPrefix(now.Source, "/") && now.Or(host.Default) != host.Default && !wins: // and not as the server said itself
		// Not by its name: a remedy is copied into a shell.
		return remedy{remark("change " + option + " to " + value + " in the file that is named above, which sets it")}
	case !known || !wins:
		return remedy{remark(line + " below [mysqld] in the server's configuration")}
	}
	return remedy{{format: `[mysqld]\n%s\n`, words: []string{line}, into: []string{file}}}
}

func isOff(s string) bool {
	return slices.Contains([]string{"off", "0", "false", "no", "of", "f", "n"}, strings.ToLower(s))
}

// setTo reads a setting whose default is good.
func setTo(d host.Database, name string, good func(string) bool) reading {
	r := read(d.Setting(name), func(s string) bool { return s == host.Default || good(s) })
	return ofSetting(r, name)
}

// ofSetting puts a setting's name after the file that has it.
func ofSetting(r reading, setting string) reading {
	r.path += " " + setting
	return r
}

// defaultDirect is from which version on InnoDB goes around the page cache by default.
var defaultDirect = []Engine{{Kind: "mariadb", From: "10.6"}, {Kind: "mysql", From: "8.4"}}

// flushMethod reads InnoDB's method; where nothing sets it, the version's default decides.
func flushMethod(d host.Database) reading {
	s := d.Setting("innodb_flush_method")
	r := read(s, func(m string) bool { return strings.HasPrefix(strings.ToUpper(m), "O_DIRECT") })
	r.path += " innodb_flush_method"
	if s.Or("") != host.Default {
		return r
	}
	for _, e := range defaultDirect {
		switch yes, known := e.is(d); {
		case !known:
			return whole(d.Version)
		case yes:
			r.value, r.bad = "default, O_DIRECT in this version", false
		case d.Kind == e.Kind:
			r.value = "default, fsync in this version"
		}
	}
	return r
}

// forcedFlush reads whether SQL Server flushes what it has written: by default it does, which trace flag 3979
// takes away for devices with forced unit access, for which writethrough stands in.
func forcedFlush(d host.Database) reading {
	for _, name := range []string{"traceflag0", "traceflag1", "traceflag2"} {
		flag := setTo(d, name, func(s string) bool { return s != "3979" || d.Setting("writethrough").Or("0") == "1" })
		if flag.bad || flag.unknown() {
			return flag
		}
	}
	return setTo(d, "writethrough", func(string) bool { return true })
}
