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
