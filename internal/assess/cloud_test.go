package assess

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/clouds"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
)

// onEBS is a minute of 60 s with waits for the log, on a host with a volume whose counters grow so.
func onEBS(t *testing.T, grown clouds.Volume, held uint64) *Minute {
	t.Helper()
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.LogWait: 70, explain.DataReads: 10})
	m.Report.Wall = 60
	facts := &host.Facts{Block: []host.BlockDevice{{Name: "nvme1n1",
		Model: host.Known("Amazon Elastic Block Store", "", "x")}},
		CloudNetworks: []host.CloudNetwork{{Name: "ens5"}}}
	looks := 0.0
	c := &cloudMeter{facts: facts, volume: func(string) (clouds.Volume, error) {
		looks++
		v := clouds.Volume{VolumeIOPS: 100, InstanceThroughput: 7, Writes: []clouds.Bin{{High: 0.001}, {Low: 0.001, High: 0.016}}}
		if looks > 1 {
			v.VolumeIOPS, v.VolumeThroughput = v.VolumeIOPS+grown.VolumeIOPS, v.VolumeThroughput+grown.VolumeThroughput
			v.InstanceIOPS, v.InstanceThroughput = v.InstanceIOPS+grown.InstanceIOPS,
				v.InstanceThroughput+grown.InstanceThroughput
			v.Writes[0].Count, v.Writes[1].Count = 10, 90
		}
		return v, nil
	}, network: func(string) (map[string]uint64, error) {
		if looks > 1 {
			return map[string]uint64{"pps": 5 + held}, nil
		}
		return map[string]uint64{"pps": 5}, nil
	}}
	c.volumes, c.held, c.unread = c.read()
	c.fill(m)
	return m
}

// TestVolumeLimit: where a volume's limit was exceeded, raising it comes before a faster device, with the seconds.
func TestVolumeLimit(t *testing.T) {
	for _, c := range []struct {
		grown clouds.Volume
		says  string
		step  string
	}{
		{clouds.Volume{VolumeIOPS: 42, VolumeThroughput: 3}, "the IOPS limit of volume nvme1n1 was exceeded for 42.0 s of 60.0 s", "modify-volume --iops"},
		{clouds.Volume{VolumeThroughput: 12}, "the throughput limit of volume nvme1n1 was exceeded for 12.0 s of 60.0 s",
			"modify-volume"},
		{clouds.Volume{InstanceThroughput: 30}, "the instance's limit of throughput to its volumes was exceeded for 30.0 s of 60.0 s", "instance type"},
	} {
		m := onEBS(t, c.grown, 0)
		levers := m.Levers()
		at := func(name string) int {
			return slices.IndexFunc(levers, func(l lever.Lever) bool { return l.Name == name })
		}
		limit := levers[at(lever.Limit)]
		if at(lever.Limit) > at(lever.Log) || at(lever.Limit) > at(lever.Data) || !strings.Contains(limit.Why(), c.says) ||
			!strings.Contains(limit.Next.Note, c.step) {
			t.Errorf("%+v: %d before log %d, data %d: %s, %+v", c.grown, at(lever.Limit), at(lever.Log), at(lever.Data),
				limit.Why(), limit.Next)
		}
		if !strings.Contains(limit.Why(), "99 % of writes took up to 16.0 ms") ||
			!strings.Contains(levers[at(lever.Log)].Why(), "no faster device gives more") {
			t.Errorf("%s; %s", limit.Why(), levers[at(lever.Log)].Why())
		}
		if shows := m.shows(&limit); !strings.HasPrefix(shows, "nvme1n1: ") {
			t.Errorf("in a line of the table: %s", shows)
		}
		answer := "Raise " + strings.Replace(c.says, " was exceeded", ", which was exceeded", 1)
		if says := m.Verdict(levers); !strings.Contains(says, answer) || strings.Contains(says, "faster log device") {
			t.Errorf("%+v: %s", c.grown, says)
		}
	}
}

// TestNoLimit: a limit that was not exceeded changes nothing, and what is not known is not "none".
func TestNoLimit(t *testing.T) {
	m := onEBS(t, clouds.Volume{VolumeIOPS: 0.3}, 0) // of 60 s, which is too little to name
	if l := find(t, m.Levers(), lever.Limit); l.Verdict != lever.Negligible ||
		!strings.Contains(m.Verdict(m.Levers()), "log device") {
		t.Errorf("%+v; %s", l, m.Verdict(m.Levers()))
	}
	if l := find(t, m.Levers(), lever.Limit); !strings.Contains(l.Why(), "no limit was exceeded for 1 % of the time or more") {
		t.Error(l.Why())
	}
	m = onEBS(t, clouds.Volume{}, 946)
	if l := find(t, m.Levers(), lever.Limit); l.Verdict != lever.Possible ||
		!strings.Contains(l.Why(), "packets a second held back 946 packets on ens5") || l.AtMost != nil {
		t.Errorf("%+v", l)
	}
	m = onEBS(t, clouds.Volume{VolumeIOPS: 42}, 0)
	m.Cloud.Volumes[0].Apart = true // another program's
	if l := find(t, m.Levers(), lever.Limit); l.Verdict != lever.Unknown || strings.Contains(l.Why(), "exceeded") {
		t.Errorf("%+v", l)
	}
	m.Cloud = nil
	if slices.ContainsFunc(m.Levers(), func(l lever.Lever) bool { return l.Name == lever.Limit }) {
		t.Error("a host of no cloud has the limit of one")
	}
}

// TestLimitsUnread: a user who may not read the limits is told that root may. Another cloud is told where it shows them.
func TestLimitsUnread(t *testing.T) {
	for says, c := range map[string]struct {
		err        error
		hypervisor string
	}{"root sees for how long": {fs.ErrPermission, "kvm (Amazon EC2)"},
		"cannot be read: odd": {errors.New("odd"), "kvm (Amazon EC2)"},
		"Azure Monitor":       {nil, "hyper-v (Azure)"}} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.LogWait: 70})
		facts := &host.Facts{}
		facts.Virt.Hypervisor = host.Known(c.hypervisor, "", "x")
		if c.err != nil {
			facts.Block = []host.BlockDevice{{Name: "nvme1n1", Model: host.Known("Amazon Elastic Block Store", "", "x")}}
		}
		meter := &cloudMeter{facts: facts, volume: func(string) (clouds.Volume, error) { return clouds.Volume{}, c.err }}
		meter.volumes, meter.held, meter.unread = meter.read()
		meter.fill(m)
		if l := find(t, m.Levers(), lever.Limit); l.Verdict != lever.Unknown || !strings.Contains(l.Why(), says) {
			t.Errorf("%s: %+v", says, l)
		}
	}
}

// TestNetworkLimits: each limit that held back has its own step, and a larger instance type is none for that of an interface.
func TestNetworkLimits(t *testing.T) {
	const larger, dns, rules = "larger network allowance", "cache answers of DNS", "both ways are not tracked"
	for _, c := range []struct {
		held    map[string]uint64
		says    []string
		never   []string
		verdict lever.Verdict
	}{
		{map[string]uint64{"linklocal": 9}, []string{dns}, []string{larger, rules}, lever.Negligible},
		{map[string]uint64{"linklocal": 9, "pps": 1}, []string{dns, larger}, []string{rules}, lever.Possible},
		{map[string]uint64{"conntrack": 9}, []string{larger, rules}, []string{dns}, lever.Possible},
		{map[string]uint64{"bw_in": 9}, []string{larger}, []string{dns, rules}, lever.Possible},
	} {
		m := onEBS(t, clouds.Volume{}, 0)
		m.Cloud.Held = map[string]map[string]uint64{"ens5": c.held}
		l := find(t, m.Levers(), lever.Limit)
		has := func(part string) bool { return strings.Contains(l.Next.Note, part) }
		if l.Verdict != c.verdict || slices.ContainsFunc(c.never, has) ||
			slices.ContainsFunc(c.says, func(part string) bool { return !has(part) }) {
			t.Errorf("%v: %+v", c.held, l)
		}
		if at := slices.IndexFunc(l.Evidence, func(e lever.Evidence) bool { return strings.HasPrefix(e.Text, "the interface's limit") }); (at >= 0) != (c.held["linklocal"] > 0) {
			t.Errorf("%v: %+v", c.held, l.Evidence)
		}
	}
}

// TestUnreadApart: a disk that cannot be read, and holds neither log nor data, takes nothing from what the log's volume counted.
func TestUnreadApart(t *testing.T) {
	model := func(name string) host.Fact[string] { return host.Known(name, "", "x") }
	facts := &host.Facts{Block: []host.BlockDevice{{Name: "nvme0n1", Model: model("Amazon Elastic Block Store")},
		{Name: "nvme1n1", Model: model("Amazon EC2 NVMe Instance Storage")}}}
	odd := errors.New("odd")
	for _, c := range []struct {
		log, fails string
		err        error
		unread     bool
	}{{"nvme0n1", "nvme1n1", odd, false}, {"nvme0n1", "nvme0n1", odd, true}, {"", "nvme1n1", odd, true},
		{"", "nvme1n1", syscall.EOPNOTSUPP, false}} {
		if facts.Storage = nil; c.log != "" {
			facts.Storage = []host.Storage{{Stack: []host.StackLayer{{Name: "dm-0"}, {Name: c.log}}}}
		}
		meter := &cloudMeter{facts: facts, volume: func(name string) (v clouds.Volume, err error) {
			if name == c.fails {
				err = c.err
			}
			return v, err
		}}
		meter.volumes, meter.held, meter.unread = meter.read()
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.LogWait: 70})
		m.Report.Wall = 60
		meter.fill(m)
		if l := find(t, m.Levers(), lever.Limit); (m.Cloud.Unread != "") != c.unread || (l.Verdict == lever.Unknown) != c.unread {
			t.Errorf("%+v: %q, %+v", c, m.Cloud.Unread, l)
		}
	}
}

// TestCredits: steal of a type of instance with credits is a limit that can be raised.
func TestCredits(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 90})
	m.Host.Steal, m.Host.Busy, m.Host.CPUs, m.Host.Credits = new(0.4), new(0.5), 2, true
	if l := find(t, m.Levers(), lever.Steal); !strings.Contains(l.Next.Note, "CPUCreditBalance in CloudWatch. If it reached 0, choose") ||
		!strings.Contains(l.Why(), "no guest sees") {
		t.Errorf("%+v", l)
	}
	if says := m.Verdict(m.Levers()); !strings.Contains(says, "Look at CPUCreditBalance in CloudWatch. If it reached 0, choose") {
		t.Error(says)
	}
}
