package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/sync/errgroup"

	"hostlab/internal/lazyre"
)

// Kind and Schema tell the facts' JSON form from others.
const (
	Kind   = "facts"
	Schema = 1
)

// Options says what Collect reads.
type Options struct {
	Tree  Tree
	Paths []PathQuery
}

// Collect reads all facts. It does not fail as a whole: every fact says for
// itself whether it is known. When ctx ends, what was not read by then is in
// the state error.
func Collect(ctx context.Context, opt Options) *Facts {
	t, end := opt.Tree.begin(ctx)
	defer end()
	f := &Facts{Kind: Kind, Schema: Schema}
	var wg sync.WaitGroup
	wg.Go(func() {
		f.Identity = readIdentity(t)
		f.Memory = readMemory(t)
		f.Kernel = readKernel(t)
		f.Network = readNetwork(t)
		f.Offload = readAccelerators(t)
		f.Virt = readVirt(t)
		f.Limits = readLimits(t, self)
		f.Databases, f.Apps = readServers(t)
		f.Storage, f.Block = readStorage(t, append(slices.Clip(opt.Paths), logsOf(f.Databases)...))
		f.CloudVolumes, f.CloudNetworks = readCloud(t, f.Block)
		f.Storage = append(f.Storage, readMoreLogs(t, f.Databases, f.Storage)...)
		f.Data = readData(t, f.Databases)
	})
	f.Topology = readTopology(t)
	f.Frequency = readFrequency(t, f.Topology)
	f.Idle = readIdle(t, f.Topology)
	wg.Wait()
	if t.Live() {
		collectOS(ctx, f)
	}
	return f
}

// Read reads facts that 'hostlab facts --format json' wrote, of any system. PowerShell begins its files with a mark,
// and before version 6 its ">" makes UTF-16 of them.
func Read(b []byte) (*Facts, error) {
	f := &Facts{}
	if rest, wide := bytes.CutPrefix(b, []byte("\xff\xfe")); wide {
		u := make([]uint16, len(rest)/2)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(rest[2*i:])
		}
		b = []byte(string(utf16.Decode(u)))
	}
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\ufeff")), f); err != nil {
		return nil, fmt.Errorf("no facts as 'hostlab facts --format json' writes them: %w", err)
	}
	if f.Schema != Schema || len(f.Topology.Online.Or(nil)) == 0 {
		return nil, fmt.Errorf("no facts of version %d as 'hostlab facts --format json' writes them", Schema)
	}
	return f, nil
}

// Servers finds the databases of this machine alone.
func Servers(ctx context.Context) []Database {
	t, end := Tree{}.begin(ctx)
	defer end()
	databases, _ := readServers(t)
	return append(databases, osServers()...)
}

// CPUs reads the topology of this machine alone.
func CPUs(ctx context.Context) *Topology {
	t, end := Tree{}.begin(ctx)
	defer end()
	if t.Foreign() {
		top := osTopology()
		return &top
	}
	top := readTopology(t)
	return &top
}

func logsOf(servers []Database) (asked []PathQuery) {
	for _, d := range servers {
		if dir, ok := d.LogDir.Get(); ok {
			asked = append(asked, PathQuery{dir, d.Kind + " log", d.PID})
		}
	}
	return asked
}

// readMoreLogs tells where the other logs of servers lie: of each server, one on each file system that none of known
// is on.
func readMoreLogs(t Tree, servers []Database, known []Storage) (list []Storage) {
	for _, d := range servers {
		for _, l := range d.MoreLogs {
			dir, ok := l.Dir.Get()
			if !ok {
				continue
			}
			s := StorageOf(t, dir)
			s.Purpose, s.PID = l.Purpose, d.PID
			if !slices.ContainsFunc(slices.Concat(known, list), func(o Storage) bool { return o.sameMount(s) }) {
				list = append(list, s)
			}
		}
	}
	return list
}

// sameMount reports paths on one mounted file system.
func (s Storage) sameMount(o Storage) bool {
	return s.MountPoint.State == StateOK && s.MountPoint == o.MountPoint && s.Device.Value == o.Device.Value ||
		s.Resolved == o.Resolved
}

// readData tells where the servers keep their data, where that is not with the log.
func readData(t Tree, servers []Database) []Storage {
	list := []Storage{}
	for _, d := range servers {
		if dir, ok := d.DataDir.Get(); ok && dir != d.LogDir.Or("") {
			s := StorageOf(t, dir)
			s.Purpose, s.PID = d.Kind+" data", d.PID
			list = append(list, s)
		}
	}
	return list
}

// Look reports whether there is anything to collect from: an error names what
// is missing when neither /proc nor /sys below the tree can be listed or both
// are empty, as in a container that masks them.
func Look(t Tree) error {
	if t.Live() && runtime.GOOS == "windows" {
		return nil
	}
	if !t.Live() {
		if _, err := t.Dir("/"); err != nil {
			return fmt.Errorf("cannot look into %s: %s", t.Root, reason(err))
		}
	}
	why := ""
	for _, dir := range []string{"/proc", "/sys"} {
		names, err := t.Dir(dir)
		if err == nil && len(names) > 0 {
			return nil
		}
		if err == nil {
			err = errors.New("it is empty")
		}
		if why != "" {
			why += "; "
		}
		why += fmt.Sprintf("%s: %s", t.Join(dir), reason(err))
	}
	return fmt.Errorf("cannot look at this host: %s", why)
}

// sideBySide reads something of each of a list, from at most workers goroutines.
func sideBySide[A, B any](of []A, workers int, read func(A) B) []B {
	out := make([]B, len(of))
	var g errgroup.Group
	g.SetLimit(workers)
	for i, a := range of {
		g.Go(func() error { out[i] = read(a); return nil })
	}
	_ = g.Wait() // nothing in it fails
	return out
}

// readers is how many goroutines read files of separate CPUs. Reading is work
// of the kernel, so more of them than CPUs gain nothing, and many of them
// contend for sysfs' locks.
func readers() int { return min(runtime.GOMAXPROCS(0), 8) }

// readAccelerators finds Intel's data accelerators, and counts their work queues that programs can use
// (Documentation/ABI/stable/sysfs-driver-dma-idxd).
func readAccelerators(t Tree) []Accelerator {
	const bus = "/sys/bus/dsa/devices"
	list := []Accelerator{}
	names, _ := t.Dir(bus)
	for _, name := range names {
		if !strings.HasPrefix(name, "dsa") && !strings.HasPrefix(name, "iax") {
			continue
		}
		a := Accelerator{Name: name, Queues: Known[int64](0, "", bus+"/"+name)}
		queues, err := t.Dir(bus + "/" + name)
		if err != nil {
			a.Queues = Unknown[int64](bus+"/"+name, err)
		}
		for _, q := range queues {
			if strings.HasPrefix(q, "wq") && t.Text(bus+"/"+name+"/"+q+"/state").Or("") == "enabled" {
				a.Queues.Value++
			}
		}
		list = append(list, a)
	}
	return list
}

var digits = lazyre.New(`\d+`)

// naturalKey is a name with each number behind its length, so that cpu10 comes after cpu9.
func naturalKey(name string) string {
	return digits.ReplaceAllStringFunc(name, func(d string) string {
		d = strings.TrimLeft(d, "0")
		return fmt.Sprintf("%03d%s", len(d), d)
	})
}

// SortNatural sorts names so that cpu10 comes after cpu9.
func SortNatural(names []string) {
	keys := make(map[string]string, len(names))
	for _, n := range names {
		keys[n] = naturalKey(n)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
}
