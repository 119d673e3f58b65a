package check

import (
	"slices"
	"testing"

	"hostlab/internal/host"
)

// ofNetwork changes a number of the network.
func ofNetwork(name string, fact func(n *host.Network) *host.Fact[int64], values ...int64) knob {
	return steps(name, func(f *host.Facts, v int64) { *fact(&f.Network) = known(v, "f") }, values...)
}

// ofMounts gives each place of data or log its options with one of these before them; "": theirs alone.
func ofMounts(name string, options ...string) knob {
	return steps(name, func(f *host.Facts, v string) {
		for _, list := range []*[]host.Storage{&f.Storage, &f.Data} {
			*list = slices.Clone(*list)
			for i := range *list {
				if s := &(*list)[i]; v != "" && s.Options.State == host.StateOK {
					s.Options.Value += "," + v
				}
			}
		}
	}, options...)
}

// farKnobs are those of the network and of mounts.
var farKnobs = []knob{
	ofNetwork("somaxconn", func(n *host.Network) *host.Fact[int64] { return &n.Somaxconn }, 1, 128, 2048, 4096, 65535),
	ofNetwork("tcp_slow_start_after_idle", func(n *host.Network) *host.Fact[int64] { return &n.SlowStart }, 1, 0),
	ofNetwork("tcp_window_scaling", func(n *host.Network) *host.Fact[int64] { return &n.WindowScaling }, 0, 1),
	ofNetwork("tcp_sack", func(n *host.Network) *host.Fact[int64] { return &n.SACK }, 0, 1),
	ofNetwork("tcp_timestamps", func(n *host.Network) *host.Fact[int64] { return &n.Timestamps }, 0, 1),
	ofNetwork("tcp_moderate_rcvbuf", func(n *host.Network) *host.Fact[int64] { return &n.ModerateRcvbuf }, 0, 1),
	ofNetwork("tcp_max_syn_backlog", func(n *host.Network) *host.Fact[int64] { return &n.SynBacklog }, 128, 1024, 8192,
		1<<20),
	ofNetwork("tcp_syn_retries", func(n *host.Network) *host.Fact[int64] { return &n.SynRetries }, 1, 3, 6, 8),
	ofNetwork("tcp_keepalive_time", func(n *host.Network) *host.Fact[int64] { return &n.KeepaliveTime }, 7200, 600, 300,
		30),
	ofNetwork("tcp_keepalive_intvl", func(n *host.Network) *host.Fact[int64] { return &n.KeepaliveIntvl }, 300, 75, 10),
	ofNetwork("rmem_max", func(n *host.Network) *host.Fact[int64] { return &n.RmemMax }, 212992, 4194304, 16<<20, 1<<30),
	ofNetwork("rmem_default", func(n *host.Network) *host.Fact[int64] { return &n.RmemDefault }, 4096, 212992, 262144,
		1<<30),
	ofNetwork("wmem_max", func(n *host.Network) *host.Fact[int64] { return &n.WmemMax }, 212992, 1048576, 16<<20, 1<<30),
	ofNetwork("netdev_max_backlog", func(n *host.Network) *host.Fact[int64] { return &n.NetdevBacklog }, 1, 1000, 300000),
	ofNetwork("tcp_max_slot_table_entries", func(n *host.Network) *host.Fact[int64] { return &n.NFSSlots }, 1, 64, 128),
	ofNetwork("listen overflows", func(n *host.Network) *host.Fact[int64] { return &n.ListenOverflows }, 1<<40, 1000, 1,
		0),
	steps("ports", func(f *host.Facts, v []int) { f.Network.PortRange = known(v, "f") }, []int{60000, 60999},
		[]int{32768, 60999}, []int{9000, 65500}, []int{1024, 65535}),
	steps("tcp_rmem", func(f *host.Facts, v int) { f.Network.TCPRmem = known([]int{4096, 87380, v}, "f") }, 1<<20, 6<<20,
		16<<20, 1<<30),
	steps("stalls for I/O", func(f *host.Facts, v float64) { f.Kernel.StalledIO = known(v, "f") }, 0.9, 0.2, 0.05, 0),
	ofMounts("barriers", "nobarrier", ""),
	ofMounts("barrier=0", "barrier=0", ""),
	ofMounts("soft", "soft", ""),
	ofMounts("discard", "discard", ""),
}

// A knob that changes no answer would show nothing.
func TestFarKnobsChangeAnswers(t *testing.T) {
	cases := slices.Concat(networkCases, mountCases, storageCases)
	for _, k := range farKnobs {
		matters := slices.ContainsFunc(cases, func(c lookCase) bool {
			found := func(step func(*host.Facts)) int {
				f := c.facts0()
				step(f)
				return len(Findings(Run(f, ProductionDB, All())))
			}
			return found(k.steps[0]) > found(k.steps[len(k.steps)-1])
		})
		if !matters {
			t.Errorf("%s changes no answer on any of %d hosts", k.name, len(cases))
		}
	}
}
