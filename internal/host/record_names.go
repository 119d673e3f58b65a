package host

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hostlab/internal/lazyre"
)

// commonNames are names of hosts that are also words of paths and files. To
// replace one would change what a recording says, and it tells nobody which host
// it is.
var commonNames = strings.Fields(
	"localhost localdomain host linux debian ubuntu fedora centos rocky alma redhat suse server " +
		"database db data log logs node guest vm virtual machine system swap boot home root main master primary replica standby " +
		"postgresql postgres mariadb mysql oracle hana sap mssql prod production test dev stage disk ssd nvme pmem lvm vg lv " +
		"user service slice scope session docker podman lxc kubepods container containers machines tmpfs overlay ext4 xfs btrfs " +
		"rw ro defaults none relatime etc usr var opt srv mnt run sys proc dev custom config global")

// wordsOf is the set of them, and of the words of paths that the kernel names.
func wordsOf(paths []string) map[string]bool {
	set := map[string]bool{}
	for _, w := range commonNames {
		set[w] = true
	}
	for _, p := range paths {
		if !holdsHost(p) {
			for _, w := range strings.FieldsFunc(p, func(c rune) bool { return !letter(c) }) {
				set[strings.ToLower(w)] = true
			}
		}
	}
	return set
}

func letter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// hostNames matches a host's name, its part before the first dot, and both as
// device-mapper writes them, with hyphens doubled.
func hostNames(name string, common map[string]bool) *lazyre.Regexp {
	// The kernel takes any bytes for a name. A byte that is no UTF-8 is U+FFFD to
	// regexp, in a pattern only if it is written so.
	name = string([]rune(name))
	short, _, _ := strings.Cut(name, ".")
	var forms []string
	for _, n := range []string{name, short} {
		// Two letters, or numbers alone, are part of too much. NUL ends words elsewhere.
		if len(n) < 3 || strings.ContainsRune(n, 0) || common[strings.ToLower(n)] || !strings.ContainsFunc(n, letter) {
			continue
		}
		forms = append(forms, regexp.QuoteMeta(strings.ReplaceAll(n, "-", "--")), regexp.QuoteMeta(n))
	}
	if len(forms) == 0 {
		return nil
	}
	return lazyre.New("(?i)" + strings.Join(forms, "|"))
}

// hostless replaces the host's name where it stands as a word, so that names of
// members, links and contents agree.
func (m *recordMask) hostless(s string) string {
	if m.names == nil {
		return s
	}
	var b strings.Builder
	from := 0
	for _, at := range m.names.FindAllStringIndex(s, -1) {
		inWord := func(c byte) bool { return letter(rune(c)) || c >= '0' && c <= '9' }
		if at[0] > 0 && inWord(s[at[0]-1]) || at[1] < len(s) && inWord(s[at[1]]) {
			continue
		}
		b.WriteString(s[from:at[0]] + "host")
		from = at[1]
	}
	return b.String() + s[from:]
}

// holdsHost reports whether a path, or a file's content, is of those that people
// name: what the kernel names is left as it is, whatever the host is called.
func holdsHost(p string) bool {
	base := path.Base(p)
	switch {
	case processRoot(p) != "" || strings.HasPrefix(p, "/sys/fs/cgroup/"):
		return true
	case strings.HasPrefix(p, "/sys/"):
		return strings.HasSuffix(p, "/dm/name") || base == "backing_file"
	case strings.HasPrefix(p, "/proc/"):
		return base == "cmdline" || base == "cgroup" || base == "mountinfo"
	}
	return !strings.HasPrefix(p, "/boot/") && base != "os-release"
}

func (m *recordMask) name(p string) string {
	masked := m.ids(p)
	if proc := strings.HasPrefix(p, "/proc/"); holdsHost(p) && (!proc || processRoot(p) != "") {
		return m.hostless(masked)
	}
	return masked
}

func (m *recordMask) target(p, link string) string {
	masked := m.ids(link)
	if to := path.Join(path.Dir(p), link); m.name(to) != m.ids(to) {
		return m.hostless(masked)
	}
	return masked
}

// keptArgs are the arguments that say where a server keeps its data, by their
// names without dashes. All others may hold passwords, users and addresses: no
// list of those could be complete.
var keptArgs = lazyre.New(`^(datadir|pgdata|data_directory|innodb_log_group_home_dir|defaults_\w*file|no_defaults|` +
	`config_file|fsync|wal_sync_method|huge_pages|shared_buffers|innodb_flush_method|innodb_use_native_aio|(skip_)?large_pages|innodb_buffer_pool_size)$`)

var postgresD = lazyre.New(`^-D *(/|$)`)

// serverArgs blanks all arguments but those of keptArgs. What is left of the
// others is the name of a long option.
func serverArgs(s string) string {
	args := strings.Split(strings.TrimRight(s, "\x00\n"), "\x00")
	keepNext := false
	for i, a := range args {
		name, _, hasValue := strings.Cut(a, "=")
		plain := strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
		long := strings.HasPrefix(a, "--") && lazyre.New(`^\w+$`).MatchString(plain)
		kept := keptArgs.MatchString(plain)
		switch {
		case i == 0: // a title that a server wrote for ps holds more than its name
			if end := strings.IndexAny(a, " \n"); end >= 0 {
				args[i] = a[:end]
			}
		case a == "" || a == "-c" || luceneMains[a] != "" || kept && (hasValue || long) || keepNext &&
			strings.HasPrefix(a, "/"):
		case postgresD.MatchString(a): // Java's -D may hold anything
		case long && hasValue:
			args[i] = name + "=redacted"
		case long:
		default:
			args[i] = "redacted"
		}
		keepNext = a == "-D" || kept && long && !hasValue
	}
	return strings.Join(args, "\x00")
}

// keptOptions are the options of a file system of another machine that say how it
// is used. Others name machines and users.
var keptOptions = lazyre.New(
	`^(rw|ro|sync|async|dirsync|hard|soft|softerr|(no|rel|strict|lazy)?atime|nodiratime|no(suid|dev|exec)|` +
		`(vers|nfsvers|proto|trans|[rwm]size|timeo|retrans|nconnect|ac(reg|dir)(min|max)|actimeo|lookupcache|local_lock|cache|access|version)=[\w.]+|` +
		`noac|nolock|fsc|intr|nointr|default_permissions|allow_other|posix|mfsymlinks|serverino|dax|dax=\w+)$`)

// mountLines leaves of mounts of other machines' file systems how they are used.
func mountLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		left, right, _ := strings.Cut(line, " - ")
		f := strings.Fields(right) // type, source, options
		if len(f) <= 2 || Shared(f[0]) == "" && f[0] != "fuse" && !strings.HasPrefix(f[0], "fuse.") {
			continue
		}
		if f[1] != "none" && f[1] != f[0] {
			f[1] = "redacted"
		}
		f[len(f)-1] = keptOf(f[len(f)-1])
		lines[i] = left + " - " + strings.Join(f, " ")
	}
	return strings.Join(lines, "\n")
}

func keptOf(options string) string {
	kept := slices.DeleteFunc(strings.Split(options, ","), func(o string) bool { return !keptOptions.MatchString(o) })
	if len(kept) == 0 {
		return "redacted" // a line has as many words as before
	}
	return strings.Join(kept, ",")
}
