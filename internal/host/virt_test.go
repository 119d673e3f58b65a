package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hostlab/internal/testkit"
)

const (
	guestCPU = "-- proc/cpuinfo --\nprocessor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu lm hypervisor\n\n"
	metalCPU = "-- proc/cpuinfo --\nprocessor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu lm\n\n"
	armCPU   = "-- proc/cpuinfo --\nprocessor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n\n"
	powerCPU = "-- proc/cpuinfo --\nprocessor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n\n"
	s390CPU  = "-- proc/cpuinfo --\nvendor_id       : IBM/S390\nprocessor 0: version = 00,  identification = 0A1234,  machine = 2964\n\n"
	clocks   = "-- sys/devices/system/clocksource/clocksource0/available_clocksource --\n"
)

func dmiFiles(vendor, product string) string {
	return "-- sys/class/dmi/id/sys_vendor --\n" + vendor + "\n-- sys/class/dmi/id/product_name --\n" + product + "\n"
}

func TestReadHypervisor(t *testing.T) {
	tests := []struct {
		name, archive, want string
	}{
		{"bare metal", metalCPU + dmiFiles("Dell Inc.", "PowerEdge R750"), "none"},
		{"VMware", guestCPU + dmiFiles("VMware, Inc.", "VMware Virtual Platform"), "vmware"},
		{"Hyper-V", guestCPU + dmiFiles("Microsoft Corporation", "Virtual Machine"), "hyper-v"},
		{"Azure", guestCPU + dmiFiles("Microsoft Corporation", "Virtual Machine") +
			"-- sys/class/dmi/id/chassis_asset_tag --\n7783-7084-3265-9085-8269-3286-77\n", "hyper-v (Azure)"},
		{"a Surface is no guest", metalCPU + dmiFiles("Microsoft Corporation", "Surface Pro"), "none"},
		{"AWS Nitro", guestCPU + dmiFiles("Amazon EC2", "m5.large"), "kvm (Amazon EC2)"},
		{"AWS metal", metalCPU + dmiFiles("Amazon EC2", "m5.metal"), "none"},
		{"AWS Graviton", armCPU + dmiFiles("Amazon EC2", "m7g.large"), "kvm (Amazon EC2)"},
		{"AWS Graviton metal", armCPU + dmiFiles("Amazon EC2", "m7g.metal"), "none"},
		{"Google", guestCPU + dmiFiles("Google", "Google Compute Engine"), "kvm (Google Cloud)"},
		{"QEMU with KVM", guestCPU + dmiFiles("QEMU", "Standard PC (Q35 + ICH9, 2009)") + clocks + "kvm-clock tsc acpi_pm\n", "kvm"},
		{"QEMU emulating", guestCPU + dmiFiles("QEMU", "Standard PC (Q35 + ICH9, 2009)") + clocks + "tsc acpi_pm\n", "qemu"},
		{"Xen", "-- sys/hypervisor/type --\nxen\n" + guestCPU, "xen"},
		{"Xen's control domain", "-- sys/hypervisor/type --\nxen\n-- proc/xen/capabilities --\ncontrol_d\n" + metalCPU, "xen (control domain)"},
		{"no DMI, a clock", guestCPU + clocks + "tsc kvm-clock\n", "kvm"},
		{"no DMI, Hyper-V's clock", guestCPU + clocks + "hyperv_clocksource_tsc_page\n", "hyper-v"},
		{"Firecracker", guestCPU + clocks + "tsc kvm-clock\n-- sys/firmware/acpi/tables/FACP --\nFACP....ofFIRECKFC\n", "kvm (Firecracker)"},
		{"only the flag", guestCPU + clocks + "tsc\n", "unknown hypervisor"},
		{"Arm with QEMU's board", armCPU + "-- proc/device-tree/compatible --\nlinux,dummy-virt␀\n", "kvm"},
		{"Arm board", armCPU + "-- proc/device-tree/compatible --\nraspberrypi,4-model-b␀brcm,bcm2711␀\n", "none"},
		{"Arm under Xen", armCPU + "-- proc/device-tree/hypervisor/compatible --\nxen,xen-4.17␀xen,xen␀\n", "xen"},
		{"Arm server", armCPU + dmiFiles("GIGABYTE", "R272-P30-JG"), "none"},
		{"Arm without anything", armCPU, "absent"},
		{"Arm whose firmware is called as a hypervisor is", armCPU + "-- proc/device-tree/compatible --\nacme,board␀\n-- proc/device-tree/psci/method --\nhvc␀\n", "unknown hypervisor"},
		{"Arm under a hypervisor with a name of its own", armCPU + "-- proc/device-tree/hypervisor/compatible --\ngunyah-hypervisor␀\n", "unknown hypervisor"},
		{"Arm of a name that may be anybody's", armCPU + dmiFiles("Acme Cloud", "c1.large"), "error"},
		{"PowerVM", powerCPU + "-- proc/device-tree/compatible --\nIBM,9009-42A␀\n-- proc/device-tree/ibm,partition-name --\nlpar14␀\n", "PowerVM"},
		{"PowerVM by its partition's limits", powerCPU + "-- proc/device-tree/compatible --\nIBM,8286-42A␀\n-- proc/ppc64/lparcfg --\npartition_id=1\n", "PowerVM"},
		{"KVM on Power, which names a partition too", powerCPU + "-- proc/device-tree/hypervisor/compatible --\nlinux,kvm␀\n" +
			"-- proc/device-tree/compatible --\nqemu,pseries␀\n-- proc/device-tree/ibm,partition-name --\nvm␀\n", "kvm"},
		{"QEMU on Power without KVM", powerCPU + "-- proc/device-tree/compatible --\nqemu,pseries␀\n-- proc/device-tree/ibm,partition-name --\nvm␀\n", "qemu"},
		{"Power without a hypervisor", powerCPU + "-- proc/device-tree/compatible --\nibm,powernv␀ibm,p9-openbmc␀\n-- proc/ppc64/lparcfg --\nx\n", "none"},
		{"a partition of IBM Z", s390CPU + "-- proc/sysinfo --\nType:                 2964\nLPAR Number:          26\n", "PR/SM"},
		{"z/VM", s390CPU + "-- proc/sysinfo --\nLPAR Number:          26\nVM00 Control Program: z/VM    7.2.0\n", "z/VM"},
		{"KVM in z/VM", s390CPU + "-- proc/sysinfo --\nLPAR Number:          26\n\nVM01 Control Program: z/VM    6.3.0\n\nVM00 Control Program: KVM/Linux\n", "kvm"},
		{"z/VM in z/VM, with levels that are hidden", s390CPU + "-- proc/sysinfo --\nVM02 Control Program: KVM/Linux\nVM01 Control Program: z/VM 6.4\n", "z/VM"},
		{"IBM Z that hides what it is", s390CPU, "absent"},
		{"QEMU's RISC-V board", "-- proc/cpuinfo --\nprocessor\t: 0\nisa\t: rv64imafdc\n-- proc/device-tree/compatible --\nriscv-virtio␀\n", "qemu"},
		{"a RISC-V board", "-- proc/cpuinfo --\nprocessor\t: 0\nisa\t: rv64imafdc\n-- proc/device-tree/compatible --\nsifive,hifive-unmatched-a00␀\n", "none"},
		{"masked cpuinfo", "-- proc/cpuinfo --\n!errno EACCES\n", "denied"},
		{"garbled cpuinfo", "-- proc/cpuinfo --\n\x01\x02\n", "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := readVirt(tree(t, tt.archive)).Hypervisor
			testkit.Is(t, tt.want, f.Or(string(f.State)), f)
			if f.Source == "" {
				t.Error("no source")
			}
		})
	}
}

func TestReadContainer(t *testing.T) {
	const (
		first   = "-- proc/self/ns/pid -> pid:[4026531836] --\n"
		other   = "-- proc/self/ns/pid -> pid:[4026532573] --\n"
		onDisk  = "-- proc/self/mountinfo --\n1 0 254:0 / / rw - ext4 /dev/vda rw\n"
		layered = "-- proc/self/mountinfo --\n1 0 0:50 / / rw - overlay overlay rw,upperdir=/u\n"
	)
	tests := []struct {
		name, archive, want string
	}{
		{"a machine", first + onDisk, "none"},
		{"an image booted as a machine", first + onDisk + "-- .dockerenv --\n", "none"},
		{"docker", other + layered + "-- .dockerenv --\n", "docker"},
		{"docker with the host's processes", first + layered + "-- .dockerenv --\n", "docker"},
		{"docker by its mounts", other + "-- proc/self/mountinfo --\n1 0 0:50 / / rw - overlay o rw\n" +
			"2 1 8:1 /docker/containers/ab/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n", "docker"},
		{"podman", other + layered + "-- run/.containerenv --\n", "podman"},
		{"kubernetes", other + "-- proc/self/mountinfo --\n1 0 0:50 / / rw - overlay o rw\n" +
			"2 1 8:1 /var/lib/kubelet/pods/ab/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n", "kubernetes"},
		{"lxc", other + onDisk + "-- run/systemd/container --\nlxc\n", "lxc"},
		{"nspawn by the environment", other + onDisk + "-- proc/1/environ --\nA=b␀container=systemd-nspawn␀\n", "systemd-nspawn"},
		{"cgroup v1 path", other + onDisk + "-- proc/self/cgroup --\n3:cpu:/kubepods/burstable/pod1/ab\n", "kubernetes"},
		{"a namespace of its own", other + onDisk, "unknown"},
		{"a recording without namespaces", onDisk + "-- proc/2/comm --\nkthreadd\n", "none"},
		{"nothing to go by", onDisk, "absent"},
		{"a file alone proves nothing", onDisk + "-- .dockerenv --\n", "absent"},
		{"a live system on an overlay", first + layered, "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := readVirt(tree(t, tt.archive)).Container
			testkit.Is(t, tt.want, f.Or(string(f.State)), f)
			said := strings.Join((&Facts{Virt: Virt{Container: f}}).Summary(), " ")
			if hides := strings.Contains(tt.archive, other); strings.Contains(said, "hides the host's processes") != hides {
				t.Errorf("it hides processes: %v; said: %s", hides, said)
			}
		})
	}
}

func TestParseSteal(t *testing.T) {
	for _, tt := range []struct {
		line string
		want float64
		ok   bool
	}{
		{"cpu  50 0 20 20 0 0 0 10 5 0", 0.1, true},
		{"cpu  50 0 20 20 0 0 0 10", 0.1, true},
		{"cpu  1 2 3 4", 0, false}, // Linux 2.4
		{"cpu  0 0 0 0 0 0 0 0 0 0", 0, false},
		{"cpu0 50 0 20 20 0 0 0 10 0 0", 0, false},
		{"cpu  a b c d e f g h i j", 0, false},
		{"", 0, false},
	} {
		got, err := parseSteal(tt.line)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: %v, %v", tt.line, got, err)
		}
	}
}

func TestTechnology(t *testing.T) {
	for value, want := range map[string]string{"kvm (Amazon EC2)": "kvm", "none": "none", "unknown hypervisor": "unknown hypervisor"} {
		if got, ok := (Virt{Hypervisor: Known(value, "", "")}).Technology(); got != want || !ok {
			t.Errorf("%q: %q", value, got)
		}
	}
	if _, ok := (Virt{}).Technology(); ok {
		t.Error("known without a fact")
	}
}

// Archives come from other people: what they hold stays in its folder, can be
// looked at, and is recorded again as an archive that can be extracted.
func FuzzExtractArchive(f *testing.F) {
	f.Add([]byte(odd))
	f.Add([]byte(named))
	f.Add([]byte("-- proc/self/mountinfo --\n1 0 8:1 / / rw - ext4 /dev/x rw\n-- sys/block -> . --\n-- a/ --\n-- a -> /b --\n"))
	f.Add([]byte("-- ../x --\n"))
	f.Add([]byte("-- l -> ../.. --\n-- l/x --\n"))
	f.Add([]byte(`-- sys/fs/cgroup/a\x2db.slice/cpu.max --` + "\nmax 1\n-- proc/self/cgroup --\n0::/a\\x2db.slice\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "in", "tree")
		testkit.OK(t, os.MkdirAll(dir, 0o755))
		err := ExtractArchive(data, dir)
		for _, outer := range []string{top, filepath.Dir(dir)} {
			if list, _ := os.ReadDir(outer); len(list) != 1 {
				t.Fatalf("%q wrote beside its folder: %v", data, list)
			}
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %q", err)
			}
			return
		}
		in := Tree{Root: dir}
		Collect(context.Background(), Options{Tree: in, Paths: []PathQuery{{Path: "/"}}})
		var b bytes.Buffer
		testkit.OK(t, Record(context.Background(), in, "", nil, &b))
		if len(txtar.Parse(b.Bytes()).Files) == 0 {
			return
		}
		if err := ExtractArchive(b.Bytes(), t.TempDir()); err != nil {
			t.Errorf("%q is recorded as %q: %v", data, b.Bytes(), err)
		}
	})
}

// No mask loses a line or changes what it has masked, and no configuration makes
// a setting without a name.
func FuzzRecordMask(f *testing.F) {
	f.Add("db7.corp", namedArgs, "31 22 0:44 / /mnt/n rw - nfs4 a:/b rw,addr=1.2.3.4\nx y fuse.z q rw", "[mysqld]\ndatadir = /x # y\n!include /z\n=1")
	f.Add("a-b", "x y\x00-D\x00/a\x00-c\x00data_directory=/b\n", " - \n - nfs a b", "[\n= \n-")
	f.Fuzz(func(t *testing.T, hostname, args, mounts, conf string) {
		m := &recordMask{seen: map[string]string{}, n: map[string]int{}, host: hostname, names: hostNames(hostname, wordsOf(nil))}
		for p, text := range map[string]string{"/proc/9/cmdline": args, "/proc/self/mountinfo": mounts, "/dev/x": args} {
			once := string(m.content(p, []byte(text)))
			if strings.Count(once, "\n") > strings.Count(text, "\n") {
				t.Errorf("%s %q becomes %q", p, text, once)
			}
			testkit.Is(t, once, string(m.content(p, []byte(once))), p, text, "becomes", "then")
		}
		values := parseConf(conf, []string{"mysqld", ""})
		if _, ok := values[""]; ok {
			t.Errorf("%q has a setting without a name", conf)
		}
	})
}

// Members by the million, or below thousands of directories each, are refused before any is written.
func TestExtractArchiveBounds(t *testing.T) {
	for want, data := range map[string]string{
		"more than 200000 members": strings.Repeat("-- p --\n", maxMembers+2),
		"more than 24 directories": "-- " + strings.Repeat("a/", 2000) + "b --\n",
		"not a recorded machine":   "\n-- \n",
	} {
		dir := t.TempDir()
		err := ExtractArchive([]byte(data), dir)
		testkit.Fails(t, err, want)
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			t.Errorf("%s: it wrote %v", want, list)
		}
	}
}
