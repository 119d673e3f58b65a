package explain

import (
	"os"
	"strconv"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"hostlab/internal/proc"
)

// Memory is what a server of this host tells as a setting: the host's memory, B.
const Memory = "host's memory"

// Devices puts among a server's counters what its processes got from devices for reads, as the kernel counts it, and what all
// disks of this host gave: bytes, and the time of all requests. A process that has ended is in its parent's account
// (wait_task_zombie in kernel/exit.c). What cannot be read stays out.
func Devices(t *Telling, server int) {
	if server <= 0 || t.Values == nil {
		return
	}
	values := t.Values
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if m, err := fs.Meminfo(); err == nil && m.MemTotalBytes != nil {
			t.Settings[Memory] = strconv.FormatUint(*m.MemTotalBytes, 10)
		}
	}
	all, known := int64(0), true
	for _, pid := range proc.Family(server) {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has just ended
		}
		io, err := p.IO()
		switch {
		case err == nil:
			all += int64(io.ReadBytes)
		case os.IsPermission(err) || pid == server:
			known = false
		}
	}
	if known {
		values["device_bytes"] = all
	}
	fs, err := blockdevice.NewFS("/proc", "/sys")
	if err != nil {
		return
	}
	disks, err := fs.ProcDiskstats()
	if err != nil {
		return
	}
	var sectors, ticks int64
	for _, d := range disks {
		if _, err := os.Stat("/sys/block/" + d.DeviceName); err == nil { // whole disks
			sectors, ticks = sectors+int64(d.ReadSectors), ticks+int64(d.ReadTicks)
		}
	}
	values["disks_bytes"], values["disks_us"] = 512*sectors, 1000*ticks
}
