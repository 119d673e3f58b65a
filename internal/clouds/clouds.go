// Package clouds reads what a cloud tells its guests of the limits that they were sold: for how long a volume was
// asked for more than it gives, and how many packets a network held back.
package clouds

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Volume is what a volume of Amazon EBS, or a disk of an instance of EC2, counts since it was attached.
type Volume struct {
	Local bool // it is a disk of the instance's host
	// For how long more was asked for than it gives, s: of requests and of bytes a second, by the volume's limit and by
	// that of the instance.
	VolumeIOPS, VolumeThroughput, InstanceIOPS, InstanceThroughput float64
	Queue                                                          uint64 // requests that it works on now
	Reads, Writes                                                  []Bin
}

// Bin is how many requests took so long. A volume's counts have 32 bits, and begin again at 0.
type Bin struct {
	Low, High float64 // s
	Count     uint32
}

// Page and what it begins with: amazon-ec2-utils (ebsnvme), aws-ebs-csi-driver (pkg/metrics/nvme.go), nvme-cli 2.14
// (plugins/amzn/amzn-nvme.c, which has the disks of the instance's host, too). Its numbers are little endian, and its
// times in microseconds.
const (
	page       = 0xD0
	pageSize   = 4096
	ofVolume   = 0x3C23B510
	ofInstance = 0xEC2C0D7E
	histograms = 512
	mostBins   = 64
	histogram  = 8 + mostBins*24
)

// Parse reads the page.
func Parse(b []byte) (v Volume, err error) {
	if len(b) < histograms+2*histogram {
		return v, fmt.Errorf("the page of limits has %d bytes, fewer than known", len(b))
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	us := func(at int) float64 { return float64(u64(at)) / 1e6 }
	switch magic := binary.LittleEndian.Uint32(b); magic {
	case ofVolume:
		v.VolumeIOPS, v.VolumeThroughput = us(56), us(64)
	case ofInstance:
		v.Local = true
	default:
		return v, fmt.Errorf("the page of limits begins with %#x, which is not known", magic)
	}
	v.InstanceIOPS, v.InstanceThroughput, v.Queue = us(72), us(80), u64(88)
	bins := func(at int) (list []Bin) {
		for i := range min(u64(at), mostBins) {
			bin := at + 8 + int(i)*24
			list = append(list, Bin{us(bin), us(bin + 8), binary.LittleEndian.Uint32(b[bin+16:])})
		}
		return list
	}
	v.Reads, v.Writes = bins(histograms), bins(histograms+histogram)
	return v, nil
}

// Model reports that a disk of that model has such a page.
func Model(name string) bool {
	return strings.Contains(name, "Amazon Elastic Block Store") ||
		strings.Contains(name, "Amazon EC2 NVMe Instance Storage")
}

// Since is what was counted after an earlier reading. ok is false where the volume counts anew, as one that was
// attached again.
func (v Volume) Since(before Volume) (d Volume, ok bool) {
	d, ok = v, true
	for _, f := range []struct{ now, then *float64 }{{&d.VolumeIOPS, &before.VolumeIOPS},
		{&d.VolumeThroughput, &before.VolumeThroughput},
		{&d.InstanceIOPS, &before.InstanceIOPS}, {&d.InstanceThroughput, &before.InstanceThroughput}} {
		*f.now -= *f.then
		ok = ok && *f.now >= 0
	}
	less := func(now, then []Bin) (list []Bin) {
		same := func(a, b Bin) bool { return a.Low == b.Low && a.High == b.High }
		if !slices.EqualFunc(now, then, same) {
			return nil // its bins are others than they were
		}
		for i, b := range now {
			b.Count -= then[i].Count
			list = append(list, b)
		}
		return list
	}
	d.Reads, d.Writes = less(v.Reads, before.Reads), less(v.Writes, before.Writes)
	return d, ok
}

// Within is the time in which a share of requests was done, as the end of their bin, s; ok is false where there were
// none.
func Within(bins []Bin, share float64) (s float64, ok bool) {
	all, seen := uint64(0), uint64(0)
	for _, b := range bins {
		all += uint64(b.Count)
	}
	for _, b := range bins {
		if seen += uint64(b.Count); all > 0 && float64(seen) >= share*float64(all) {
			return b.High, true
		}
	}
	return 0, false
}

// Exceeded ends the name of each counter of packets that a limit of the instance held back or dropped (amzn-drivers,
// ena_ethtool.c; AWS, "Monitor network performance for ENA").
const Exceeded = "_allowance_exceeded"

// errNone is of an interface that counts nothing of the kind, as with an old driver.
var errNone = fmt.Errorf("it counts no allowances: %w", syscall.EOPNOTSUPP)

// refused is the error of a disk that answers with a status (NVM Express Base Specification 2.0, figures 89 to 95).
func refused(status uintptr) error {
	const kind, invalidLogPage = 0x7FF, 0x109 // without "do not retry" and "more"
	if status&kind == invalidLogPage {        // as old disks of instances do
		return fmt.Errorf("the device has no page of limits: %w", syscall.EOPNOTSUPP)
	}
	return fmt.Errorf("the device refused it with status %#x", status)
}

// allowances picks the counters of limits.
func allowances(names []string, counts []uint64) (map[string]uint64, error) {
	out := map[string]uint64{}
	for i, name := range names {
		if of, is := strings.CutSuffix(name, Exceeded); is && i < len(counts) {
			out[of] = counts[i]
		}
	}
	if len(out) == 0 {
		return nil, errNone
	}
	return out, nil
}

// Tracked and LinkLocal are two of the limits. Each interface has LinkLocal, 1,024 packets a second, in all types of
// instance (AWS, "Monitor network performance for ENA").
const (
	Tracked   = "conntrack"
	LinkLocal = "linklocal"
)

// Untracked is what takes connections out of Tracked (AWS, "Amazon EC2 security group connection tracking").
const Untracked = "rules that allow all traffic both ways are not tracked"

// Limits says of the limit that a counter is of what it limits.
var Limits = map[string]string{
	"bw_in": "bandwidth in", "bw_out": "bandwidth out", "pps": "packets a second", Tracked: "tracked connections",
	LinkLocal: "packets a second to DNS, metadata and time services",
}
