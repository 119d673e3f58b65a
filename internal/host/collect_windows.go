package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"reflect"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"hostlab/internal/counters"
)

var (
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")
	powrprof = windows.NewLazySystemDLL("powrprof.dll")

	getLogicalProcessorInformationEx = kernel32.NewProc("GetLogicalProcessorInformationEx")
	globalMemoryStatusEx             = kernel32.NewProc("GlobalMemoryStatusEx")
	setThreadGroupAffinity           = kernel32.NewProc("SetThreadGroupAffinity")
	callNtPowerInformation           = powrprof.NewProc("CallNtPowerInformation")
	powerGetActiveScheme             = powrprof.NewProc("PowerGetActiveScheme")
)

func collectOS(ctx context.Context, f *Facts) {
	reg := localMachine{}
	f.Topology = osTopology()
	f.Windows = windowsPower(reg, activeScheme)
	f.Windows.Processors = windowsProcessors(f.Topology, powerInformation(f.Topology.Online.Or(nil)),
		processorCounters(ctx))
	f.Frequency.Current = windowsCurrent(f.Windows.Processors)
	f.Windows.SQLInstances, f.Windows.SQLServers = windowsSQLServers(reg, ServiceNow)
	logs, _ := readStorage(Tree{}, windowsLogs(f.Windows.SQLServers))
	f.Storage = append(f.Storage, logs...)
	f.Identity = windowsIdentity(reg, windowsVersion())
	f.Virt = Virt{Hypervisor: windowsHypervisor(reg)}
	f.Frequency.Boost = Unknown[bool](f.Frequency.Boost.Source, errForeign)
	for _, p := range []*Fact[float64]{&f.Kernel.PressureCPU, &f.Kernel.PressureIO} {
		*p = Unknown[float64](p.Source, errForeign)
	}
	f.Memory.Total = memoryTotal()
}

// CounterCPU is a CPU as the performance counters know it.
type CounterCPU struct {
	CPU      int
	Instance string  // of "Processor Information", as in 0,3
	Nominal  float64 // Hz; 0 unknown
}

// CounterCPUs lists the online CPUs, in ascending order.
func CounterCPUs() (list []CounterCPU) {
	top := osTopology()
	for _, p := range windowsProcessors(top, powerInformation(top.Online.Or(nil)), nil) {
		list = append(list, CounterCPU{p.CPU, counterInstances(top)[p.CPU], float64(p.Max.Or(0))})
	}
	return list
}

// osServers are the databases of this machine that its own system tells of.
func osServers() []Database {
	_, list := windowsSQLServers(localMachine{}, ServiceNow)
	return windowsDatabases(list)
}

func osTopology() Topology { return windowsTopology(processorInformation()) }

// counterNames lists the counters that facts of CPUs name in their tags.
func counterNames() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[WindowsCPU]()) {
		if name := f.Tag.Get("counter"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// processorCounters reads the counters of all processors by their names, each with its error where there is one.
func processorCounters(ctx context.Context) map[string]counters.Series {
	const over = time.Second // Microsoft asks for at least that between two collections
	names, out := counterNames(), map[string]counters.Series{}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = counterPath(name)
	}
	list, err := counters.Sample(ctx, over, paths)
	for i, name := range names {
		if out[name] = (counters.Series{Err: err}); err == nil {
			out[name] = list[i]
		}
	}
	return out
}

// activeScheme is the GUID of the power scheme in force.
func activeScheme() (string, error) {
	if err := powerGetActiveScheme.Find(); err != nil {
		return "", err
	}
	var guid *windows.GUID
	if code, _, _ := powerGetActiveScheme.Call(0, uintptr(unsafe.Pointer(&guid))); code != 0 {
		return "", syscall.Errno(code)
	}
	defer windows.LocalFree(windows.Handle(unsafe.Pointer(guid))) //nolint:errcheck // 16 bytes
	return ParseGUID(guid.String())
}

var serviceStates = map[uint32]string{
	windows.SERVICE_STOPPED: "stopped", windows.SERVICE_START_PENDING: "start pending",
	windows.SERVICE_STOP_PENDING: "stop pending",
	windows.SERVICE_RUNNING:      "running", windows.SERVICE_CONTINUE_PENDING: "continue pending",
	windows.SERVICE_PAUSE_PENDING: "pause pending",
	windows.SERVICE_PAUSED:        "paused",
}

// ServiceNow asks the service manager, which every user may.
func ServiceNow(name string) (Service, error) {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return Service{}, err
	}
	defer windows.CloseServiceHandle(manager) //nolint:errcheck // nothing was written
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return Service{}, err
	}
	h, err := windows.OpenService(manager, text, windows.SERVICE_QUERY_STATUS)
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) {
		return Service{}, fmt.Errorf("%w: no such service", fs.ErrNotExist)
	}
	if err != nil {
		return Service{}, err
	}
	defer windows.CloseServiceHandle(h) //nolint:errcheck // nothing was written
	var s windows.SERVICE_STATUS_PROCESS
	var need uint32
	if err := windows.QueryServiceStatusEx(h, windows.SC_STATUS_PROCESS_INFO, (*byte)(unsafe.Pointer(&s)),
		uint32(unsafe.Sizeof(s)), &need); err != nil {
		return Service{}, err
	}
	state := serviceStates[s.CurrentState]
	if state == "" {
		return Service{}, fmt.Errorf("state %d of a service is not known", s.CurrentState)
	}
	return Service{State: state, PID: int(s.ProcessId),
		Shared: s.ServiceType&windows.SERVICE_WIN32_SHARE_PROCESS != 0}, nil
}

// windowsVersion is what runs, which GetVersionEx tells only to programs whose
// manifest names it (RtlGetVersion, wdm.h).
func windowsVersion() [3]uint32 {
	v := windows.RtlGetVersion()
	return [3]uint32{v.MajorVersion, v.MinorVersion, v.BuildNumber}
}

func processorInformation() ([]byte, error) {
	const relationAll = 0xffff
	if err := getLogicalProcessorInformationEx.Find(); err != nil {
		return nil, err
	}
	var size uint32
	for range 4 { // a CPU may be added between two calls
		buf := make([]byte, max(size, 1))
		ok, _, err := getLogicalProcessorInformationEx.Call(relationAll, uintptr(unsafe.Pointer(&buf[0])),
			uintptr(unsafe.Pointer(&size)))
		if ok != 0 {
			return buf[:min(size, uint32(len(buf)))], nil
		}
		if !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
			return nil, err
		}
	}
	return nil, errors.New("the processors keep changing")
}

// powerInformation asks for the records of each processor group. The call tells of the caller's group alone, so that a
// thread of its own goes from group to group.
func powerInformation(online []int) map[int]groupPower {
	cpus := map[int]uintptr{} // mask, by group
	for _, cpu := range online {
		cpus[cpu/64] |= 1 << (cpu % 64)
	}
	out, done := map[int]groupPower{}, make(chan struct{})
	go func() {
		defer close(done)
		if len(cpus) > 1 {
			runtime.LockOSThread() // and never unlocked: the thread ends, with its affinity
		}
		for group, mask := range cpus {
			var p groupPower
			if len(cpus) > 1 {
				p.err = enterGroup(uint16(group), mask)
			}
			if p.err == nil {
				p.records, p.err = groupRecords(len(online), bits.OnesCount64(uint64(mask)))
			}
			out[group] = p
		}
	}()
	<-done
	return out
}

// enterGroup confines the calling thread to CPUs of a group.
func enterGroup(group uint16, mask uintptr) error {
	if err := setThreadGroupAffinity.Find(); err != nil {
		return err
	}
	want := struct {
		mask     uintptr
		group    uint16
		reserved [3]uint16
	}{mask: mask, group: group} // GROUP_AFFINITY
	if ok, _, err := setThreadGroupAffinity.Call(uintptr(windows.CurrentThread()), uintptr(unsafe.Pointer(&want)),
		0); ok == 0 {
		return fmt.Errorf("SetThreadGroupAffinity: %w", err)
	}
	return nil
}

// groupRecords returns the records of the caller's group, which has some of all CPUs.
func groupRecords(all, own int) ([]byte, error) {
	const processorInformation = 11
	if err := callNtPowerInformation.Find(); err != nil {
		return nil, err
	}
	buf := make([]byte, all*powerRecord)
	status, _, _ := callNtPowerInformation.Call(processorInformation, 0, 0, uintptr(unsafe.Pointer(&buf[0])),
		uintptr(len(buf)))
	if status != 0 {
		return nil, fmt.Errorf("NTSTATUS %#x", uint32(status))
	}
	return buf[:own*powerRecord], nil
}

func memoryTotal() Fact[int64] {
	var m struct {
		Length, Load          uint32
		TotalPhys, AvailPhys  uint64
		TotalPage, AvailPage  uint64
		TotalVirt, AvailVirt  uint64
		AvailExtendedVirtual_ uint64
	}
	m.Length = uint32(unsafe.Sizeof(m))
	const source = "GlobalMemoryStatusEx"
	if err := globalMemoryStatusEx.Find(); err != nil {
		return Unknown[int64](source, err)
	}
	if ok, _, err := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return Unknown[int64](source, err)
	}
	return Known(int64(m.TotalPhys), "B", source)
}

// localMachine reads the registry below HKEY_LOCAL_MACHINE.
type localMachine struct{}

func (localMachine) Text(key, name string) (string, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer k.Close()
	s, _, err := k.GetStringValue(name)
	return s, err
}

func (localMachine) Number(key, name string) (uint64, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE)
	if err != nil {
		return 0, err
	}
	defer k.Close()
	n, _, err := k.GetIntegerValue(name)
	return n, err
}

func (localMachine) Texts(key string) (map[string]string, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	names, err := k.ReadValueNames(0)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range names {
		if s, _, err := k.GetStringValue(name); err == nil {
			out[name] = s
		}
	}
	return out, nil
}

// VolumeRoot is where the volume of an existing path is mounted, such as C:\.
func VolumeRoot(full string) (string, error) {
	v, _, err := volumeOf(full)
	return v.Root, err
}

// volumeOf asks Windows for the volume of an existing path. Source names the calls.
func volumeOf(full string) (v volume, source string, err error) {
	source = "GetVolumeInformation"
	fail := func(call string, err error) (volume, string, error) {
		return volume{}, source, fmt.Errorf("%s: %w", call, err)
	}
	name, err := windows.UTF16PtrFromString(full)
	if err != nil {
		return volume{}, source, err
	}
	if _, err := windows.GetFileAttributes(name); err != nil {
		return volume{}, source, err
	}
	root := make([]uint16, len(full)+2+windows.MAX_PATH)
	if err := windows.GetVolumePathName(name, &root[0], uint32(len(root))); err != nil {
		return fail("GetVolumePathName", err)
	}
	var flags uint32
	kind := make([]uint16, windows.MAX_PATH+1)
	if err := windows.GetVolumeInformation(&root[0], nil, 0, nil, nil, &flags, &kind[0], uint32(len(kind))); err != nil {
		return fail("GetVolumeInformation", err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil { // quotas are of a directory
		if err = windows.GetDiskFreeSpaceEx(&root[0], &free, nil, nil); err != nil {
			return fail("GetDiskFreeSpaceEx", err)
		}
	}
	drive := windows.GetDriveType(&root[0])
	return volume{
		Root: windows.UTF16ToString(root), FSType: windows.UTF16ToString(kind), Free: int64(free),
		Remote: drive == windows.DRIVE_REMOTE, Memory: drive == windows.DRIVE_RAMDISK,
		ReadOnly: flags&windows.FILE_READ_ONLY_VOLUME != 0, DAX: flags&windows.FILE_DAX_VOLUME != 0,
	}, source, nil
}
