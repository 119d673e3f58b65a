package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Network holds settings and counters of TCP and of NFS' transport. They are those of the network
// namespace that hostlab is in.
type Network struct {
	Somaxconn     Fact[int64] `json:"somaxconn" read:"/proc/sys/net/core/somaxconn"`
	NetdevBacklog Fact[int64] `json:"netdev_max_backlog" read:"/proc/sys/net/core/netdev_max_backlog"`
	RmemDefault   Fact[int64] `json:"rmem_default" read:"/proc/sys/net/core/rmem_default B"`
	RmemMax       Fact[int64] `json:"rmem_max" read:"/proc/sys/net/core/rmem_max B"`
	WmemDefault   Fact[int64] `json:"wmem_default" read:"/proc/sys/net/core/wmem_default B"`
	WmemMax       Fact[int64] `json:"wmem_max" read:"/proc/sys/net/core/wmem_max B"`
	// least, first and largest, in B
	TCPRmem         Fact[[]int] `json:"tcp_rmem" read:"/proc/sys/net/ipv4/tcp_rmem words"`
	TCPWmem         Fact[[]int] `json:"tcp_wmem" read:"/proc/sys/net/ipv4/tcp_wmem words"`
	SynBacklog      Fact[int64] `json:"tcp_max_syn_backlog" read:"/proc/sys/net/ipv4/tcp_max_syn_backlog"`
	SynRetries      Fact[int64] `json:"tcp_syn_retries" read:"/proc/sys/net/ipv4/tcp_syn_retries"`
	Retries2        Fact[int64] `json:"tcp_retries2" read:"/proc/sys/net/ipv4/tcp_retries2"`
	KeepaliveTime   Fact[int64] `json:"tcp_keepalive_time" read:"/proc/sys/net/ipv4/tcp_keepalive_time s"`
	KeepaliveIntvl  Fact[int64] `json:"tcp_keepalive_intvl" read:"/proc/sys/net/ipv4/tcp_keepalive_intvl s"`
	KeepaliveProbes Fact[int64] `json:"tcp_keepalive_probes" read:"/proc/sys/net/ipv4/tcp_keepalive_probes"`
	SlowStart       Fact[int64] `json:"tcp_slow_start_after_idle" read:"/proc/sys/net/ipv4/tcp_slow_start_after_idle"`
	WindowScaling   Fact[int64] `json:"tcp_window_scaling" read:"/proc/sys/net/ipv4/tcp_window_scaling"`
	Timestamps      Fact[int64] `json:"tcp_timestamps" read:"/proc/sys/net/ipv4/tcp_timestamps"`
	SACK            Fact[int64] `json:"tcp_sack" read:"/proc/sys/net/ipv4/tcp_sack"`
	ModerateRcvbuf  Fact[int64] `json:"tcp_moderate_rcvbuf" read:"/proc/sys/net/ipv4/tcp_moderate_rcvbuf"`
	NoMetricsSave   Fact[int64] `json:"tcp_no_metrics_save" read:"/proc/sys/net/ipv4/tcp_no_metrics_save"`
	PortRange       Fact[[]int] `json:"ip_local_port_range" read:"/proc/sys/net/ipv4/ip_local_port_range words"`
	NFSSlots        Fact[int64] `json:"tcp_max_slot_table_entries" read:"/proc/sys/sunrpc/tcp_max_slot_table_entries"`
	PassiveOpens    Fact[int64] `json:"passive_opens" setup:"no"`    // connections accepted since boot
	ListenOverflows Fact[int64] `json:"listen_overflows" setup:"no"` // of them, those that found a server's queue full
	// those, and others that were dropped at a listening socket
	ListenDrops Fact[int64] `json:"listen_drops" setup:"no"`

	Cards []NetworkCard `json:"cards"`
}

func readNetwork(t Tree) (n Network) {
	fill(t, "", &n)
	for f, want := range map[*Fact[[]int]]int{&n.TCPRmem: 3, &n.TCPWmem: 3, &n.PortRange: 2} {
		if v, ok := f.Get(); ok && len(v) != want {
			*f = Unknown[[]int](f.Source, fmt.Errorf("expected %d numbers, found %d", want, len(v)))
		}
	}
	n.PassiveOpens = netCounter(t, "/proc/net/snmp", "Tcp", "PassiveOpens")
	n.ListenOverflows = netCounter(t, "/proc/net/netstat", "TcpExt", "ListenOverflows")
	n.ListenDrops = netCounter(t, "/proc/net/netstat", "TcpExt", "ListenDrops")
	n.Cards = readCards(t)
	return n
}

// netCounter finds a counter in a file of pairs of lines, of which the first has the names and the
// second the numbers, in the same order (proc_net(5)).
func netCounter(t Tree, file, group, name string) Fact[int64] {
	return Convert(t.Text(file), "", func(s string) (int64, error) {
		var names []string
		for line := range strings.Lines(s) {
			w := strings.Fields(line)
			if len(w) == 0 || w[0] != group+":" {
				continue
			}
			if names == nil {
				names = w
				continue
			}
			at := slices.Index(names, name)
			if at < 0 || len(w) != len(names) {
				break
			}
			v, err := strconv.ParseInt(w[at], 10, 64)
			if err != nil || v < 0 {
				return 0, fmt.Errorf("expected a count, found %s", clip(w[at]))
			}
			return v, nil
		}
		if names == nil || !slices.Contains(names, name) {
			return 0, none("no counter " + group + " " + name)
		}
		return 0, errors.New("its names and numbers do not go together")
	}).from(file + " " + group + " " + name)
}
