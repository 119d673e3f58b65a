package host

import (
	"errors"
	"testing"

	"hostlab/internal/testkit"
)

func TestWindowsIdentity(t *testing.T) {
	version := func(name string) string { return winVersionKey + `\` + name }
	bios := func(name string) string { return winBIOSKey + `\` + name }
	for _, c := range []struct {
		name    string
		reg     fakeRegistry
		version [3]uint32
		want    [5]string // OS, kernel, product, BIOS, hypervisor
	}{
		{"server", fakeRegistry{
			version("ProductName"): "Windows Server 2022 Standard", version("DisplayVersion"): "21H2", version("UBR"): 2113,
			bios("SystemManufacturer"): "Microsoft Corporation", bios("SystemProductName"): "Virtual Machine", bios("BIOSVendor"): "American Megatrends Inc.",
			bios("BIOSVersion"): "090008", bios("BIOSReleaseDate"): "12/07/2018",
		}, [3]uint32{10, 0, 20348}, [5]string{
			"Windows Server 2022 Standard 21H2", "10.0.20348.2113", "Microsoft Corporation Virtual Machine", "American Megatrends Inc. 090008 12/07/2018", "hyper-v",
		}},
		{"Windows 11 calls itself 10", fakeRegistry{version("ProductName"): "Windows 10 Pro", version("DisplayVersion"): "23H2"}, [3]uint32{10, 0, 22631},
			[5]string{"Windows 11 Pro 23H2", "10.0.22631", "absent", "absent", "absent"}},
		{"Windows 10 is one", fakeRegistry{version("ProductName"): "Windows 10 Pro"}, [3]uint32{10, 0, 19045},
			[5]string{"Windows 10 Pro", "10.0.19045", "absent", "absent", "absent"}},
		{"the product repeats the vendor", fakeRegistry{version("ProductName"): "Microsoft Windows 7", bios("SystemManufacturer"): "VMware, Inc.", bios("SystemProductName"): "VMware, Inc. VMware7,1"},
			[3]uint32{6, 1, 7601}, [5]string{"Windows 7", "6.1.7601", "VMware, Inc. VMware7,1", "absent", "vmware"}},
		{"hardware proves nothing", fakeRegistry{version("ProductName"): "", bios("SystemManufacturer"): "Dell Inc.", bios("SystemProductName"): " ", bios("BIOSVersion"): errors.New("broken")},
			[3]uint32{10, 0, 17763}, [5]string{"absent", "10.0.17763", "Dell Inc.", "error", "absent"}},
	} {
		id := windowsIdentity(c.reg, c.version)
		var got [5]string
		for i, f := range []Fact[string]{id.OS, id.Kernel, id.Product, id.BIOS, windowsHypervisor(c.reg)} {
			if got[i] = f.Value; f.State != StateOK {
				got[i] = string(f.State)
			}
		}
		testkit.Same(t, c.want, got, c.name)
	}
}

func TestVolumeStorage(t *testing.T) {
	for _, c := range []struct {
		v     volume
		class string
		state State
	}{
		{volume{Root: `C:\`, FSType: "NTFS", Free: 1 << 30}, "", StateAbsent},
		{volume{Root: `\\srv\log\`, FSType: "NTFS", Remote: true}, ClassNetwork, StateOK},
		{volume{Root: `R:\`, FSType: "FAT32", Memory: true}, ClassMemory, StateOK},
		{volume{Root: `P:\`, FSType: "NTFS", DAX: true}, ClassPmemDAX, StateOK},
	} {
		s := c.v.storage("log", `C:\log`, "GetVolumeInformation")
		if s.Class.Value != c.class || s.Class.State != c.state {
			t.Errorf("%+v is %s %q", c.v, s.Class.State, s.Class.Value)
		}
		if s.MountPoint.Value != c.v.Root || s.FreeBytes.Value != c.v.Free || s.FreeBytes.Unit != "B" || s.Device.State != StateAbsent || s.Device.Reason != NotTold {
			t.Errorf("%+v", s)
		}
	}
}
