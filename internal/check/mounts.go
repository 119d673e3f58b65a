package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
)

// mounts holds the checks of how the directories of databases are mounted, and of the devices' queues.
var mounts = []Check{
	{
		ID: "STO-009", Subject: Log, Title: "File system mounted without flushes (barriers)",
		Severity: everywhere(High, High, Low),
		ok:       "by their options, the file systems hand flushes on to their disks",
		bad:      "flushes do not reach the disk: commits are lost when power fails",
		left:     "it is a mount option",
		look:     lookBarriers,
	},
	{
		ID: "STO-010", Subject: Log, Title: "NFS mounted soft",
		Severity: everywhere(High, High, Low),
		ok:       "the database waits for its NFS server",
		bad:      "a pause of the NFS server becomes an error of the database's disk",
		left:     "it is a mount option",
		look: func(f *host.Facts, _ Role) view {
			v := view{absent: noNFS}
			for _, s := range places(f) {
				for _, m := range mountsOf(s) {
					if !isNFS(m.FSType) && !whole(m.FSType).unknown() {
						continue
					}
					r := ofLog(read(m.Options, func(o string) bool { return !isSoft(o) }), s)
					if v.readings = append(v.readings, r); r.bad {
						v.fix = append(v.fix, remark("put hard for soft in /etc/fstab, stop the database, and mount anew:"),
							run("sudo", "umount", m.MountPoint.Or(s.Path)), run("sudo", "mount", m.MountPoint.Or(s.Path)))
					}
				}
			}
			return v
		},
	},
	{
		ID: "STO-011", Subject: Log, Title: "Few requests and small TCP buffers of NFS",
		Severity: inProduction(Low, Low),
		ok:       "as the note asks for, or larger buffers", bad: "smaller than the note asks for",
		look: lookNFS, goals: nfsWanted,
	},
	{
		ID: "STO-012", Subject: Log, Title: "Time in which all tasks wait for I/O (pressure)",
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel accounts no pressure", ok: "at most 10 % of the last five minutes",
		bad: "nothing could run for a good part of the last five minutes, since all waited for I/O", fix: whoWaits,
		left: "find the process that causes it first",
		look: func(f *host.Facts, _ Role) view {
			return see(readAs(f.Kernel.StalledIO, share, func(v float64) bool { return v <= 0.10 }))
		},
	},
	{
		ID: "STO-013", Subject: Log, Title: "One queue of a virtual disk for all CPUs",
		Severity: inProduction(Info, Info),
		absent:   "no virtio disk is seen, or there are fewer than 4 CPUs", ok: "virtual disks have several queues",
		bad:  "all CPUs share one queue to a virtual disk",
		fix:  remedy{remark("on the hypervisor, in the disk's <driver> element: queues='4'; then start the guest anew")},
		left: "the hypervisor decides it",
		look: func(f *host.Facts, _ Role) view {
			v := see(hiddenDisks(f)...)
			if f.Topology.Threads.Or(0) < 4 && f.Topology.Threads.State == host.StateOK {
				return view{absent: "fewer than 4 CPUs, for which one queue will do"}
			}
			for _, b := range f.Block {
				if strings.HasPrefix(b.Name, "vd") {
					v.readings = append(v.readings, read(b.Queues, atLeast[int64](2)))
				}
			}
			if len(v.readings) > 0 {
				v.readings = append(v.readings, needed(f.Topology.Threads))
			}
			return v
		},
	},
	{
		ID: "STO-014", Subject: Log, Title: "Pages written twice on a device that tears none",
		For:      engines("postgresql", "mariadb", "mysql"),
		Severity: inProduction(Info, Info),
		absent:   "the kernel shows no atomic writes of the device with the data (before Linux 6.11)",
		ok:       "the device promises no whole pages, or no page is written twice",
		bad:      "pages are written twice on a device that tears none",
		fix: remedy{remark(
			"measure the gain on a copy of the server: full_page_writes = off, or innodb_doublewrite = OFF; keep " +
				"the guard on data that matter unless vendor and file system promise whole pages")},
		left: "it is a guard of data, which no program should switch off by itself",
		look: lookTorn,
	},
}

var whoWaits = remedy{run("sudo", "iotop", "-obP", "-n", "2").
	noting("the processes that read and write; systemd-cgtop shows it by service"),
	run("hostlab", "assess").noting("what the database waits for")}

// isSoft reports a mount whose requests fail after some time: soft or softerr (nfs(5)).
func isSoft(options string) bool {
	return slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "soft" || o == "softerr" })
}

func isNFS(fsType host.Fact[string]) bool {
	return slices.Contains([]string{"nfs", "nfs4"}, fsType.Or(""))
}

const noNFS = "no log directory lies on NFS, and no data directory of a server that was seen"

// places are the directories of logs, and those of data that lie elsewhere.
func places(f *host.Facts) []host.Storage { return slices.Concat(logs(f), f.Data) }

// hiddenTypes are the directories of which it could not be read whether they lie on NFS.
func hiddenTypes(f *host.Facts) (list []goal) {
	for _, s := range places(f) {
		if r := whole(s.FSType); r.unknown() {
			list = append(list, goal{reading: ofLog(r, s)})
		}
	}
	return list
}

// anyNFS reports a directory of a database on NFS.
func anyNFS(f *host.Facts) bool {
	return slices.ContainsFunc(places(f), func(s host.Storage) bool { return isNFS(s.FSType) })
}

// nfsSlots are the requests of one connection that NetApp's servers work on at a time.
const nfsSlots = 128

func lookNFS(f *host.Facts, _ Role) view {
	goals := nfsWanted(f)
	v := see(readings(goals)...)
	v.absent = noNFS
	if n := f.Network.NFSSlots.Or(0); n > nfsSlots && len(goals) > 0 && goals[0].reading.bad {
		others := len(wrong(v.readings)) > 1
		v.bad = fmt.Sprintf("up to %d requests may be under way over a connection, and NetApp's servers take %d of NFSv3", n,
			nfsSlots)
		if others {
			v.bad += "; buffers are smaller than the note asks for"
		}
		if !others && !holds(f, "hana") {
			return v.atMost(Info)
		}
	}
	return v
}

func nfsWanted(f *host.Facts) []goal {
	if !anyNFS(f) {
		return hiddenTypes(f)
	}
	const most = 16 << 20
	n := f.Network
	return []goal{slotsWanted(f), raised("rmem_max", n.RmemMax, most), raised("wmem_max", n.WmemMax, most),
		largest("tcp_rmem", n.TCPRmem, most, "4096 131072"), largest("tcp_wmem", n.TCPWmem, most, "4096 16384"),
		raised("netdev_max_backlog", n.NetdevBacklog, 300000), raised("tcp_no_metrics_save", n.NoMetricsSave, 1)}
}

// slotsWanted bounds the requests of NFSv3 from both sides, those of others from below. For hosts of a kind it is
// advised where HANA's files lie on NFSv3: only a look at one host tells whether others have fewer.
func slotsWanted(f *host.Facts) goal {
	v3 := slices.ContainsFunc(places(f), isNFSv3)
	fits := func(n int64) bool { return n == nfsSlots || n > nfsSlots && !v3 }
	g := goal{"tcp_max_slot_table_entries", fmt.Sprint(nfsSlots), read(f.Network.NFSSlots, fits)}
	if g.unread() && !holds(f, "hana") {
		g.setting = ""
	}
	return g
}

// isNFSv3 reports a mount of version 3, or of an older one: newer ones are of the type nfs4.
func isNFSv3(s host.Storage) bool { return s.FSType.Or("") == "nfs" }

// holds reports that files of a kind of server lie on NFSv3.
func holds(f *host.Facts, kind string) bool {
	return slices.ContainsFunc(places(f), func(s host.Storage) bool {
		return isNFSv3(s) && strings.HasPrefix(s.Purpose, kind+" ")
	})
}

// largest wants the last of three sizes to be no smaller, and keeps the first two, or takes those of the note.
func largest(setting string, f host.Fact[[]int], n int, other string) goal {
	if v, ok := f.Get(); ok && len(v) == 3 {
		other = fmt.Sprint(v[0], " ", v[1])
	}
	return goal{setting, fmt.Sprint(other, " ", n),
		readAs(f, blanks, func(v []int) bool { return len(v) == 3 && v[2] >= n })}
}
