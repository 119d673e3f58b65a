package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// session is the programs while they are attached. All of it are file descriptors of
// this process and nothing is pinned, so that it goes with the process, however that ends.
type session struct {
	objects schedObjects
	links   []link.Link // of what follows processes
	watch   []link.Link // of what counts; nil while that is detached
	ring    *ringbuf.Reader
	rows    *ebpf.Memory
	cpus    []int // online
	sibling map[int]int
	stats   interface{ Close() error } // nil while the kernel does not time programs

	clock float64 // ns that reading it takes

	events  *ringbuf.Reader // nil: they stay in the kernel
	list    []schedEvent    // of the last window
	dropped uint64

	number  uint64 // of the last window; it goes on where a session begins anew, as tasks keep theirs
	windows [2]schedWindow
	record  ringbuf.Record

	hierarchy hierarchy // of its target's groups
	chains    bool
}

// initialPIDs is the inode of the first PID namespace (include/linux/proc_ns.h).
const initialPIDs = 0xEFFFFFFC

// open loads. An *Unavailable is a kernel or user for which that cannot be.
func open(tree host.Tree, h hierarchy, chains bool) (s *session, err error) {
	s = &session{clock: clockTime(), hierarchy: h, chains: chains}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.cpus, err = online(tree); err != nil {
		return s, err
	}
	spec, err := loadSched()
	if err != nil {
		return s, err
	}
	if err := s.shape(spec, tree, h); err != nil {
		return s, err
	}
	if err := roomFor(spec, len(s.cpus), chains); err != nil {
		return s, err
	}
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return s, unavailable(err)
	}
	if s.rows, err = s.objects.Cpus.Memory(); err != nil {
		return s, err
	}
	if s.ring, err = ringbuf.NewReader(s.objects.Ring); err != nil {
		return s, err
	}
	if chains {
		s.events, err = ringbuf.NewReader(s.objects.Events)
	}
	return s, err
}

func online(tree host.Tree) ([]int, error) {
	cpus := tree.List("/sys/devices/system/cpu/online").Or(nil)
	if len(cpus) == 0 {
		return nil, errors.New("/sys/devices/system/cpu/online: it lists no CPU")
	}
	return cpus, nil
}

// fits reports whether programs that are loaded already do for a target.
func (s *session) fits(tree host.Tree, h hierarchy, chains bool) bool {
	cpus, err := online(tree)
	return err == nil && slices.Equal(cpus, s.cpus) && h == s.hierarchy && chains == s.chains
}

// start attaches to a target, of which groups have these numbers.
func (s *session) start(tree host.Tree, target Target, groups []uint64) (err error) {
	s.pair(tree)
	for _, id := range groups {
		if err := s.objects.Cgroups.Put(id, uint8(1)); err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	// Processes come and go: first those that follow them, then the processes, then what counts.
	if s.links, err = attach(s.objects.OnFork, s.objects.OnExit); err != nil {
		return err
	}
	if err := s.adopt(target.PIDs); err != nil {
		return err
	}
	s.watch, err = attach(s.objects.OnSwitch, s.objects.OnWakeupNew, s.objects.OnWaking)
	return err
}

// stop detaches everything, and forgets all that was seen: the next start is as the first one.
func (s *session) stop() error {
	s.time(false)
	err := closeAll(append(s.links, s.watch...))
	s.links, s.watch, s.windows = nil, nil, [2]schedWindow{}
	err = errors.Join(err, s.objects.Windows.Set(s.windows), s.objects.State.Set(s.number<<1))
	row := schedCpu{Seen: uint32(s.number)} //nolint:gosec // as programs keep it
	for c := range slices.Max(s.cpus) + 1 {
		err = errors.Join(err, s.put(c, 0, unsafe.Slice((*byte)(unsafe.Pointer(&row)), unsafe.Sizeof(row))))
	}
	for _, m := range []*ebpf.Map{s.objects.Processes, s.objects.Words, s.objects.Cgroups} {
		err = errors.Join(err, clearMap(m))
	}
	err = errors.Join(err, s.drain(func(*schedBurst) {}))
	if s.events != nil {
		err = errors.Join(err, empty(s.events, &s.record, func(*schedEvent) {}))
	}
	return errors.Join(err, s.objects.Dropped.Get(&s.dropped))
}

func clearMap(m *ebpf.Map) error {
	for {
		key, err := m.NextKeyBytes(nil)
		if err != nil || key == nil {
			return err
		}
		if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
}

// detach takes the programs away that count, until reattach.
func (s *session) detach() error {
	links := s.watch
	s.watch = nil
	return closeAll(links)
}

func closeAll(links []link.Link) (err error) {
	for _, l := range links {
		err = errors.Join(err, l.Close())
	}
	return err
}

// reattach has each CPU begin anew: what it did meanwhile is not known.
func (s *session) reattach() (err error) {
	if s.watch != nil {
		return nil
	}
	for _, c := range s.cpus {
		if err := s.put(c, unsafe.Offsetof(schedCpu{}.Known), []byte{0}); err != nil {
			return err
		}
	}
	s.watch, err = attach(s.objects.OnSwitch, s.objects.OnWakeupNew, s.objects.OnWaking)
	return err
}

// put writes into a CPU's row, which no program does then.
func (s *session) put(cpu int, at uintptr, b []byte) error {
	_, err := s.rows.WriteAt(b, int64(cpu)*int64(unsafe.Sizeof(schedCpu{}))+int64(at))
	return err
}

// shape fits the programs to the machine and the target.
func (s *session) shape(spec *ebpf.CollectionSpec, tree host.Tree, h hierarchy) error {
	possible := slices.Concat(tree.List("/sys/devices/system/cpu/possible").Or(nil), s.cpus)
	spec.Maps[schedMapCpus].MaxEntries = uint32(slices.Max(possible)) + 1
	if h.version > 0 {
		if err := spec.Variables[schedVarByCgroup].Set(uint8(1)); err != nil {
			return err
		}
	}
	if h.version == 1 {
		n, err := subsystem(h.controller)
		if err != nil {
			return err
		}
		return spec.Variables[schedVarCgroupSubsys].Set(n)
	}
	return nil
}

// subsystem is the kernel's number of a controller, which its configuration decides.
func subsystem(controller string) (int32, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return 0, unavailable(err)
	}
	var e *btf.Enum
	if err := kernel.TypeByName("cgroup_subsys_id", &e); err != nil {
		return 0, unavailable(err)
	}
	// The kernel's names of two controllers differ from those of their files.
	name := controller
	if own, ok := map[string]string{"blkio": "io", "memory": "memory"}[controller]; ok {
		name = own
	}
	for _, v := range e.Values {
		if v.Name == name+"_cgrp_id" {
			return int32(v.Value), nil
		}
	}
	return 0, fmt.Errorf("the kernel has no controller %s", controller)
}

func attach(programs ...*ebpf.Program) (links []link.Link, err error) {
	for _, p := range programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			return nil, errors.Join(unavailable(err), closeAll(links))
		}
		links = append(links, l)
	}
	return links, nil
}

func (s *session) pair(tree host.Tree) {
	s.sibling = siblings(tree, s.cpus)
	for row := range slices.Max(s.cpus) + 1 {
		n := int32(-1)
		if other, ok := s.sibling[row]; ok {
			n = int32(other)
		}
		_ = s.put(row, unsafe.Offsetof(schedCpu{}.Sibling), binary.NativeEndian.AppendUint32(nil, uint32(n))) // within bounds
	}
}

// adopt makes the processes and their children the service. One that ends while /proc is
// read is taken out again: its exit may have come before it was put in.
func (s *session) adopt(roots []int) error {
	for _, pid := range (Target{PIDs: roots}).Processes() {
		if err := s.objects.Processes.Put(uint32(pid), uint8(1)); err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		if !exists(pid) {
			_ = s.objects.Processes.Delete(uint32(pid))
		}
	}
	return nil
}

// deserted tells whether no process of the target is left.
func (s *session) deserted(target Target) bool {
	for {
		var pid uint32
		err := s.objects.Processes.NextKey(nil, &pid)
		if err != nil || exists(int(pid)) {
			return errors.Is(err, ebpf.ErrKeyNotExist) && len(proc.InGroups(target.Cgroups...)) == 0
		}
		// it ended while it was put in
		if err := s.objects.Processes.Delete(pid); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return false
		}
	}
}

// begin opens a window. It closes by itself.
func (s *session) begin(length time.Duration) error {
	last := s.windows[s.number&1]
	s.number++
	s.windows[s.number&1] = schedWindow{Opened: monotonic(), Length: uint64(length), Before: last.Before + last.Length}
	if err := s.objects.Windows.Set(s.windows); err != nil {
		return err
	}
	return s.objects.State.Set(s.number<<1 | 1)
}

// end closes the window if no switch has done so since its time is over.
func (s *session) end() error { return s.objects.State.Set(s.number << 1) }

// before is T now, in ns: all windows, with the last one.
func (s *session) before() float64 {
	w := s.windows[s.number&1]
	return float64(w.Before + w.Length)
}

// read copies all rows.
func (s *session) read(into map[int]*schedCpu) error {
	size := int(unsafe.Sizeof(schedCpu{}))
	for _, c := range s.cpus {
		row := into[c]
		if row == nil {
			row = &schedCpu{}
			into[c] = row
		}
		if _, err := s.rows.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(row)), size), int64(c*size)); err != nil {
			return err
		}
	}
	return nil
}

// drain hands over all bursts that are complete.
func (s *session) drain(take func(*schedBurst)) error {
	return empty(s.ring, &s.record, take)
}

// empty takes all that a ring holds.
func empty[T any](ring *ringbuf.Reader, record *ringbuf.Record, take func(*T)) error {
	var size T
	ring.SetDeadline(time.Unix(1, 0)) // what is there, without waiting
	for {
		switch err := ring.ReadInto(record); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		case len(record.RawSample) >= int(unsafe.Sizeof(size)):
			take((*T)(unsafe.Pointer(&record.RawSample[0])))
		}
	}
}

// programs are the time of all programs since they were loaded, while the kernel kept
// statistics: without the reading of the clock that each run's time then holds.
func (s *session) programs() (ns float64, err error) {
	for _, p := range []*ebpf.Program{s.objects.OnSwitch, s.objects.OnWaking, s.objects.OnWakeupNew} {
		st, err := p.Stats()
		if err != nil {
			return 0, err
		}
		ns += max(float64(st.Runtime)-float64(st.RunCount)*s.clock, 0)
	}
	return ns, nil
}

// clockTime is what one reading of the clock takes, in ns: the least, since nothing makes one shorter.
func clockTime() float64 {
	const n = 200
	best := math.Inf(1)
	for range 50 {
		began := time.Now()
		for range n {
			_ = time.Since(began)
		}
		best = min(best, float64(time.Since(began))/n)
	}
	return best
}

// time makes the kernel time programs, or stop it: two readings of the clock an event.
func (s *session) time(on bool) {
	if s.stats != nil && !on {
		_ = s.stats.Close()
		s.stats = nil
	}
	if s.stats == nil && on {
		if c, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME)); err == nil {
			s.stats = c
		}
	}
}

// settle makes CPUs that have not switched since the last window closed do so, each
// once: else the stretch of a task that still runs there is not counted.
func (s *session) settle(rows map[int]*schedCpu) {
	// The caller holds this thread. It must not end: children of this process may be bound to it (PR_SET_PDEATHSIG).
	var before unix.CPUSet
	if unix.SchedGetaffinity(0, &before) != nil {
		return
	}
	for _, c := range s.cpus {
		if row := rows[c]; row.Known != 0 && uint64(row.Seen) == s.number {
			continue
		}
		var set unix.CPUSet
		set.Set(c)
		_ = unix.SchedSetaffinity(0, &set) // a cpuset may forbid it: then that stretch is not counted
	}
	_ = unix.SchedSetaffinity(0, &before) // it was so before
}

func (s *session) close() {
	s.time(false)
	_ = closeAll(append(s.links, s.watch...))
	for _, r := range []*ringbuf.Reader{s.ring, s.events} {
		if r != nil {
			_ = r.Close()
		}
	}
	if s.objects.OnSwitch != nil {
		_ = s.objects.Close()
	}
}

// monotonic is the clock that programs read.
func monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail
	return uint64(t.Nano())
}

// kernelTypes is where the programs find the fields that they read, of whichever kernel.
const kernelTypes = "/sys/kernel/btf/vmlinux"

func missing(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, os.ErrNotExist)
}

// unavailable says why the kernel refused.
func unavailable(err error) error {
	var no *ebpf.VerifierError
	switch {
	case errors.As(err, &no): // also EACCES
		return &Unavailable{fmt.Sprintf("this kernel refuses the programs: %v", err)}
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return &Unavailable{"loading programs into the kernel needs root (or CAP_BPF and CAP_PERFMON)"}
	case missing(kernelTypes):
		return &Unavailable{"this kernel does not describe its types (" + kernelTypes +
			", of CONFIG_DEBUG_INFO_BTF), which the programs need"}
	case errors.Is(err, btf.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, ebpf.ErrNotSupported):
		return &Unavailable{fmt.Sprintf("this kernel lacks what the programs need, Linux 5.12 with CONFIG_DEBUG_INFO_BTF: %v",
			err)}
	}
	return err
}
