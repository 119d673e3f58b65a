package proc

import (
	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

// Moved is what processes have read from devices and written to them so far, with their children that they have waited
// for (proc_pid_io(5), wait_task_zombie in kernel/exit.c): none of those that this user may not see. What they have
// written to a file may never reach the device, if others remove that soon.
type Moved map[Identity]moved

type moved struct {
	Stat
	bytes float64
}

// CountMoved is for all processes that there are.
func CountMoved() Moved {
	out := Moved{}
	all, _ := Recent()
	for _, s := range all {
		p, err := procfs.NewProc(s.PID)
		if err != nil {
			continue // it has just ended
		}
		if io, err := p.IO(); err == nil {
			out[s.Identity()] = moved{s, float64(io.ReadBytes) + max(0, float64(io.WriteBytes)-float64(io.CancelledWriteBytes))}
		}
	}
	return out
}

// Since is what came since an earlier count, by process. What one had moved by then that has ended since is its nearest
// living ancestor's, and did not come since.
func (m Moved) Since(before Moved) map[int]float64 {
	out, parents := map[int]float64{}, map[int]int{}
	for id, now := range m {
		out[id.PID] = max(0, now.bytes-before[id].bytes) // less where it has removed more
	}
	for id, was := range before {
		parents[id.PID] = was.Parent
	}
	lives := func(pid int) bool { _, is := out[pid]; return is }
	for id, was := range before {
		if _, there := m[id]; there {
			continue
		}
		if at := heir(was.Parent, parents, lives); at != 0 {
			out[at] = max(0, out[at]-was.bytes)
		}
	}
	return out
}

const sector = 512 // bytes, whatever the disk's own are (Documentation/block/stat.rst)

// DiskBytes are what was read from each disk and written to it since boot.
func DiskBytes() map[string]float64 {
	out := map[string]float64{}
	fs, err := blockdevice.NewFS("/proc", "/sys")
	if err != nil {
		return out
	}
	disks, _ := fs.ProcDiskstats()
	for _, d := range disks {
		out[d.DeviceName] = sector * (float64(d.ReadSectors) + float64(d.WriteSectors))
	}
	return out
}
