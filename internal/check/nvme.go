package check

import (
	"math"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// longestWait is from when on a disk's timeout, in s, counts as the longest. The kernel keeps it in ticks of 32 bits,
// and shows 2^32 ms less a little for the largest, or a third of that with 300 ticks a second.
const longestWait = float64(1<<30) / 1e3

func lookNVMe(f *host.Facts, _ Role) view {
	if rs := hiddenDisks(f); rs != nil {
		return see(rs...)
	}
	list := volumes(f)
	if len(list) == 0 {
		return view{absent: "no NVMe volume of AWS is seen"}
	}
	v := view{}
	later := read(f.Kernel.NVMeIOTimeout, atLeast(longestNVMe(f)))
	for _, b := range list {
		if r := read(b.IOTimeout, atLeast(longestWait)); r.state != host.StateAbsent {
			v.readings, later.context = append(v.readings, r), true
		}
	}
	v.readings = append(v.readings, later)
	return v
}

// adviseNVMe sets the volumes that are there, and those that will be attached.
func adviseNVMe(f *host.Facts, _ Role) (list []setting.Assignment) {
	for _, b := range volumes(f) {
		if own, ok := b.IOTimeout.Get(); ok && own < longestWait {
			list = append(list, setting.Assignment{Name: "io_timeout", Object: b.Name, Value: strconv.Itoa(math.MaxUint32)})
		}
	}
	if s, ok := f.Kernel.NVMeIOTimeout.Get(); ok && s < longestNVMe(f) && len(volumes(f)) > 0 {
		list = append(list, setting.Assignment{Name: "nvme_io_timeout", Value: strconv.FormatUint(longestNVMe(f), 10)})
	}
	return list
}

// longestNVMe is the longest timeout, in s, that the module's parameter holds.
func longestNVMe(f *host.Facts) uint64 {
	if f.Identity.Kernel.State == host.StateOK && !kernelAt(f, 4, 15) {
		return math.MaxUint8
	}
	return math.MaxUint32
}

// volumes are the NVMe disks that are volumes of AWS, by their model. A machine of AWS whose disks show no model
// may have any.
func volumes(f *host.Facts) (list []host.BlockDevice) {
	amazon := strings.Contains(f.Identity.Product.Or(""), "Amazon EC2")
	for _, b := range f.Block {
		model, known := b.Model.Get()
		if strings.HasPrefix(b.Name, "nvme") && (strings.Contains(model, "Amazon Elastic Block Store") || amazon && !known) {
			list = append(list, b)
		}
	}
	return list
}
