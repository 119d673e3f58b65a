package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hostlab/internal/trust"
)

// readProcess reads what a server's first process has. All but its mappings may be read by
// anybody.
func (p process) readProcess(db *Database) {
	status := p.t.Text(p.file("status"))
	ids := func(s string) (int, error) { return strconv.Atoi(firstWord(s)) }
	db.UID = statusLine(status, "Uid", "", ids)
	db.Threads = statusLine(status, "Threads", "", func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	db.HugePages = statusLine(status, "HugetlbPages", "B", parseKiB)
	db.OOMScoreAdj = p.t.Int(p.file("oom_score_adj"), "", 1)
	db.Limits = readLimits(p.kernel(), "/proc/"+strconv.Itoa(p.pid))
	db.Maps, db.SharedMemory = p.mappings()
	db.NodeMemory = p.nodes()
	db.Preload = p.preload()
	db.OwnNetwork, db.OwnIPC = p.ownSpace("net"), p.ownSpace("ipc")
}

// ownSpace tells whether a namespace of the process is another than ours; absent where nobody may see it, and nothing
// speaks for a container.
func (p process) ownSpace(name string) Fact[bool] {
	file := p.file("ns/" + name)
	its, err := readLink(p.t, file)
	ours, blind := readLink(p.t, self+"/ns/"+name)
	switch {
	case err == nil && blind == nil:
		return Known(its != ours, "", file)
	case p.hidden:
		return Unknown[bool](file, errDenied)
	}
	return absentFact[bool](file, "its namespace is not to be seen")
}

// preload reads what ld.so(8) loads before all else. Words of either list are between blanks or colons.
func (p process) preload() Fact[string] {
	environ, all := p.environment(), Unknown[string](p.file("root"), errDenied)
	if !p.hidden {
		all = p.t.Text(p.seen("/etc/ld.so.preload"))
	}
	named := strings.Join(strings.FieldsFunc(p.environ("LD_PRELOAD")+" "+all.Or(""),
		func(r rune) bool { return r == ':' || r <= ' ' }), " ")
	switch {
	case named != "":
		return Known(named, "", firstKnown(environ, all).Source)
	case environ.State != StateOK && environ.State != StateAbsent:
		return environ
	}
	return absentFact[string](environ.Source, "nothing is loaded before its own code")
}

// statusLine reads a line of /proc/PID/status, "Threads:	7".
func statusLine[T any](status Fact[string], name, unit string, parse func(string) (T, error)) Fact[T] {
	return Convert(status, unit, func(s string) (T, error) {
		text, ok := lineOf(s, name+":")
		if !ok {
			var zero T
			return zero, none("no line " + name)
		}
		v, err := parse(text)
		if err != nil {
			return v, fmt.Errorf("expected a number, found %s", clip(text))
		}
		return v, nil
	}).from(status.Source + " " + name)
}

func firstWord(s string) string { return strings.Fields(s + " -")[0] }

func parseKiB(s string) (int64, error) {
	number, unit, _ := strings.Cut(s, " ")
	v, err := strconv.ParseInt(number, 10, 54)
	if err != nil || v < 0 || unit != "kB" {
		return 0, errors.New("not in kB")
	}
	return v << 10, nil
}

// mostMaps bounds how much of a process's mappings is read: the kernel writes a line of some 100
// bytes for each, at some 10 million lines a second, and holds the process's mappings meanwhile.
const mostMaps = 16 << 20

// mappings counts a process's mappings, and adds up those that it shares with others. Their lines
// name files of the account, so that a recording holds only the two numbers.
func (p process) mappings() (count, shared Fact[int64]) {
	file, made := p.file("maps"), "/.hostlab/maps/"+strconv.Itoa(p.pid)
	if !p.t.Live() {
		text := p.t.Text(made)
		return lineNumber(text, made, "maps", "").from(file), lineNumber(text, made, "shared", "KiB").from(file)
	}
	f, err := p.t.quiet().file(file)
	if err == nil {
		defer f.Close()
		var n, pages int64
		if n, pages, err = countMaps(f, mostMaps); err == nil {
			p.t.stated(made, fmt.Sprintf("maps: %d\nshared: %d kB\n", n, pages>>10))
			return Known(n, "", file), Known(pages, "B", file)
		}
	}
	p.t.stated(made, string(failed(err)))
	err = adviseDenied(trust.Bare(err))
	return Unknown[int64](file, err), Unknown[int64](file, err)
}

// countMaps reads lines such as "7f00-7f80 rw-s 00000000 00:01 4 /dev/zero (deleted)", up to a
// number of bytes, and returns how many they are and the bytes of those that are shared.
func countMaps(r io.Reader, most int64) (n, shared int64, err error) {
	in := &io.LimitedReader{R: r, N: most}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		span, rest, _ := strings.Cut(lines.Text(), " ")
		n++
		if len(rest) < 4 || rest[3] != 's' || rest[1] != 'w' { // files that are only read are no memory of it
			continue
		}
		from, to, _ := strings.Cut(span, "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || b < a {
			return 0, 0, fmt.Errorf("expected a range of addresses, found %s", clip(span))
		}
		shared += int64((b - a) >> 10) //nolint:gosec // of 54 bits
	}
	switch {
	case lines.Err() != nil:
		return 0, 0, lines.Err()
	case in.N == 0:
		return 0, 0, fmt.Errorf("more than %d MiB, which is not read on", most>>20)
	case n == 0:
		return 0, 0, errors.New("the file is empty")
	}
	return n, shared << 10, nil
}

// mostWalked bounds the memory of a process whose nodes are read: the kernel looks at each page of it for the answer,
// at some 30 ns a page, and holds the process's mappings meanwhile. A huge page is one.
const mostWalked = 16 << 20 // pages

// Nodes are the numbers of the memory nodes; none: they do not show.
func Nodes(t Tree) []int { return numbered(t, nodeDir, "node") }

// nodes reads how much memory of a server lies on each memory node. PostgreSQL's cache shows in the sessions that have
// touched it, so it is asked of the child with most shared memory.
func (p process) nodes() Fact[[]int64] {
	made := "/.hostlab/nodes/" + strconv.Itoa(p.pid)
	ids := Nodes(p.kernel())
	if len(ids) < 2 {
		return absentFact[[]int64](nodeDir, "there are not several memory nodes")
	}
	if !p.t.Live() {
		return Convert(p.t.Text(made), "B", func(s string) ([]int64, error) { return countNodes(strings.NewReader(s), ids) }).
			from(p.file("numa_maps"))
	}
	t := p.kernel().quiet()
	pid, most := p.pid, int64(-1)
	children := t.Text(p.file("task/" + strconv.Itoa(p.pid) + "/children")).Or("")
	for _, id := range append([]string{strconv.Itoa(p.pid)}, strings.Fields(children)...) {
		status := t.Text("/proc/" + id + "/status")
		if shared := statusLine(status, "RssShmem", "B", parseKiB).Or(0) + statusLine(status, "HugetlbPages", "B",
			parseKiB).Or(0); shared > most {
			if n, err := strconv.Atoi(id); err == nil {
				pid, most = n, shared
			}
		}
	}
	file := "/proc/" + strconv.Itoa(pid) + "/numa_maps"
	if pages := statusLine(t.Text("/proc/"+strconv.Itoa(pid)+"/status"), "VmRSS", "B",
		parseKiB).Or(0) >> 12; pages > mostWalked {
		return Unknown[[]int64](file, fmt.Errorf("the kernel would look at %d million pages; numastat -p %d does it",
			pages>>20, pid))
	}
	var list []int64
	f, err := t.file(file)
	if err == nil {
		defer f.Close()
		list, err = countNodes(f, ids)
	}
	if err != nil {
		p.t.stated(made, string(failed(err)))
		return Unknown[[]int64](file, adviseDenied(trust.Bare(err)))
	}
	var text strings.Builder
	for i, id := range ids {
		fmt.Fprintf(&text, "0 default N%d=%d kernelpagesize_kB=1\n", id, list[i]>>10)
	}
	p.t.stated(made, text.String())
	return Known(list, "B", file)
}

// countNodes adds up the pages of numa_maps (proc(5)), "7f00 default file=/x N0=12 N1=3 kernelpagesize_kB=4", by node,
// in B.
func countNodes(r io.Reader, ids []int) ([]int64, error) {
	place := map[string]int{}
	for i, id := range ids {
		place["N"+strconv.Itoa(id)] = i
	}
	out, lines := make([]int64, len(ids)), bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		pages, size := make([]int64, len(ids)), int64(0)
		for word := range strings.FieldsSeq(lines.Text()) {
			name, value, _ := strings.Cut(word, "=")
			at, isNode := place[name]
			if !isNode && name != "kernelpagesize_kB" {
				continue
			}
			n, err := strconv.ParseInt(value, 10, 40)
			switch {
			case err != nil || n < 0:
				return nil, fmt.Errorf("expected a number of pages, found %s", clip(word))
			case isNode:
				pages[at] = n
			default:
				size = n << 10
			}
		}
		for i, n := range pages {
			out[i] += n * size
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, b := range out {
		if b > 0 {
			return out, nil
		}
	}
	return nil, errors.New("it names no page of any node")
}
