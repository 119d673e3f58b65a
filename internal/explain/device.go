package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"hostlab/internal/proc"
)

// Memory is what a server of this host tells as a setting: the host's memory, B.
const Memory = "host's memory"

// onDisks is what such a server tells, too, where all file systems with its data lie on block devices, as whose reads
// its reads count, or in memory.
const onDisks = "data on disks"

// Devices puts among a server's counters what its processes got from devices for reads, as the kernel counts it, and
// what all disks of this host gave: bytes, and the time of all requests. A process that has ended is in its parent's
// account (wait_task_zombie in kernel/exit.c). What cannot be read stays out.
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
	if ofDisks(server) {
		t.Settings[onDisks] = "yes"
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

// ofDisks looks below a server's data: it runs in its directory, and PostgreSQL has links to tablespaces there. No link
// is followed.
func ofDisks(server int) bool {
	cwd := fmt.Sprintf("/proc/%d/cwd", server)
	mounts, err := procfs.GetProcMounts(server)
	dir, err1 := os.Readlink(cwd)
	if err != nil || err1 != nil {
		return false
	}
	dirs := []string{dir}
	spaces, _ := filepath.Glob(cwd + "/pg_tblspc/*")
	for _, s := range spaces {
		if to, err := os.Readlink(s); err == nil { // else it lies here
			dirs = append(dirs, to)
		}
	}
	return !slices.ContainsFunc(dirs, func(d string) bool {
		m := mountOf(mounts, d)
		switch {
		case m == nil:
			return true
		case m.FSType == "tmpfs": // which is memory
			return false
		}
		if m.FSType == "btrfs" { // whose numbers are no device's (get_anon_bdev)
			return !strings.HasPrefix(m.Source, "/dev/")
		}
		_, err := os.Stat("/sys/dev/block/" + m.MajorMinorVer)
		return err != nil
	})
}

// octal are the characters that mountinfo writes otherwise (mangle in fs/proc_namespace.c).
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")

// mountOf is where a path is mounted; of several at one place the last hides others. nil: nowhere.
func mountOf(mounts []*procfs.MountInfo, path string) (of *procfs.MountInfo) {
	longest := -1
	for _, m := range mounts {
		at := strings.TrimSuffix(octal.Replace(m.MountPoint), "/")
		if rest, below := strings.CutPrefix(path, at); below && (rest == "" || rest[0] == '/') && len(at) >= longest {
			of, longest = m, len(at)
		}
	}
	return of
}
