package host

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"hostlab/internal/lazyre"
)

// knownTag leaves an asset tag that a cloud gives to all its machines. Others are
// inventory numbers.
func knownTag(tag []byte) []byte {
	switch string(bytes.TrimSpace(tag)) {
	case azureTag, "OracleCloud.com", "Amazon EC2":
		return tag
	}
	return nil
}

// serverEnviron leaves of a server's environment that, where databases keep their data and options, and what is loaded
// before their own code.
var serverEnviron = ofEnviron("container", "PGDATA", "SAPSYSTEMNAME", "MYSQL_GROUP_SUFFIX", "MYSQL_HOME",
	"MARIADB_HOME", "HOME",
	"LD_PRELOAD")

func ofEnviron(names ...string) func([]byte) []byte {
	return func(data []byte) []byte {
		var kept []string
		for v := range strings.SplitSeq(string(data), "\x00") {
			if name, _, _ := strings.Cut(v, "="); slices.Contains(names, name) {
				kept = append(kept, strings.TrimSpace(v))
			}
		}
		return []byte(strings.Join(kept, "\x00"))
	}
}

// makerOf leaves of an ACPI table the signature and who made it (OEMID, ACPI 6.5,
// 5.2.6), with dots for the length and checksum between them, which are no text.
func makerOf(table []byte) []byte {
	const id, end = 10, 16
	if len(table) < end || bytes.ContainsFunc(table[id:end], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	return []byte("FACP......" + string(table[id:end]))
}

// confLines leaves of a database's configuration sections, directories and what meets the platform. Other
// lines may hold passwords.
var confLines = matching(lazyre.New(
	`(?mi)^\s*(\[.*\]|(basepath_\w+|default(data|log)dir|writethrough|traceflag\d+)\s*=.*)$`))

// matching leaves of a file what a pattern matches, a line each.
func matching(line *lazyre.Regexp) func([]byte) []byte {
	return func(data []byte) []byte { return bytes.Join(line.FindAll(data, -1), []byte("\n")) }
}

// recordMask replaces private data in what was read. The same value becomes the same
// replacement everywhere in a recording, names of members included, so that
// links and cgroup paths still fit; a replacement is left as it is when a
// recording is recorded again.
type recordMask struct {
	host  string
	names *lazyre.Regexp // the host's name and its forms; nil if none is to be replaced
	seen  map[string]string
	n     map[string]int
}

// common are words that are no name of a host.
func newRecordMask(t Tree, common map[string]bool) *recordMask {
	h := t.Text("/proc/sys/kernel/hostname").Or("")
	return &recordMask{host: h, names: hostNames(h, common), seen: map[string]string{}, n: map[string]int{}}
}

var (
	uuidRE = lazyre.New(`\b[0-9A-Fa-f]{8}[-_][0-9A-Fa-f]{4}[-_][0-9A-Fa-f]{4}[-_][0-9A-Fa-f]{4}[-_][0-9A-Fa-f]{12}\b`)
	hexRE  = lazyre.New(`\b[0-9a-f]{32,}\b`) // container ids, WWIDs as dm names, machine ids
	macRE  = lazyre.New(`\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b`)
	// network interfaces that are named by their MAC address, behind which a port may stand (systemd.net-naming-scheme(7))
	enxRE  = lazyre.New(`\b(?:en|wl|ww|ib)x[0-9a-f]{12}`)
	diskRE = lazyre.New(`/dev/disk/by-(?:id|uuid|partuuid|path|label|partlabel)/[^\s/]+`)
	ipv4RE = lazyre.New(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	mailRE = lazyre.New(`\([^\s()@]+@[^\s()]+\)`)
	urlRE  = lazyre.New(`://[^/\s@]*@`)
	wordRE = lazyre.New(`(?i)pass|pwd|secret|token|credential|apikey|private`)
	initRE = lazyre.New(`^(init|rdinit|root|resume|ip|nfsroot|ks|inst\.\w+|ds|url|netconsole|hostname|cryptdevice|rd\.(lvm|luks|md|iscsi)\b.*|systemd\.(hostname|machine_id).*)$`)
)

// ids replaces what identifies a machine, device or container wherever it stands.
func (m *recordMask) ids(s string) string {
	s = diskRE.ReplaceAllStringFunc(s, func(v string) string {
		return m.as("disk", v, func(n int) string { return fmt.Sprintf("%s/disk%d", path.Dir(v), n) })
	})
	s = uuidRE.ReplaceAllStringFunc(s, func(v string) string {
		return m.as("uuid", v, func(n int) string {
			return fmt.Sprintf("00000000%c0000%[1]c0000%[1]c0000%[1]c%012x", v[8], n)
		})
	})
	s = hexRE.ReplaceAllStringFunc(s, func(v string) string {
		return m.as("hex", v, func(n int) string { return fmt.Sprintf("%0*x", len(v), n) })
	})
	s = enxRE.ReplaceAllStringFunc(s, func(v string) string {
		return m.as("mac", v, func(n int) string { return fmt.Sprintf("%s00005e0053%02x", v[:3], n&255) })
	})
	return macRE.ReplaceAllStringFunc(s, func(v string) string { // RFC 7042, for documentation
		return m.as("mac", v, func(n int) string { return fmt.Sprintf("00:00:5e:00:53:%02x", n&255) })
	})
}

// addresses replaces addresses and names of machines. IPv4 addresses look like
// version numbers, so this is only for files that hold mounts and arguments.
func (m *recordMask) addresses(s string) string {
	s = ipv4RE.ReplaceAllStringFunc(s, func(v string) string { // RFC 5737, for documentation
		if v == "0.0.0.0" || strings.HasPrefix(v, "127.") {
			return v
		}
		return m.as("ip", v, func(n int) string { return fmt.Sprintf("192.0.2.%d", n&255) })
	})
	s = urlRE.ReplaceAllString(s, "://redacted@")
	return s
}

// as returns the replacement of a value, counting from 1 in each kind.
func (m *recordMask) as(kind, v string, make func(n int) string) string {
	if r, ok := m.seen[v]; ok {
		return r
	}
	for n := 1; n <= 255; n++ { // already masked?
		if make(n) == v {
			return v
		}
	}
	m.n[kind]++
	m.seen[v] = make(m.n[kind])
	return m.seen[v]
}

// content masks one file, by its path on the machine.
func (m *recordMask) content(p string, data []byte) []byte {
	if len(data) == 0 || bytes.HasPrefix(data, []byte(errnoMark)) {
		return data
	}
	s := string(data)
	switch base := path.Base(p); {
	case p == "/proc/cmdline":
		s = m.addresses(kernelArgs(s))
	case base == "cmdline":
		s = m.addresses(serverArgs(s))
	case base == "mountinfo":
		s = m.addresses(mountLines(s))
	case (base == "hostname") && m.host != "":
		s = "host\n"
	case p == "/proc/version":
		s = mailRE.ReplaceAllString(s, "(builder@host)")
	case base == "uuid": // of a dm device: LVM-..., CRYPT-LUKS2-..., mpath-...
		if kind, _, ok := strings.Cut(s, "-"); ok {
			s = kind + "-redacted"
		}
	}
	if s = m.ids(s); holdsHost(p) {
		s = m.hostless(s)
	}
	return []byte(s)
}

// kernelArgs drops what follows " -- ", which is init's, and values that name
// disks, servers and secrets.
func kernelArgs(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if w == "--" {
			words = words[:i]
			break
		}
		if ok && (initRE.MatchString(name) || wordRE.MatchString(w) || strings.Contains(value, "://")) {
			words[i] = name + "=redacted"
		}
	}
	return strings.Join(words, " ")
}

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
