package watch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// parseDisks picks the named disks from /proc/diskstats. Flushes came with Linux
// 5.5. Times there are in ms.
func parseDisks(b []byte, names []string) ([]DiskReading, error) {
	var out []DiskReading
	for _, name := range names {
		found := false
		for line := range bytes.Lines(b) {
			f := bytes.Fields(line)
			if len(f) < 14 || string(f[2]) != name {
				continue
			}
			found = true
			d := DiskReading{Name: name, Flushes: unknown, FlushTime: unknown}
			var err error
			get := func(i int) float64 {
				v, e := strconv.ParseUint(string(f[i]), 10, 64)
				err = errors.Join(err, e)
				return float64(v)
			}
			d.Writes, d.WriteTime = get(7), get(10)/1e3
			if len(f) >= 20 {
				d.Flushes, d.FlushTime = get(18), get(19)/1e3
			}
			if err != nil {
				return nil, fmt.Errorf("/proc/diskstats: expected numbers, found %.80q", bytes.TrimSpace(line))
			}
			out = append(out, d)
		}
		if !found {
			return nil, fmt.Errorf("/proc/diskstats has no line of %s", name)
		}
	}
	return out, nil
}
