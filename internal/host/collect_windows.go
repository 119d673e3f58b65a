package host

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

var (
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")
	powrprof = windows.NewLazySystemDLL("powrprof.dll")

	getLogicalProcessorInformationEx = kernel32.NewProc("GetLogicalProcessorInformationEx")
	globalMemoryStatusEx             = kernel32.NewProc("GlobalMemoryStatusEx")
	callNtPowerInformation           = powrprof.NewProc("CallNtPowerInformation")
)

func collectOS(f *Facts) {
	reg := localMachine{}
	f.Topology = windowsTopology(processorInformation())
	f.Windows = windowsPower(reg)
	records, err := powerInformation(f.Topology.Threads.Or(0))
	f.Windows.CPUMHz = windowsMHz(records, err)
	f.Frequency.Current = windowsCurrent(f.Windows.CPUMHz)
	f.Identity = windowsIdentity(reg, windowsVersion())
	f.Virt = Virt{Hypervisor: windowsHypervisor(reg)}
	f.Frequency.Boost = Unknown[bool](f.Frequency.Boost.Source, errForeign)
	for _, p := range []*Fact[float64]{&f.Kernel.PressureCPU, &f.Kernel.PressureIO} {
		*p = Unknown[float64](p.Source, errForeign)
	}
	f.Memory.Total = memoryTotal()
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
		ok, _, err := getLogicalProcessorInformationEx.Call(relationAll, uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)))
		if ok != 0 {
			return buf[:min(size, uint32(len(buf)))], nil
		}
		if !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
			return nil, err
		}
	}
	return nil, errors.New("the processors keep changing")
}

func powerInformation(cpus int) ([]byte, error) {
	const processorInformation = 11
	if err := callNtPowerInformation.Find(); err != nil {
		return nil, err
	}
	if cpus == 0 {
		return nil, errors.New("the number of processors is not known")
	}
	buf := make([]byte, cpus*powerRecord)
	status, _, _ := callNtPowerInformation.Call(processorInformation, 0, 0, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	if status != 0 {
		return nil, fmt.Errorf("NTSTATUS %#x", uint32(status))
	}
	return buf, nil
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
