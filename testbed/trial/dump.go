//go:build linux && amd64

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// roots are where the settings' files lie, with all that lies beside them.
var roots = []string{
	"/sys/devices/system/cpu", "/sys/devices/system/clocksource", "/sys/kernel/mm", "/sys/module/nvme_core/parameters",
	"/sys/devices/pci0000:00", // the disks' queues
	"/proc/sys/vm", "/proc/sys/kernel", "/proc/sys/fs", "/proc/sys/net", "/proc/sys/sunrpc",
}

// moving are files that the kernel changes by itself: counters, and what the processor does now.
var moving = []string{
	"scaling_cur_freq", "cpuinfo_cur_freq", "cpuinfo_avg_freq", "usage", "time", "above", "below", "rejected",
	"total_time", "time_in_state", "total_trans", "trans_table",
	"pages_to_scan_now", "pages_collapsed", "full_scans", "pages_scanned", "pages_skipped", "random", "ns_last_pid",
	"inode-nr", "inode-state", "dentry-state", "file-nr", "aio-nr",
	"inflight", "stat", "tainted", "nr_requests_now", "feedback_ctrs", "sched_domain", "stat_refresh", "stats",
	"drop_caches", "compact_memory", "pty",
	"interrupts", "crash_notes", "uevent", "runtime_active_time", "runtime_suspended_time", "wakeup_count", "resource0",
	"resource1", "resource4", "config", "rom",
}

// dump reads every file below the roots, and the P-state registers where frequencies are held.
func dump() map[string]string {
	all := map[string]string{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what vanishes is seen in the comparison
			}
			name := d.Name()
			if slices.Contains(moving, name) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() || strings.HasPrefix(path, "/sys/devices/pci0000:00") &&
				!strings.Contains(path, "/queue/") {
				return nil
			}
			info, err := d.Info()
			if err != nil || info.Mode()&0o444 == 0 {
				return nil //nolint:nilerr // it can only be written
			}
			b, err := os.ReadFile(path)
			if err != nil {
				all[path] = "cannot be read: " + err.Error()
				return nil //nolint:nilerr // that is its state, and compared
			}
			all[path] = strings.TrimSpace(string(b))
			return nil
		})
	}
	if v, err := dmaLatency(); err == nil {
		all["/dev/cpu_dma_latency"] = strconv.Itoa(v)
	}
	return all
}

// dmaLatency is the request in force, in us: four bytes, and again with every read.
func dmaLatency() (int, error) {
	f, err := os.Open("/dev/cpu_dma_latency")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [4]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint32(b[:])), nil
}

// differ lists what two dumps do not have in common.
func differ(a, b map[string]string) (list []string) {
	for path, v := range a {
		w, there := b[path]
		switch {
		case !there:
			list = append(list, path+": gone, was "+short(v))
		case v != w:
			list = append(list, path+": "+short(v)+" -> "+short(w))
		}
	}
	for path, w := range b {
		if _, there := a[path]; !there {
			list = append(list, path+": new, "+short(w))
		}
	}
	sort.Strings(list)
	return list
}

func short(v string) string {
	if len(v) > 60 {
		v = v[:57] + "..."
	}
	return fmt.Sprintf("%q", v)
}

// same requires that nothing differs.
func same(what string, a, b map[string]string) bool {
	list := differ(a, b)
	if len(list) == 0 {
		return true
	}
	fail(what, "%d files differ: %s", len(list), strings.Join(list[:min(len(list), 6)], "; "))
	return false
}

// chosen is a file's content as one value: the word in brackets where there is one.
func chosen(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if _, after, found := strings.Cut(text, "["); found {
		word, _, _ := strings.Cut(after, "]")
		return word
	}
	return text
}

func cat(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	return strings.TrimSpace(string(b))
}

// echo writes as a shell's echo does, for what other programs do.
func echo(value, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func glob(pattern string) []string {
	list, err := filepath.Glob(pattern)
	if err != nil {
		cannot(err.Error())
	}
	return list
}
