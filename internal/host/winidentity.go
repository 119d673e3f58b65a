package host

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

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
