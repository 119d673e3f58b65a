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
		var faults []fault
		switch d.Kind {
		case "postgresql":
			faults = postgresFaults(f, d)
		case "sqlserver":
			faults = []fault{{forcedFlush(d), "trace flag 3979 takes the forced flush away, and writethrough is not set",
				remedy{script(
					"sudo /opt/mssql/bin/mssql-conf set control.writethrough 1").noting("with a device that has forced unit " +
					"access; else drop the trace flag"),
					script("sudo systemctl restart mssql-server")}, true}}
		default:
			faults = innodbFaults(f, d)
		}
		for _, x := range append(faults, preloaded(d)...) {
			v.add(d, x.reading)
			lost = v.note(d, x.reading, x.what, x.fix) && x.loses || lost
		}
	}
	if !lost {
		return v.atMost(Medium)
	}
	return v
}

// fault is a setting that keeps commits from the device, or has them cost more.
type fault struct {
	reading reading
	what    string
	fix     remedy
	loses   bool // what was confirmed
}

// postgresFaults are those of PostgreSQL.
func postgresFaults(f *host.Facts, d host.Database) (list []fault) {
	const torn = "full_page_writes is off: a crash may leave pages half written"
	for _, s := range []struct {
		name, what string
		good, bad  []string
	}{
		{"fsync", "fsync is off: a crash of the machine may destroy the cluster", []string{"on"}, []string{"off"}},
		{"synchronous_commit", "synchronous_commit is off: a crash loses the last commits that were confirmed",
			[]string{"on", "local", "remote_write", "remote_apply"}, []string{"off"}},
		{"full_page_writes", torn, []string{"on"}, []string{"off"}},
		{"wal_sync_method", "", []string{"fsync", "fdatasync", "open_sync", "open_datasync", "fsync_writethrough"}, nil},
	} {
		r := word(d, s.name, s.good, s.bad)
		if s.what == torn {
			r.context = r.bad && wholePages(f, d)
			r.bad = r.bad && !r.context
		}
		fix := remedy{alterSystem(d, s.name+" = on")}
		if strings.HasSuffix(d.Setting(s.name).Source, "/cmdline") {
			fix = remedy{remark("it is in the server's arguments, which win over its files: take it out where the server is " +
				"started")}
		}
		list = append(list, fault{r, s.what, fix, true})
	}
	return list
}

// innodbFaults are those of MySQL and MariaDB.
func innodbFaults(f *host.Facts, d host.Database) []fault {
	method := flushMethod(d)
	nothing := slices.Contains([]string{"nosync", "littlesync"}, method.value)
	keeps := func(option, value string) remedy { return mysqlKeeps(d, option, value).and(remedy{restart}) }
	torn := word(d, "innodb_doublewrite", []string{"ON", "DETECT_AND_RECOVER", "fast"}, []string{"OFF", "DETECT_ONLY"})
	torn.context = torn.bad && wholePages(f, d)
	torn.bad = torn.bad && !torn.context
	good := []string{"1"}
	if isMaria(d) {
		good = append(good, "3") // both the prepared transaction and the commit are flushed
	}
	return []fault{
		{method, map[bool]string{true: "InnoDB flushes nothing: a crash of the machine may lose commits and destroy tables",
			false: "InnoDB writes its data through the page cache"}[nothing], keeps("innodb_flush_method", "O_DIRECT"), nothing},
		{word(d, "innodb_data_file_buffering", []string{"OFF"}, []string{"ON"}),
			"InnoDB writes its data through the page cache",
			keeps("innodb_data_file_buffering", "OFF"), false},
		{word(d, "innodb_use_native_aio", []string{"ON"}, []string{"OFF"}),
			"InnoDB does not use the kernel's asynchronous I/O",
			keeps("innodb_use_native_aio", "ON"), false},
		{word(d, "innodb_flush_log_at_trx_commit", good, []string{"0", "2"}), "commits are not flushed, but once a second " +
			"(innodb_flush_log_at_trx_commit): a crash of the machine loses the last of them",
			keeps("innodb_flush_log_at_trx_commit", "1"), true},
		{syncBinlog(d), "commits do not wait for the binary log (sync_binlog): after a crash it may lack some that " +
			"replicas and backups need",
			keeps("sync_binlog", "1"), false},
		{torn, "innodb_doublewrite is off: a crash may leave pages half written", keeps("innodb_doublewrite", "ON"), true},
		{word(d, "debug_no_sync", []string{"OFF"}, []string{"ON"}), "debug_no_sync is set: the server flushes nothing",
			keeps("debug_no_sync", "OFF"), true},
	}
}

// preloaded finds a library that takes flushes away, such as libeatmydata.
func preloaded(d host.Database) []fault {
	if d.Preload.State != host.StateOK {
		return nil
	}
	r := read(d.Preload, func(list string) bool {
		return !strings.Contains(list, "eatmydata") && !strings.Contains(list, "nosync")
	})
	return []fault{{r, "a library that it is started with takes its flushes away",
		remedy{remark("start it without the library that is named above " +
			"(LD_PRELOAD in its unit or start script, /etc/ld.so.preload)")}, true}}
}

// wholePages reports a server whose data lie on a file system that writes pages whole or not at all.
func wholePages(f *host.Facts, d host.Database) bool {
	dir := d.DataDir.Or("")
	whole := func(s host.Storage) bool {
		return (s.Path == dir || strings.HasPrefix(s.Path, dir+"/")) && s.FSType.Or("") == "zfs"
	}
	return dir != "" && slices.ContainsFunc(slices.Concat(f.Data, f.Storage), whole) // data with the log are in Storage
}

// isMaria reports MariaDB, which before 10.5 runs under MySQL's name.
func isMaria(d host.Database) bool {
	return d.Kind == "mariadb" || d.Kind == "mysql" && strings.HasPrefix(d.Version.Or(""), "1")
}

// syncBinlog reads whether commits wait for the binary log, where the server keeps one. By default MySQL waits since
// 5.7, and MariaDB does not; MySQL keeps one by default since 8.0.
func syncBinlog(d host.Database) reading {
	keeps := d.Setting("log_bin")
	r := read(d.Setting("sync_binlog"), func(n string) bool { return n == "1" })
	r = ofSetting(r, "sync_binlog").unless(r.value == host.Default || strings.Trim(r.value, "0123456789") == "",
		tellOf(d, "sync_binlog"))
	v, known := d.Version.Get()
	if r.state == host.StateOK && r.value == host.Default {
		switch older := compareVersions(v, "5.7.7") < 0; {
		case isMaria(d):
			r.value = "default, 0"
		case known:
			r.value, r.bad = map[bool]string{true: "default, 0 in this version", false: "default, 1 in this version"}[older],
				older
		default:
			r.context = true
		}
	}
	on := keeps.Or("") == "ON" || keeps.Or("") == host.Default && !isMaria(d) && known && compareVersions(v, "8") >= 0
	if r.context = r.context || !on && !whole(keeps).unknown(); r.context {
		r.bad = false
	}
	return r
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

// mysqlKeeps writes an option into a file of its own, in the directory whose files the server reads last. It says what
// to do by hand where there is none, or where another file would win: one that is read later, or the server's
// arguments. What MySQL has persisted wins over all of them.
func mysqlKeeps(d host.Database, option, value string) remedy {
	now, line := d.Setting(option), option+"="+value
	dir, known := d.ConfDir.Get()
	file := path.Join(dir, "90-hostlab-"+option+".cnf")
	wins := now.Or(host.Default) == host.Default && !strings.HasSuffix(now.Source, "/cmdline") &&
		now.State == host.StateOK ||
		path.Dir(now.Source) == dir && now.Source <= file
	switch {
	case host.Persisted(now):
		return remedy{run("mysql", "-e", "set persist_only "+option+" = "+
			value).noting("as an account that may: SET PERSIST keeps it in " +
			"mysqld-auto.cnf, which wins over all files and arguments")}
	case strings.HasSuffix(now.Source, "/cmdline") && now.Or(host.Default) != host.Default:
		return remedy{remark(option + " is in the server's arguments, which win over its files: change it to " + value +
			" where the server is started")}
	case strings.HasPrefix(now.Source, "/") && now.Or(host.Default) != host.Default &&
		!wins: // and not as the server said itself
		// Not by its name: a remedy is copied into a shell.
		return remedy{remark("change " + option + " to " + value + " in the file that is named above, which sets it")}
	case !known || !wins:
		return remedy{remark(line + " below [mysqld] in the server's configuration")}
	}
	return remedy{{format: `[mysqld]\n%s\n`, words: []string{line}, into: []string{file}}}
}

// word judges a setting by the words that the server has for it; its default is good.
func word(d host.Database, name string, good, bad []string) reading {
	is := func(list []string, v string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.EqualFold(w, v) })
	}
	good = append(good[:len(good):len(good)], host.Default)
	s := d.Setting(name)
	r := ofSetting(read(s, func(v string) bool { return is(good, v) }), name)
	return r.unless(is(good, s.Value) || is(bad, s.Value), tellOf(d, name))
}

// tellOf is how to ask a server for a setting.
func tellOf(d host.Database, name string) string {
	if d.Kind == "postgresql" {
		return "show " + name + " asks the server"
	}
	return "show global variables like '" + name + "' asks the server"
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
	const name = "innodb_flush_method"
	s := d.Setting(name)
	good, bad := []string{"O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT"},
		[]string{"fsync", "littlesync", "nosync", "O_DSYNC"}
	if isMaria(d) && compareVersions(d.Version.Or("0"),
		"11") >= 0 { // which goes around the page cache for that (MDEV-30136)
		good, bad = append(good, "O_DSYNC"), bad[:3]
	}
	r := word(d, name, good, bad)
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
			r.value, r.bad = "default, fsync in this version", true
		}
	}
	return r
}

// forcedFlush reads whether SQL Server flushes what it has written: by default it does, which trace flag 3979
// takes away for devices with forced unit access, for which writethrough stands in.
func forcedFlush(d host.Database) reading {
	through := word(d, "writethrough", []string{"1"}, []string{"0"})
	for _, s := range d.Settings {
		if !strings.HasPrefix(s.Name, "traceflag") {
			continue
		}
		flag := ofSetting(read(s.Value, func(v string) bool { return v != "3979" || through.value == "1" }), s.Name)
		switch {
		case flag.bad && through.unknown():
			return through
		case flag.bad || flag.unknown():
			return flag
		}
	}
	return through
}
