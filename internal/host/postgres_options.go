package host

import (
	"path"
	"slices"
	"strings"

	"hostlab/internal/lazyre"
)

// Arguments and configuration files of PostgreSQL, as its postmaster reads them (postmaster.c, guc-file.l and guc.c,
// PostgreSQL 17; -o until 11).

// valued are the short options that take a value: the rest of the argument, or the next one.
const valued = "ABCcDdfhkNoprStvW-"

// postgresArgs are the settings that arguments name, and its directory of -D.
func postgresArgs(args []string) (settings [][2]string, dir string) {
	for i := 0; i < len(args); i++ {
		for arg := strings.TrimPrefix(args[i], "-"); len(arg) < len(args[i]) && arg != ""; arg = arg[1:] {
			flag, value := arg[0], arg[1:]
			if !strings.ContainsRune(valued, rune(flag)) {
				if flag == 'F' {
					settings = append(settings, [2]string{"fsync", "off"})
				}
				continue
			}
			if value == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			name, set, given := strings.Cut(value, "=")
			switch {
			case flag == 'B':
				settings = append(settings, [2]string{"shared_buffers", value})
			case flag == 'D':
				dir = strings.TrimSpace(value)
			case flag == 'o': // arguments of each session's process
				more, _ := postgresArgs(strings.Fields(value))
				settings = append(settings, more...)
			case (flag == 'c' || flag == '-') && given:
				settings = append(settings, [2]string{strings.ReplaceAll(strings.ToLower(name), "-", "_"), set})
			}
			break
		}
	}
	return settings, dir
}

// postgresConf reads postgresql.conf with what it includes where it does so, then what ALTER SYSTEM has written, and
// then the arguments.
func (p process) postgresConf(data Fact[string]) conf {
	c := newConf()
	args, dir := postgresArgs(p.args[1:])
	main := firstKnown(p.dir(dir, p.file("cmdline")), p.dir(p.environ("PGDATA"), p.file("environ")), data)
	named := ""
	for _, a := range args {
		if a[0] == "config_file" {
			named = a[1]
		}
	}
	left := confFiles
	switch {
	case p.hidden:
		c.denied, c.why = p.file("root"), errDenied
	case named != "" && !path.IsAbs(named):
		c.miss(named, errRelative)
	case named != "":
		p.postgresFile(&c, p.seen(named), true, &left, 0)
	case main.State == StateOK:
		p.postgresFile(&c, main.Value+"/postgresql.conf", true, &left, 0)
	default:
		c.denied, c.why = main.Source, errDenied
	}
	if data.State != StateOK {
		c.denied, c.why = data.Source, errDenied
	} else {
		p.postgresFile(&c, data.Value+"/postgresql.auto.conf", false, &left, 0)
	}
	for _, a := range args {
		c.set(a[0], a[1], p.file("cmdline"))
	}
	return c
}

// postgresFile reads a file; must says that the server does not start without it.
func (p process) postgresFile(c *conf, file string, must bool, left *int, depth int) {
	if *left--; *left < 0 || depth > mostIncluded {
		return
	}
	own, inView := viewOf(p.t, file)
	real, err := own.resolve(inView)
	var b []byte
	if err == nil {
		b, err = p.t.keeping(postgresLines).Read(own.root + real)
	}
	if must && StateOf(err) == StateAbsent {
		err = p.missing()
	}
	c.miss(file, err)
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
			p.postgresFile(c, at, name == "include", left, depth+1)
		case "include_dir":
			names, err := p.t.Dir(at)
			c.miss(at, err)
			slices.Sort(names)
			for _, n := range names {
				if strings.HasSuffix(n, ".conf") && n[0] != '.' {
					p.postgresFile(c, at+"/"+n, false, left, depth+1)
				}
			}
		default:
			c.set(name, value, file)
			c.source = file
		}
	}
}

// postgresLine splits a line such as "fsync = on  # comment", whose equals sign may be missing. Within quotes ” and \'
// are one.
func postgresLine(line string) (name, value string) {
	m := postgresRE.FindStringSubmatch(line)
	switch {
	case m == nil || m[2] == "" && m[3] == "": // the beginning of another name
		return "", ""
	case m[3] != "":
		return strings.ToLower(m[1]), strings.NewReplacer("''", "'", `\'`, "'", `\\`, `\`).Replace(m[3][1 : len(m[3])-1])
	}
	return strings.ToLower(m[1]), m[4]
}

var postgresRE = lazyre.New(
	`(?i)^\s*(include_if_exists|include_dir|include|fsync|synchronous_commit|full_page_writes|` +
		`wal_sync_method|huge_pages|shared_buffers)(\s*=\s*|\s+|)('(?:[^'\\]|''|\\.)*'|)([^\s#']*)`)

// postgresLines leaves of a configuration the lines that are read. Others may hold passwords.
func postgresLines(data []byte) []byte {
	kept := []string{"# settings that hostlab reads"} // so that it is known that the file was there
	for line := range strings.Lines(string(data)) {
		if name, _ := postgresLine(line); name != "" {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return []byte(strings.Join(kept, "\n"))
}
