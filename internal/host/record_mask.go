package host

import (
	"bytes"
	"fmt"
	"path"
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
