package service

import (
	"strconv"
	"strings"
)

// Throttle is a control group's limit on a device, and what its processes have done of that so far.
type Throttle struct {
	File   string  `json:"file"`
	Device string  `json:"device"` // its numbers, such as 254:0
	Write  bool    `json:"write"`
	Bytes  bool    `json:"bytes"` // it counts these, else reads or writes
	Limit  float64 `json:"limit"` // a second
	Done   float64 `json:"done"`
	Lift   string  `json:"lift"` // what to write to the file so that there is no limit
}

// kinds are the kinds of throttles: names of files and counters of version 1, and keys of version 2.
var kinds = []struct {
	write, bytes      bool
	file, count, verb string
	key, counted      string
}{
	{false, false, "blkio.throttle.read_iops_device", "io_serviced", "Read", "riops", "rios"},
	{true, false, "blkio.throttle.write_iops_device", "io_serviced", "Write", "wiops", "wios"},
	{false, true, "blkio.throttle.read_bps_device", "io_service_bytes", "Read", "rbps", "rbytes"},
	{true, true, "blkio.throttle.write_bps_device", "io_service_bytes", "Write", "wbps", "wbytes"},
}

// throttles are those of a group, by the files that read gives: of version 1 where it has the controller, else of
// version 2.
func throttles(v1 bool, read func(name string) string) (list []Throttle) {
	for _, k := range kinds {
		if v1 {
			done := map[string]float64{}
			for line := range strings.Lines(read("blkio.throttle." + k.count + "_recursive")) {
				if f := strings.Fields(line); len(f) == 3 && f[1] == k.verb {
					done[f[0]], _ = strconv.ParseFloat(f[2], 64)
				}
			}
			for line := range strings.Lines(read(k.file)) {
				f := strings.Fields(line)
				if len(f) != 2 {
					continue
				}
				if limit, err := strconv.ParseFloat(f[1], 64); err == nil && limit > 0 {
					list = append(list, Throttle{k.file, f[0], k.write, k.bytes, limit, done[f[0]], f[0] + " 0"})
				}
			}
			continue
		}
		done := keyed(read("io.stat"), k.counted)
		for device, limit := range keyed(read("io.max"), k.key) { // "max" is no number
			list = append(list, Throttle{"io.max", device, k.write, k.bytes, limit, done[device], device + " " + k.key + "=max"})
		}
	}
	return list
}

// keyed reads a key of each device, as in "254:0 rbps=max wbps=1048576".
func keyed(text, key string) map[string]float64 {
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for i, word := range f {
			if value, ok := strings.CutPrefix(word, key+"="); ok && i > 0 {
				if v, err := strconv.ParseFloat(value, 64); err == nil {
					out[f[0]] = v
				}
			}
		}
	}
	return out
}
