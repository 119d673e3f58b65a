package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/counters"
)

// powerRecord is the size of PROCESSOR_POWER_INFORMATION: Number, MaxMhz,
// CurrentMhz, MhzLimit, MaxIdleState and CurrentIdleState, 32 bits each.
const powerRecord = 24

const powerSource = "CallNtPowerInformation(ProcessorInformation)"

// groupPower is what a call made in one processor group has of its CPUs.
type groupPower struct {
	records []byte
	err     error
}

// windowsProcessors tells of each online CPU what its group's records and the counters have. CurrentMhz is
// what the last processor power state stands for, not a measured frequency.
func windowsProcessors(top Topology, groups map[int]groupPower, series map[string]counters.Series) []WindowsCPU {
	list := []WindowsCPU{}
	instances := counterInstances(top)
	for _, cpu := range top.Online.Or(nil) {
		w := WindowsCPU{CPU: cpu}
		hz := func(at int) Fact[int64] { return windowsHz(groups[cpu/64], cpu%64, at) }
		w.Max, w.Current, w.Limit = hz(4), hz(8), hz(12)
		v := reflect.ValueOf(&w).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("counter")
			if name == "" {
				continue
			}
			number := counterOf(counterPath(name), series[name], instances[cpu])
			switch f := v.Field(i).Addr().Interface().(type) {
			case *Fact[float64]:
				*f = Convert(number, "%", func(v float64) (float64, error) {
					if v <= 0 {
						return 0, errors.New("0 % is no frequency: the counter counts nothing here")
					}
					return v, nil
				})
			case *Fact[bool]:
				*f = Convert(number, "", func(v float64) (bool, error) { return v != 0, nil })
			}
		}
		list = append(list, w)
	}
	return list
}

// windowsHz reads a frequency of a CPU from the records of its group.
func windowsHz(group groupPower, number, at int) Fact[int64] {
	if group.err != nil {
		return Unknown[int64](powerSource, group.err)
	}
	for r := group.records; len(r) >= powerRecord; r = r[powerRecord:] {
		mhz := binary.LittleEndian.Uint32(r[at:])
		switch {
		case int(binary.LittleEndian.Uint32(r)) != number:
		case mhz == 0:
			return Unknown[int64](powerSource, errors.New("0 MHz is no frequency"))
		default:
			return Known(int64(mhz)*1e6, "Hz", powerSource)
		}
	}
	return absentFact[int64](powerSource, "Windows tells nothing of this processor")
}

// windowsCurrent turns the records into the form that Linux' facts have.
func windowsCurrent(list []WindowsCPU) []CPUCurrent {
	out := make([]CPUCurrent, len(list))
	for i, m := range list {
		out[i] = CPUCurrent{CPU: m.CPU, Frequency: m.Current, Percent: percent(m.Current, m.Max)}
		if out[i].Percent.State == StateOK {
			out[i].Percent.Source = m.Current.Source
		}
	}
	return out
}

func counterPath(name string) string { return `\Processor Information(*)\` + name }

// counterInstances names each CPU as the counters do: its NUMA node, and its place among the CPUs of that node.
func counterInstances(top Topology) map[int]string {
	out := map[int]string{}
	for _, n := range top.NUMA {
		for i, cpu := range n.CPUs.Or(nil) {
			out[cpu] = strconv.Itoa(n.ID) + "," + strconv.Itoa(i)
		}
	}
	return out
}

func counterOf(source string, s counters.Series, instance string) Fact[float64] {
	if s.Err != nil {
		return Unknown[float64](source, s.Err)
	}
	for _, v := range s.Values {
		switch {
		case v.Instance != instance:
		case v.Err != nil:
			return Unknown[float64](source, v.Err)
		default:
			return Known(v.Value, "", source)
		}
	}
	return absentFact[float64](source, fmt.Sprintf("the counter has no instance %q", instance))
}

const sqlKey = `SOFTWARE\Microsoft\Microsoft SQL Server`

// Service is what Windows' service manager tells: stopped, running, ...; PID is 0 unless it runs.
type Service struct {
	State  string
	PID    int
	Shared bool // others may run in that process
}

// windowsSQLServers finds the instances of SQL Server that are installed, by the registry and the service manager. The
// count is absent where there is none.
func windowsSQLServers(reg hklm, look func(service string) (Service, error)) (count Fact[int], list []SQLServer) {
	const names = sqlKey + `\Instance Names\SQL`
	source := `HKLM\` + names
	list = []SQLServer{}
	ids, err := reg.Texts(names)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(ids) == 0 {
		return absentFact[int](source, "no SQL Server is installed"), list
	}
	if err != nil {
		return Unknown[int](source, err), list
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		key := sqlKey + `\` + ids[name]
		s := SQLServer{Instance: name, Service: "MSSQL$" + name,
			Version: firstKnown(notEmpty(regText(reg, key+`\Setup`, "PatchLevel")),
				notEmpty(regText(reg, key+`\Setup`, "Version"))),
			Edition: notEmpty(regText(reg, key+`\Setup`, "Edition")),
			DataDir: notEmpty(regText(reg, key+`\MSSQLServer`, "DefaultData")),
			LogDir: firstKnown(notEmpty(regText(reg, key+`\MSSQLServer`, "DefaultLog")),
				masterLog(reg, key+`\MSSQLServer\Parameters`))}
		if strings.EqualFold(name, "MSSQLSERVER") { // the default instance
			s.Service = name
		}
		const manager = "QueryServiceStatusEx"
		found, err := look(s.Service)
		s.State, s.PID = Known(found.State, "", manager), Known(found.PID, "", manager)
		switch {
		case err != nil:
			s.State, s.PID = Unknown[string](manager, err), Unknown[int](manager, err)
		case found.PID == 0:
			s.PID = absentFact[int](manager, "the service does not run")
		}
		list = append(list, s)
	}
	return Known(len(list), "", source), list
}

// Servers are the databases that run here.
func (f *Facts) Servers() []Database {
	if f.Windows == nil {
		return f.Databases
	}
	return append(slices.Clip(f.Databases), windowsDatabases(f.Windows.SQLServers)...)
}

// windowsDatabases are the instances that run.
func windowsDatabases(list []SQLServer) (out []Database) {
	for _, s := range list {
		if pid := s.PID.Or(0); pid != 0 {
			out = append(out, Database{Kind: "sqlserver", PID: pid, DataDir: s.DataDir, LogDir: s.LogDir, Version: s.Version})
		}
	}
	return out
}

// masterLog is the directory of the log of master, which the service is started with: -lC:\...\mastlog.ldf. Logs of
// databases made later are there too, unless DefaultLog names another directory.
func masterLog(reg hklm, key string) Fact[string] {
	args, err := reg.Texts(key)
	if err != nil {
		return Unknown[string](`HKLM\`+key, err)
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		file, ok := strings.CutPrefix(args[name], "-l")
		if at := strings.LastIndexByte(file, '\\'); ok && at > 0 {
			return Known(strings.TrimSuffix(file[:at], `\`), "", `HKLM\`+key+`\`+name)
		}
	}
	return absentFact[string](`HKLM\`+key, "no parameter names the log")
}

// windowsLogs asks where the instances keep their logs. An instance may share a directory with another.
func windowsLogs(servers []SQLServer) (asked []PathQuery) {
	for _, s := range servers {
		q := PathQuery{Path: s.LogDir.Or(""), Purpose: "mssql log"}
		if q.Path != "" && !slices.Contains(asked, q) {
			asked = append(asked, q)
		}
	}
	return asked
}

const (
	winVersionKey = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	winCPUKey     = `HARDWARE\DESCRIPTION\System\CentralProcessor\0`
	winBIOSKey    = `HARDWARE\DESCRIPTION\System\BIOS`
)

// windowsIdentity names a machine by the registry and by the version (major,
// minor, build) that RtlGetVersion tells.
func windowsIdentity(reg hklm, version [3]uint32) Identity {
	bios := func(name string) Fact[string] { return notEmpty(regText(reg, winBIOSKey, name)) }
	id := Identity{
		OS:        windowsOS(reg, version),
		Kernel:    windowsKernel(reg, version),
		Arch:      Known(runtime.GOARCH, "", "architecture that hostlab was built for"),
		CPUModel:  notEmpty(regText(reg, winCPUKey, "ProcessorNameString")),
		CPUVendor: notEmpty(regText(reg, winCPUKey, "VendorIdentifier")),
		Product:   joinFacts(bios("SystemManufacturer"), bios("SystemProductName")),
		BIOS:      joinFacts(bios("BIOSVendor"), bios("BIOSVersion"), bios("BIOSReleaseDate")),
	}
	const ticks = "the kernel's configuration"
	id.Microcode = Unknown[string](winCPUKey, errForeign)
	id.ClockTicksHz = Unknown[int64](ticks, errForeign)
	name, err := os.Hostname()
	if id.Hostname = Known(name, "", "GetComputerNameEx"); err != nil {
		id.Hostname = Unknown[string]("GetComputerNameEx", err)
	}
	return id
}

// windowsOS is ProductName with DisplayVersion, as in "Windows Server 2022 Standard
// 21H2". ProductName of Windows 11 still says 10; its builds start at 22000.
// Servers have a name of their own from 2016 on and say it rightly.
func windowsOS(reg hklm, version [3]uint32) Fact[string] {
	f := notEmpty(regText(reg, winVersionKey, "ProductName"))
	name, ok := f.Get()
	if !ok {
		return f
	}
	name = strings.TrimPrefix(name, "Microsoft ")
	if edition, ten := strings.CutPrefix(name, "Windows 10"); ten && version[2] >= 22000 {
		name = "Windows 11" + edition
	}
	if release, ok := notEmpty(regText(reg, winVersionKey, "DisplayVersion")).Get(); ok {
		name += " " + release
	}
	f.Value = name
	return f
}

// windowsKernel is the version as `ver` writes it, 10.0.20348.2113: UBR counts the
// updates of a build.
func windowsKernel(reg hklm, version [3]uint32) Fact[string] {
	text := fmt.Sprintf("%d.%d.%d", version[0], version[1], version[2])
	if revision, err := reg.Number(winVersionKey, "UBR"); err == nil {
		return Known(fmt.Sprintf("%s.%d", text, revision), "", `RtlGetVersion and HKLM\`+winVersionKey+`\UBR`)
	}
	return Known(text, "", "RtlGetVersion")
}

// windowsHypervisor names the hypervisor by what the firmware calls the machine.
// That it calls it something else proves nothing: where virtualization-based
// security is on, Windows runs on a hypervisor of its own on real hardware.
func windowsHypervisor(reg hklm) Fact[string] {
	vendor, product := regText(reg, winBIOSKey, "SystemManufacturer"), regText(reg, winBIOSKey, "SystemProductName")
	name, _ := vendorHypervisor(vendor, product)
	switch {
	case name.State == StateOK:
		return name
	case notEmpty(vendor).State == StateOK:
		return absentFact[string](vendor.Source, clip(vendor.Value)+" is no known hypervisor's machine, which proves nothing")
	}
	return notEmpty(vendor)
}
