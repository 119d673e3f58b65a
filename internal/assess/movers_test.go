package assess

import (
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// Who moves most on a disk is named where the service waits for it, with what makes it give way.
func TestShares(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 40, explain.LogWait: 60})
	m.Service.Name = "shop"
	m.Mover = &Mover{Taker: Taker{Taker: proc.Taker{Name: "sh", PID: 812, Processes: 1}}, Runs: "dd", Disk: "vda", Seconds: m.Report.Wall / 6,
		Bytes: 15 * m.Report.Wall * 1e6, All: 100. / 6 * m.Report.Wall * 1e6, There: 95. / 6 * m.Report.Wall * 1e6} // in one of six stretches
	list := m.shares()
	testkit.Is(t, 1, len(list))
	testkit.Is(t, "of the 90.6 MiB/s on vda, where shop has files, sh (PID 812), which runs dd, reads and writes at least 90 %; "+
		"waits for the log take 60 % of active time", list[0].Says())
	testkit.Is(t, "have it use another disk or another time", list[0].Step)
	m.Mover.Ranks = true
	testkit.Has(t, m.shares()[0].Step, "sudo ionice -c 3 -p 812")
	m.Mover.Group = "/system.slice/backup.service"
	testkit.Has(t, m.shares()[0].Step, "sudo systemctl set-property --runtime backup.service IOReadBandwidthMax='/dev/vda 10M' "+
		"IOWriteBandwidthMax='/dev/vda 10M'; empty values take that back")
	m.Asked = []Asked{{PID: 7, Name: "sh"}}
	testkit.Is(t, 0, len(m.shares()), "a server that it asks")
	m.Asked = nil
	m.Mover.Bytes /= 2
	testkit.Is(t, 0, len(m.shares()), "others move more")
	m = minute(map[explain.PartName]float64{explain.DatabaseCPU: 99, explain.LogWait: 1})
	m.Mover = &Mover{Bytes: 9e9, All: 9e9, There: 9e9}
	testkit.Is(t, 0, len(m.shares()), "it hardly waits")
}

// Of stretches, the mover is the one that moved most in all of them; in some, none was counted.
func TestMoverOfStretches(t *testing.T) {
	of := func(pid int, bytes float64) *Minute {
		return &Minute{Mover: &Mover{Taker: Taker{Taker: proc.Taker{PID: pid}}, Seconds: 10, Bytes: bytes, All: bytes, There: bytes}}
	}
	got := mostOf([]*Minute{of(1, 5e8), {}, of(2, 3e8), of(2, 4e8), {}}, func(m *Minute) *Mover { return m.Mover })
	testkit.Same(t, Mover{Taker: Taker{Taker: proc.Taker{PID: 2}}, Seconds: 20, Bytes: 7e8, All: 7e8, There: 7e8}, *got)
	testkit.Is(t, true, mostOf([]*Minute{{}}, func(m *Minute) *Mover { return m.Mover }) == nil, "none")
}
