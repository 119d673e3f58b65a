package host

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"hostlab/internal/clouds"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// CloudVolume is what a volume of a cloud counts of its limits since it was attached: for how long more was asked for.
type CloudVolume struct {
	Name               string        `json:"name"`
	VolumeIOPS         Fact[float64] `json:"volume_iops_exceeded"` // s; absent for disks of the instance's host
	VolumeThroughput   Fact[float64] `json:"volume_throughput_exceeded"`
	InstanceIOPS       Fact[float64] `json:"instance_iops_exceeded"`
	InstanceThroughput Fact[float64] `json:"instance_throughput_exceeded"`
	Queue              Fact[int64]   `json:"queue"` // requests that it works on now
}

// Exceeded are its four times.
func (v CloudVolume) Exceeded() []Fact[float64] {
	return []Fact[float64]{v.VolumeIOPS, v.VolumeThroughput, v.InstanceIOPS, v.InstanceThroughput}
}

// CloudNetwork is how many packets each limit of a cloud held back or dropped on an interface, since its driver was
// loaded.
type CloudNetwork struct {
	Name      string      `json:"name"`
	In        Fact[int64] `json:"bandwidth_in_exceeded"`
	Out       Fact[int64] `json:"bandwidth_out_exceeded"`
	Packets   Fact[int64] `json:"packets_exceeded"`
	Tracked   Fact[int64] `json:"connections_exceeded"`
	LinkLocal Fact[int64] `json:"link_local_exceeded"`
}

// CloudVolumes are the disks that count their limits, by their model.
func CloudVolumes(disks []BlockDevice) (names []string) {
	for _, d := range disks {
		if strings.HasPrefix(d.Name, "nvme") && clouds.Model(d.Model.Or("")) {
			names = append(names, d.Name)
		}
	}
	return names
}

// CloudInterfaces are the network interfaces whose driver counts limits: Amazon's ENA.
func CloudInterfaces(t Tree) (names []string) {
	all, _ := t.Dir("/sys/class/net")
	for _, name := range all {
		if driver, err := readLink(t, "/sys/class/net/"+name+"/device/driver"); err == nil && path.Base(driver) == "ena" {
			names = append(names, name)
		}
	}
	return names
}

// madeCloud is where a recording keeps what the kernel tells by calls alone.
const madeCloud = "/.hostlab/cloud/"

// tellings are lines of names and numbers: of a recording, or of a call.
func tellings(t Tree, name string, read func() (string, error)) Fact[string] {
	if !t.Live() {
		return t.Text(madeCloud + name)
	}
	text, err := read()
	if err != nil {
		mark := string(failed(err))
		if _, known := errors.AsType[syscall.Errno](err); !known { // it says more than the mark
			mark += " " + screen.OneLine(err)
		}
		t.stated(madeCloud+name, mark)
		return Unknown[string](madeCloud+name, t.explain(trust.Bare(err)))
	}
	t.stated(madeCloud+name, text)
	return Known(text, "", madeCloud+name)
}

func readCloud(t Tree, disks []BlockDevice) (volumes []CloudVolume, networks []CloudNetwork) {
	for _, name := range CloudVolumes(disks) {
		text := tellings(t, name, func() (string, error) {
			v, err := clouds.ReadVolume(name)
			return volumeLines(v), err
		})
		source := "NVMe log page 0xD0 of " + name
		us := func(line string) Fact[float64] {
			return Convert(lineNumber(text, source, line, ""), "s",
				func(n int64) (float64, error) { return float64(n) / 1e6, nil })
		}
		volumes = append(volumes, CloudVolume{name, us("volume_iops"), us("volume_throughput"), us("instance_iops"),
			us("instance_throughput"), lineNumber(text, source, "queue", "")})
	}
	for _, name := range CloudInterfaces(t) {
		text := tellings(t, "net-"+name, func() (string, error) {
			counts, err := clouds.ReadNetwork(name)
			var b strings.Builder
			for _, of := range slices.Sorted(maps.Keys(counts)) {
				fmt.Fprintf(&b, "%s: %d\n", of, counts[of])
			}
			return b.String(), err
		})
		n := func(of string) Fact[int64] {
			f := lineNumber(text, "ethtool -S "+name, of, "")
			return f.from("ethtool -S " + name + " " + of + clouds.Exceeded)
		}
		networks = append(networks, CloudNetwork{name, n("bw_in"), n("bw_out"), n("pps"), n(clouds.Tracked),
			n(clouds.LinkLocal)})
	}
	return volumes, networks
}

// volumeLines are a volume's times in µs; a disk of the instance's host has no limit of a volume.
func volumeLines(v clouds.Volume) string {
	us := func(s float64) int64 { return int64(s*1e6 + 0.5) }
	text := fmt.Sprintf("instance_iops: %d\ninstance_throughput: %d\nqueue: %d\n", us(v.InstanceIOPS),
		us(v.InstanceThroughput), v.Queue)
	if !v.Local {
		text = fmt.Sprintf("volume_iops: %d\nvolume_throughput: %d\n", us(v.VolumeIOPS), us(v.VolumeThroughput)) + text
	}
	return text
}

// UntoldLimits says where a cloud shows its limits, if its guests do not see them; "": they do, or this is no guest
// of a cloud. Microsoft: "Monitoring data reference for Azure Virtual Machines"; Google: "Google Cloud metrics",
// compute; Oracle: "Block Volume Metrics".
func (f *Facts) UntoldLimits() string {
	hypervisor, _ := f.Virt.Hypervisor.Get()
	_, rest, _ := strings.Cut(hypervisor, "(")
	cloud, _, guest := strings.Cut(rest, ")")
	at := map[string]string{
		"Azure":        "Azure Monitor: Data Disk IOPS Consumed Percentage, VM Cached IOPS Consumed Percentage, CPU Credits Remaining",
		"Google Cloud": "Cloud Monitoring: instance/disk/throttled_read_ops_count, throttled_write_ops_count",
		"Oracle Cloud": "OCI Monitoring: VolumeThrottledIOs",
	}[cloud]
	switch {
	case !guest || cloud == "Amazon EC2" || cloud == "Firecracker" || cloud == "control domain":
		return ""
	case at == "":
		return cloud +
			" tells its guests nothing of limits of disks and network that hostlab knows; see the monitoring of that cloud"
	}
	return "no guest of " + cloud + " sees limits of its disks and network; they are in " + at
}

// Burstable reports a type of instance whose CPUs are its own for as long as it has credits: T3 to T4g of Amazon EC2.
// T1 and T2 are guests of Xen, whose product does not name the type. Of other clouds no guest sees its type.
func (f *Facts) Burstable() bool {
	product := f.Identity.Product.Or("")
	_, kind, _ := strings.Cut(product, "Amazon EC2 ")
	family, _, typed := strings.Cut(kind, ".")
	return typed && slices.Contains([]string{"t3", "t3a", "t4g"}, family)
}
