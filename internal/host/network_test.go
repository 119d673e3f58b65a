package host

import (
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

const counterLines = `-- proc/self/net/netstat --
TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 0 17 19
IpExt: InNoRoutes InOctets
IpExt: 0 12345
-- proc/self/net/snmp --
Tcp: RtoAlgorithm ActiveOpens PassiveOpens
Tcp: 1 5 20000
-- proc/net -> self/net --
`

func TestReadNetwork(t *testing.T) {
	n := readNetwork(tree(t, counterLines+"-- proc/sys/net/core/somaxconn --\n4096\n-- proc/sys/net/ipv4/tcp_rmem --\n4096\t131072\t6291456\n"+
		"-- proc/sys/net/ipv4/tcp_wmem --\n4096 16384\n-- proc/sys/net/ipv4/ip_local_port_range --\n32768\t60999\n"+
		"-- proc/sys/net/ipv4/tcp_keepalive_time --\n7200\n-- proc/sys/sunrpc/tcp_max_slot_table_entries --\n!errno EACCES\n"))
	for _, c := range []struct{ got, want any }{
		{n.Somaxconn, Known[int64](4096, "", "/proc/sys/net/core/somaxconn")},
		{n.TCPRmem.Value, []int{4096, 131072, 6291456}}, {n.TCPWmem.State, StateError}, {n.PortRange.Value, []int{32768, 60999}},
		{n.KeepaliveTime, Known[int64](7200, "s", "/proc/sys/net/ipv4/tcp_keepalive_time")},
		{n.NFSSlots.State, StateDenied}, {n.SACK.State, StateAbsent},
		{n.ListenOverflows, Known[int64](17, "", "/proc/net/netstat TcpExt ListenOverflows")},
		{n.ListenDrops.Value, int64(19)}, {n.PassiveOpens.Value, int64(20000)},
	} {
		testkit.Same(t, c.want, c.got)
	}
}

// Counters that do not fit their names are no counterLines, and never 0.
func TestGarbledCounters(t *testing.T) {
	for text, want := range map[string]State{
		"TcpExt: A ListenOverflows\nTcpExt: 1\n":                  StateError,
		"TcpExt: A ListenOverflows\nTcpExt: 1 -2\n":               StateError,
		"TcpExt: A ListenOverflows\n":                             StateError,
		"TcpExt: A B\nTcpExt: 1 2\n":                              StateAbsent,
		"nothing of this form\n":                                  StateAbsent,
		"TcpExt: ListenOverflows\nTcpExt: 99999999999999999999\n": StateError,
	} {
		f := netCounter(tree(t, "-- proc/self/net/netstat --\n"+text+"-- proc/net -> self/net --\n"), "/proc/net/netstat", "TcpExt", "ListenOverflows")
		testkit.Is(t, want, f.State, text, f.Reason)
	}
}

func TestClockSync(t *testing.T) {
	for text, want := range map[string]Fact[bool]{
		"-- .hostlab/adjtimex --\n64\n":   Known(false, "", clockFile),
		"-- .hostlab/adjtimex --\n8193\n": Known(true, "", clockFile),
		"-- .hostlab/adjtimex --\n-1\n":   {Source: clockFile, State: StateError, Reason: "-1 is no status of a clock"},
		"-- proc/x --\n":                  {Source: clockFile, State: StateAbsent, Reason: "no such file or directory"},
	} {
		testkit.Same(t, want, readClockSync(tree(t, text)), "", text)
	}
}

func TestStalls(t *testing.T) {
	k := readKernel(tree(t, "-- proc/pressure/memory --\nsome avg10=9.00 avg60=8.00 avg300=7.00 total=1\nfull avg10=3.00 avg60=2.00 avg300=1.50 total=1\n"+
		"-- proc/pressure/io --\nsome avg10=9.00 avg60=8.00 avg300=7.00 total=1\n"))
	testkit.Is(t, 0.015, k.StalledMemory.Or(-1), "memory")
	if k.StalledIO.State != StateError || !strings.Contains(k.StalledIO.Reason, "no line full") || k.PressureIO.Or(-1) != 0.08 {
		t.Errorf("I/O: %+v, %+v", k.StalledIO, k.PressureIO)
	}
}

func TestQueuesOfADisk(t *testing.T) {
	two := disk("vda", "254:0", "pci0000:00/virtio0", with(flash, "mq/0/nr_tags", "128", "mq/1/nr_tags", "128", "mq/x/nr_tags", "1"))
	for archive, want := range map[string]int64{two: 2, virtioDisk: -1} {
		testkit.Is(t, want, (block{tree(t, archive)}).device("vda").Queues.Or(-1), "queues")
	}
}

func TestAccelerators(t *testing.T) {
	list := readAccelerators(tree(t, "-- sys/bus/dsa/devices/dsa0/wq0.0/state --\nenabled\n-- sys/bus/dsa/devices/dsa0/wq0.1/state --\ndisabled\n"+
		"-- sys/bus/dsa/devices/iax1/wq1.0/state --\ndisabled\n-- sys/bus/dsa/devices/wq0.0/state --\nenabled\n"))
	if len(list) != 2 || list[0].Name != "dsa0" || list[0].Queues.Or(-1) != 1 || list[1].Queues.Or(-1) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestUncore(t *testing.T) {
	const dir = "-- sys/devices/system/cpu/intel_uncore_frequency/uncore00/"
	f := readFrequency(tree(t, dir+"max_freq_khz --\n1800000\n"+dir+"initial_max_freq_khz --\n2500000\n"+dir+"elc_floor_freq_khz --\n0\n"+
		dir+"elc_low_threshold_percent --\n10\n"+dir+"elc_high_threshold_percent --\n94\n"+dir+"elc_high_threshold_enable --\n1\n"), Topology{})
	u := f.Uncore[0]
	if u.InitialMax.Value != 2500000000 || u.Max.Value != 1800000000 || u.ELCFloor.Or(-1) != 0 || u.ELCLow.Or(0) != 10 || u.ELCHigh.Or(0) != 94 || !u.ELCHighActive.Value {
		t.Errorf("%+v", u)
	}
}
