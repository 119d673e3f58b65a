package host

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Options of MySQL and MariaDB, as mysys/my_default.c and my_getopt.c read them (MariaDB 11.8, MySQL 8.4).

// mysqlOption is an option that is read. One that may stand alone takes no value from the next argument.
type mysqlOption struct {
	name  string
	alone bool
}

var mysqlOptions = []mysqlOption{
	{"datadir", false}, {"innodb_log_group_home_dir", false}, {"innodb_flush_method", false},
	{"innodb_use_native_aio", true},
	{"large_pages", true}, {"innodb_buffer_pool_size", false}, {"innodb_flush_log_at_trx_commit", false},
	{"sync_binlog", false},
	{"log_bin", true}, {"innodb_doublewrite", true}, {"innodb_data_file_buffering", true},
	{"innodb_log_file_buffering", true},
	{"debug_no_sync", true}, {"persisted_globals_load", true},
}

// otherOptions are the options of the servers whose names are nearest to those (mariadbd --verbose --help of 11.8,
// mysqld of 8.4): a beginning that one of them has too is not of one option.
var otherOptions = []string{"innodb", "log", "date_format", "debug", "debug_no_thread_alarm", "innodb_log_file_size",
	"innodb_log_file_mmap",
	"innodb_log_file_write_through", "innodb_log_files_in_group", "innodb_log_buffer_size", "innodb_flush_neighbors",
	"innodb_flush_sync",
	"innodb_flush_log_at_timeout", "innodb_use_atomic_writes", "innodb_use_fdatasync", "innodb_buffer_pool_size_auto_min",
	"innodb_buffer_pool_size_max", "innodb_buffer_pool_stats", "sync_frm", "sync_relay_log", "log_bin_index",
	"log_bin_compress",
	"log_bin_trust_function_creators", "log_basename", "innodb_doublewrite_dir", "innodb_doublewrite_files",
	"innodb_data_file_path",
	"innodb_data_file_write_through", "innodb_data_home_dir", "persist_only_admin_x509_subject"}

// prefixes change what an option says; several may stand behind each other.
var prefixes = []string{"skip_", "disable_", "enable_", "maximum_", "loose_", "autoset_", "plugin_"}

// switchedOff is the value of an option whose word takes it away, such as skip-log-bin. As a name it cannot be given.
const switchedOff = "\x00"

// optionIn finds an option by its name or by a beginning of it that no other option has.
func optionIn(word string) (found mysqlOption, ok bool) {
	matches := 0
	for _, o := range mysqlOptions {
		switch {
		case o.name == word:
			return o, true
		case strings.HasPrefix(o.name, word):
			found = o
			matches++
		}
	}
	for _, o := range otherOptions {
		if strings.HasPrefix(o, word) { // its own name among them
			matches++
		}
	}
	return found, matches == 1 && found.name != ""
}

// parseOption reads an option without the dashes before it: "loose-innodb-flush-method=fsync". next says that its
// value is the next argument.
func parseOption(text string) (name, value string, next, ok bool) {
	word, value, given := strings.Cut(text, "=")
	word = strings.ReplaceAll(strings.TrimSpace(word), "-", "_")
	o, ok := optionIn(word)
	switched, on := false, true
	for ; !ok; o, ok = optionIn(word) {
		i := slices.IndexFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
		if i < 0 {
			return "", "", false, false
		}
		switch word = word[len(prefixes[i]):]; prefixes[i] {
		case "skip_", "disable_":
			switched, on = true, given && value == "0" // as in skip-x=0
		case "enable_":
			switched, on = true, !given || value != "0"
		case "maximum_", "autoset_": // which set no value
			return "", "", false, false
		}
	}
	switch {
	case o.name == "log_bin" && switched && !on:
		return o.name, switchedOff, false, true
	case o.name == "log_bin" && (switched || !given): // it takes a name by itself
		return o.name, "", false, true
	case switched || !given && o.alone:
		return o.name, map[bool]string{true: "1", false: "0"}[on], false, true
	}
	return o.name, value, !given, true
}

type mysqlLine struct{ group, text, file string }

// mysqlFiles reads the option files in their order, and what they include where they do so.
func (p process) mysqlFiles(c *conf) (lines []mysqlLine) {
	if len(p.args) > 1 && p.args[1] == "--no-defaults" {
		return nil
	}
	if p.hidden { // its files are not those that are here
		c.miss(p.file("root"), fs.ErrPermission)
		return nil
	}
	type file struct {
		name string
		must bool // the server does not start without
	}
	var files []file
	if f := p.option("defaults_file"); f != "" {
		files = []file{{f, true}}
	} else {
		files = []file{{"/etc/my.cnf", false}, {"/etc/mysql/my.cnf", false}}
		for _, env := range []string{"MARIADB_HOME", "MYSQL_HOME"} {
			if dir := p.environ(env); dir != "" {
				files = append(files, file{dir + "/my.cnf", false})
				break
			}
		}
		if f := p.option("defaults_extra_file"); f != "" {
			files = append(files, file{f, true})
		}
		if dir := p.environ("HOME"); dir != "" {
			files = append(files, file{dir + "/.my.cnf", false})
		}
	}
	left := confFiles
	for _, f := range files {
		lines = append(lines, p.optionFile(c, f.name, f.must, &left, 0)...)
	}
	return lines
}

// mostIncluded is how deep files include others.
const mostIncluded = 10

var (
	errRelative = errors.New("it counts from the directory in which the server was started, which is not known")
	errMissing  = errors.New("it is not there, and the server does not start without it")
)

// missing is the error of a file that is not there, and without which the server does not start.
func (p process) missing() error {
	if !p.t.Live() {
		return errNotHeld
	}
	return errMissing
}

func (p process) optionFile(c *conf, name string, must bool, left *int, depth int) (lines []mysqlLine) {
	if *left--; *left < 0 || depth > mostIncluded {
		return nil
	}
	if !path.IsAbs(name) {
		c.miss(name, errRelative)
		return nil
	}
	own, inView := viewOf(p.t, p.seen(name))
	real, err := own.resolve(inView)
	var b []byte
	if err == nil {
		if n, err := nodeOf(own.root + real); err == nil && p.t.Live() && n.mode.IsRegular() && n.mode.Perm()&0o002 != 0 {
			return nil // the server ignores a file that everybody may write to
		}
		b, err = p.t.keeping(mysqlKept).Read(own.root + real)
	}
	if must && StateOf(err) == StateAbsent {
		err = p.missing()
	}
	c.miss(name, err)
	group := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '!':
			words := strings.Fields(line[1:])
			if len(words) < 2 {
				continue
			}
			arg := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line[1:]), words[0]))
			switch words[0] {
			case "include":
				lines = append(lines, p.optionFile(c, arg, false, left, depth+1)...)
			case "includedir":
				lines = append(lines, p.optionDir(c, arg, left, depth+1)...)
			}
		case line[0] == '[':
			group, _, _ = strings.Cut(line[1:], "]")
			group = strings.ToLower(strings.TrimRight(group, " \t"))
		case group != "":
			lines = append(lines, mysqlLine{group, optionText(line), name})
		}
	}
	return lines
}

func (p process) optionDir(c *conf, dir string, left *int, depth int) (lines []mysqlLine) {
	if !path.IsAbs(dir) {
		c.miss(dir, errRelative)
		return nil
	}
	c.dir = path.Clean(dir)
	names, err := p.t.Dir(p.seen(dir))
	c.miss(dir, err)
	slices.Sort(names)
	for _, n := range names {
		if strings.HasSuffix(n, ".cnf") {
			lines = append(lines, p.optionFile(c, path.Join(dir, n), false, left, depth)...)
		}
	}
	return lines
}

// optionText takes the comment and the quotes off an option of a file.
func optionText(line string) string {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case quote == 0 && b == '#':
			line = line[:i]
		case quote == 0 && (b == '\'' || b == '"'):
			quote = b
		case quote != 0 && b == '\\':
			i++
		case b == quote:
			quote = 0
		}
	}
	name, value, given := strings.Cut(line, "=")
	if name = strings.TrimSpace(name); !given {
		return name
	}
	value = strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\b`, "\b", `\s`, " ", `\"`, `"`, `\'`,
		`'`)
	return name + "=" + unescape.Replace(value)
}

// mysqlGroups are the sections that the servers read, each also with the version behind it, as [mariadb-10.11] or
// [mysqld-8.4], and each with the suffix that the server is given (load_default_groups in sql/mysqld.cc).
var mysqlGroups = []string{"mysqld", "server", "mariadb", "mariadbd", "client-server", "galera", "mysql_cluster"}

var (
	errVersion = errors.New(
		"a section for one version sets it, and no file tells the server's: ask the server (show variables)")
	errSuffix = errors.New(
		"a section with a suffix sets it, and this user may not see the server's environment: run as root")
)

// reads says whether the server reads a section. The error is why that is not known.
func (p process) reads(group string, version Fact[string]) (bool, error) {
	suffix, environ := p.option("defaults_group_suffix"), p.environment()
	hidden := suffix == "" && environ.State == StateDenied
	suffix = cmp.Or(suffix, p.environ("MYSQL_GROUP_SUFFIX"))
	names := []string{group}
	if plain, suffixed := strings.CutSuffix(group, strings.ToLower(suffix)); suffixed && suffix != "" {
		names = append(names, plain)
	}
	own := mysqlGroups
	// and no MariaDB under MySQL's name, which is 10 or later
	if v := version.Or(""); p.kind == "mysql" && len(v) > 1 && v[1] == '.' {
		own = []string{"mysqld", "server", "mysql_cluster"}
	}
	for _, name := range names {
		if slices.Contains(own, name) {
			return true, nil
		}
		base, number, _ := strings.Cut(name, "-")
		if number == "" || strings.Trim(number, "0123456789.") != "" || !slices.Contains(own, base) {
			continue
		}
		v, known := version.Get()
		if !known {
			return false, errVersion
		}
		parts := strings.SplitN(v, ".", 3)
		if number == parts[0] || len(parts) > 1 && number == parts[0]+"."+parts[1] {
			return true, nil
		}
	}
	if hidden && slices.ContainsFunc(own, func(g string) bool { return strings.HasPrefix(group, g) }) {
		return false, errSuffix
	}
	return false, nil
}

// mysqlConf is what the option files of MySQL and MariaDB say, each later one over the earlier, and then the
// arguments. It tells of a file that may not be read, so that no default is taken for what that file may say
// otherwise.
func (p process) mysqlConf(version Fact[string]) conf {
	c := newConf()
	for _, l := range p.mysqlFiles(&c) {
		name, value, next, ok := parseOption(l.text)
		if !ok || next { // without a value in a file it is no option
			continue
		}
		switch reads, err := p.reads(l.group, version); {
		case err != nil:
			c.open[name] = Unknown[string](l.file, err)
		case reads:
			c.set(name, value, l.file)
			c.source = l.file
		}
	}
	for i := 1; i < len(p.args) && p.args[i] != "--"; i++ {
		text, long := strings.CutPrefix(p.args[i], "--")
		if dir, short := strings.CutPrefix(p.args[i], "-h"); !long && short { // the only short one of an option that is read
			text, long = strings.TrimSuffix("datadir="+dir, "="), true
		}
		name, value, next, ok := parseOption(text)
		if !long || !ok {
			continue
		}
		if i++; next && i < len(p.args) {
			value = p.args[i]
		} else {
			i--
		}
		c.set(name, value, p.file("cmdline"))
	}
	return c
}

// binaryLog is where a server keeps the changes that it has committed for replicas and backups, if a commit waits
// until they are flushed. It is absent where none is kept, or none is waited for.
func (p process) binaryLog(c conf, kind string, version, data Fact[string]) Fact[string] {
	const names, flushes = "log_bin", "sync_binlog"
	name, flushed := c.value(names), c.value(flushes)
	maria := kind == "mariadb" || strings.HasPrefix(version.Or(""), "1") // also under MySQL's name
	v, known := version.Get()
	old := known && (strings.HasPrefix(v, "5.5") || strings.HasPrefix(v, "5.6"))
	if n, ok := myNumber(flushed.Or("")); ok && n == "0" || flushed.State == StateAbsent && (maria || old) {
		return absentFact[string](flushed.Source, flushes+" is 0: commits do not wait for it")
	}
	switch {
	case name.State == StateAbsent && (maria || known && strings.HasPrefix(v, "5.")), name.Value == switchedOff:
		return absentFact[string](name.Source, "the server keeps no binary log")
	case name.State == StateAbsent && known: // MySQL 8 keeps one by default, beside its data
		return data
	case name.State == StateAbsent:
		return Unknown[string](data.Source,
			errors.New("MySQL 8 keeps one beside its data by default, and no file tells the version"))
	case name.State != StateOK:
		return name
	}
	dir := path.Dir(name.Value)
	if at, known := data.Get(); !path.IsAbs(dir) && known {
		dir = path.Join(at, dir)
	} else if !path.IsAbs(dir) {
		return data
	}
	return p.follow(p.dir(dir, name.Source+" "+names))
}

// mysqlKept leaves of an option file sections, inclusions and the options that are read. Other lines may hold
// passwords.
func mysqlKept(data []byte) []byte {
	var kept []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		_, _, _, ok := parseOption(optionText(line))
		if ok || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "!") {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, "\n"))
}
