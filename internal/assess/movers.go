package assess

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Mover is the process of others, with those that it has started, that read and wrote most on a disk on which the
// service has files open.
type Mover struct {
	Taker
	Runs    string  `json:"runs,omitempty"` // another program, that it has started: what such ones moved is its, too
	Disk    string  `json:"disk"`
	Seconds float64 `json:"seconds"` // for which that was counted
	Bytes   float64 `json:"bytes"`   // that it moved on this disk, at least
	All     float64 `json:"all"`     // that all moved, on any disk
	There   float64 `json:"there"`   // that all moved on this disk
	// Ranks is set where the disk's scheduler heeds priorities.
	Ranks bool `json:"ranks,omitempty"`
}

// movers count what processes and disks have moved so far.
type movers struct {
	processes proc.Moved
	disks     map[string]float64
	at        time.Time
}

func countMovers() *movers { return &movers{proc.CountMoved(), proc.DiskBytes(), time.Now()} }

// littleMoved is what nobody waits for, B.
const littleMoved = 10 << 20

// since is the mover since an earlier count; nil: there is none.
func (now *movers) since(before *movers, members []int, ours map[int]bool) *Mover {
	own := func(pid int) bool { return ours[pid] }
	moved := now.processes.Since(before.processes)
	var disks map[string]bool // of the service: looked for late, since it may have thousands of files open
	all := 0.0
	for _, bytes := range moved {
		all += bytes
	}
	list := slices.SortedFunc(maps.Keys(moved), func(x, y int) int { return cmp.Compare(moved[y], moved[x]) })
	for _, pid := range list {
		if moved[pid] < littleMoved {
			break
		}
		family := proc.Family(pid)
		// It has started the service, too, or writes what that has written.
		if slices.ContainsFunc(family, own) ||
			slices.ContainsFunc(family, func(pid int) bool { return proc.ServesFiles(pid, members) }) {
			continue
		}
		p, err := proc.Read(pid)
		if err != nil {
			continue // it has just ended
		}
		if disks == nil {
			disks = proc.DisksOf(members)
		}
		its, disk, most := proc.DisksOf(family), "", -1.0
		for d := range its {
			if there := now.disks[d] - before.disks[d]; disks[d] && there > most {
				disk, most = d, there
			}
		}
		if disk == "" {
			continue
		}
		m := &Mover{Disk: disk, Seconds: now.at.Sub(before.at).Seconds(), Bytes: moved[pid], All: all, There: most}
		below := proc.Under(disk)
		for other := range its { // as much of it may have gone there, but where one lies on the other
			if !below[other] && !proc.Under(other)[disk] {
				m.Bytes = max(0, m.Bytes-(now.disks[other]-before.disks[other]))
			}
		}
		m.Taker = Taker{Taker: proc.Taker{Name: p.Name, PID: pid, Processes: 1, Group: pods.GroupOf(pid)},
			Container: pods.Around(pid), Script: proc.Script(pid, p.Name)}
		if child, err := proc.Read(family[len(family)-1]); err == nil && child.Name != p.Name {
			m.Runs = child.Name
		}
		text, _ := os.ReadFile("/sys/block/" + disk + "/queue/scheduler")
		m.Ranks = strings.Contains(string(text), "[bfq]") || strings.Contains(string(text), "[mq-deadline]")
		return m
	}
	return nil
}

// shares says that another program keeps a disk busy for which the service waits.
func (m *Minute) shares() []explain.Finding {
	v := m.Mover
	if v == nil || v.There < littleMoved || v.Bytes < half*max(v.All, v.There) {
		return nil
	}
	// A server that it asks writes for it, by any of its processes.
	if slices.ContainsFunc(m.Asked, func(a Asked) bool { return a.PID != 0 && a.Name == v.Name }) {
		return nil
	}
	part, share := explain.LogWait, m.share(explain.LogWait)
	if reads := m.share(explain.DataReads); reads.Value > share.Value {
		part, share = explain.DataReads, reads
	}
	if share.Value < lever.Margin {
		return nil
	}
	who := called(v.Taker)
	if v.Runs != "" {
		who += ", which runs " + screen.Clean(v.Runs) + ","
	}
	by := v.Bytes / max(v.All, v.There)
	return []explain.Finding{{Parameter: "another program on its disk", Part: part, Number: by,
		Unit: "of the disk's bytes", N: -1, Plain: true, // it takes CPUs, too
		AtMost: result.Finite(lever.Unit(m.saving(part).AtMost + m.share(explain.RunQueue).High)),
		Unseen: "it does not show how long the disk takes for " + m.name() + " alone",
		Text: fmt.Sprintf("of the %s on %s, where %s has files, %s reads and writes at least %s",
			result.Format(v.There/max(v.Seconds, 1e-9), "B/s"), v.Disk, m.name(), who, result.Share(by)),
		More: []string{fmt.Sprintf("%s take %s of active time", waitsOf[part], result.Share(share.Value))},
		Step: "have it use another disk or another time" + v.limit()}}
}

// limit is what to type so that it leaves the disk to others, as a clause; "": nothing that is known here.
func (v *Mover) limit() string {
	switch {
	case v.Container != nil:
		return ", or give " + v.Container.String() + " an I/O limit by its runtime"
	case v.system() != "":
		return fmt.Sprintf(", or limit it: sudo systemctl set-property --runtime %[1]s "+
			"IOReadBandwidthMax='/dev/%[2]s 10M' IOWriteBandwidthMax='/dev/%[2]s 10M'; empty values take that back",
			screen.Word(v.system()), v.Disk)
	case v.Ranks && v.PID > 1:
		return fmt.Sprintf(", or have it give way: sudo ionice -c 3 -p %d", v.PID)
	}
	return ""
}
