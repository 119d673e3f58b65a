package setting

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/lockfile"
)

// machine is a kernel and a disk whose calls can fail, or end the process. Each call has a
// number; what happens at it is the test's to say.
type machine struct {
	*kernel
	boot   int
	disk   map[string]*inode // as the running system sees it
	stored map[string]*inode // names that are durable
	locked bool
	held   int // requests that are in force

	calls  int
	fate   fate
	rand   *rand.Rand
	dead   bool
	before func(op, path string) // somebody else, just before a call
	writes []string              // of settings, that were let through
}

// inode is a file; the first synced bytes of it are durable.
type inode struct {
	data   []byte
	synced int
}

// fate is what happens at a call.
type fate struct {
	call  int // 0 nothing
	after bool
	err   error // nil: the process ends
	cut   bool  // and so does the machine
}

// killed is what a call panics with when the process ends.
type killed struct{}

func newMachine(seed uint64) *machine {
	return &machine{kernel: newKernel(), boot: 1, disk: map[string]*inode{}, stored: map[string]*inode{},
		rand: rand.New(rand.NewPCG(seed, 1))}
}

// system is a new process on the machine.
func (m *machine) system() *System {
	m.calls, m.dead, m.locked = 0, false, false
	return &System{FS: machineFS{m}, Disk: machineDisk{m}, Boot: func() string { return fmt.Sprint("boot", m.boot) },
		Host: func() string { return "host" }, Now: func() time.Time { return time.Unix(1700000000, 0) }}
}

// call makes a system call, or not. piece does a part of it, where a kill can leave one.
func (m *machine) call(op, path string, do func() error, piece func()) error {
	if m.dead {
		panic(killed{})
	}
	m.calls++
	if m.before != nil {
		m.before(op, path)
	}
	if m.calls != m.fate.call {
		return do()
	}
	if m.fate.err != nil {
		if piece != nil && m.rand.IntN(2) == 0 {
			piece() // a disk that was filled by the first bytes
		}
		return &fs.PathError{Op: op, Path: path, Err: m.fate.err}
	}
	if m.fate.after {
		_ = do()
	} else if piece != nil && m.rand.IntN(2) == 0 {
		piece()
	}
	m.dead = true
	if m.fate.cut {
		m.powerCut()
	}
	panic(killed{})
}

// powerCut leaves what was synced, and of what was not, a beginning of any length.
func (m *machine) powerCut() {
	if m.rand.IntN(2) == 0 { // names that were not synced may be there all the same
		m.stored = maps.Clone(m.disk)
	}
	m.disk = map[string]*inode{}
	for name, f := range m.stored {
		n := f.synced + m.rand.IntN(len(f.data)-f.synced+1)
		m.disk[name] = &inode{data: slices.Clone(f.data[:n]), synced: n}
	}
	m.stored = maps.Clone(m.disk)
	m.kernel, m.boot = m.reboot(), m.boot+1
}

type machineFS struct{ m *machine }

func (f machineFS) ReadFile(path string) (b []byte, err error) {
	err = f.m.call("read", path, func() error {
		v, err := f.m.read(path)
		if err != nil {
			return &fs.PathError{Op: "read", Path: path, Err: err}
		}
		b = []byte(v + "\n")
		return nil
	}, nil)
	return b, err
}

func (f machineFS) WriteFile(path string, value []byte) error {
	return f.m.call("write", path, func() error {
		if err := f.m.store(path, string(value)); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		f.m.writes = append(f.m.writes, path+"="+string(value))
		return nil
	}, nil)
}

func (f machineFS) Hold(path string, value []byte) (io.Closer, error) {
	if path != dmaLatency {
		return nil, syscall.ENOENT
	}
	f.m.held++
	return hold(f), nil
}

const dmaLatency = "/dev/cpu_dma_latency"

// hold ends one request of the machine.
type hold struct{ m *machine }

func (h hold) Close() error { h.m.held--; return nil }

func (f machineFS) Writable(path string) error {
	return f.m.call("access", path, func() error {
		_, err := f.m.read(path)
		return err
	}, nil)
}

func (f machineFS) ReadDir(dir string) (names []string, err error) {
	err = f.m.call("readdir", dir, func() error {
		seen := map[string]bool{}
		for p := range f.m.files {
			if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
				name, _, _ := strings.Cut(rest, "/")
				seen[name] = true
			}
		}
		names = slices.Collect(maps.Keys(seen))
		host.SortNatural(names)
		return nil
	}, nil)
	return names, err
}

type machineDisk struct{ m *machine }

func (d machineDisk) ReadFile(path string) (b []byte, err error) {
	err = d.m.call("load", path, func() error {
		f := d.m.disk[path]
		if f == nil {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
		}
		b = slices.Clone(f.data)
		return nil
	}, nil)
	return b, err
}

func (d machineDisk) Append(path string, b []byte) error {
	add := func(b []byte) {
		if d.m.disk[path] == nil {
			d.m.disk[path] = &inode{}
		}
		f := d.m.disk[path]
		f.data = append(f.data, b...)
	}
	return d.m.call("append", path, func() error { add(b); return nil }, func() { add(b[:d.m.rand.IntN(len(b)+1)]) })
}

func (d machineDisk) Reserve(path string, _ int) error {
	return d.m.call("fallocate", path, func() error { return nil }, nil)
}

func (d machineDisk) Sync(name string) error {
	return d.m.call("sync", name, func() error {
		if f := d.m.disk[name]; f != nil {
			f.synced = len(f.data)
			return nil
		}
		for n := range d.m.stored {
			if path.Dir(n) == name && d.m.disk[n] == nil {
				delete(d.m.stored, n)
			}
		}
		for n, f := range d.m.disk {
			if path.Dir(n) == name {
				d.m.stored[n] = f
			}
		}
		return nil
	}, nil)
}

func (d machineDisk) Rename(from, to string) error {
	return d.m.call("rename", to, func() error {
		d.m.disk[to] = d.m.disk[from]
		delete(d.m.disk, from)
		return nil
	}, nil)
}

func (d machineDisk) Remove(path string) error {
	return d.m.call("unlink", path, func() error { delete(d.m.disk, path); return nil }, nil)
}

func (d machineDisk) MkdirAll(path string) error {
	return d.m.call("mkdir", path, func() error { return nil }, nil)
}

func (d machineDisk) Lock(string) (func(), error) {
	if d.m.locked {
		return nil, &lockfile.Busy{PID: 7}
	}
	err := d.m.call("lock", "/j", func() error { d.m.locked = true; return nil }, nil)
	return func() { d.m.locked = false }, err
}

// values is what every file that can be written holds, and what a policy's requests are.
func (m *machine) values() map[string]string {
	v := maps.Clone(m.files)
	for d, req := range m.minReq {
		v[d+"min request"] = req
	}
	return v
}
