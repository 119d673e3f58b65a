package setting

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// network holds the settings of TCP and of NFS' transport: sysctls of the network namespace that hostlab is in.
var network = []Setting{
	{
		Sysctl: "net.core.somaxconn", Limit: true, Title: "Connections that wait to be accepted",
		Takes: quantity{lo: 1, hi: math.MaxInt32},
		About: "The longest queue that a server gets for connections which it has not accepted yet, whatever it asks for. " +
			"A server takes a new limit when it " +
			"listens anew. It reserves nothing.",
		Source: ipSysctl + "; tuned throughput-performance (2048 at least); SAP note 2382421 (4096)",
		Tries:  []Try{{"8192", ""}},
	},
	{
		Sysctl: "net.core.netdev_max_backlog", Limit: true, Title: "Packets that wait for a CPU",
		Takes:  quantity{lo: 1, hi: math.MaxInt32},
		About:  "How many received packets may wait on each CPU when they come faster than it takes them.",
		Source: ipSysctl + "; SAP note 3024346 (300000)",
		Tries:  []Try{{"300000", ""}},
	},
	{
		Sysctl: "net.core.rmem_default", Limit: true, Title: "Receive buffer of a socket",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "each socket may take more memory",
		About:  "The receive buffer of a socket that asks for none. TCP has its own in net.ipv4.tcp_rmem.",
		Source: socketBuffers + " (262144)",
		Tries:  []Try{{"262144", ""}},
	},
	{
		Sysctl: "net.core.rmem_max", Limit: true, Title: "Largest receive buffer that a program may ask for",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "sockets may take more memory",
		About: "A program that sets its socket's buffer itself gets no more than this, and TCP then sizes it no longer by " +
			"itself.",
		Source: socketBuffers + " (4194304); SAP note 3024346 (16777216)",
		Tries:  []Try{{"4194304", ""}},
	},
	{
		Sysctl: "net.core.wmem_default", Limit: true, Title: "Send buffer of a socket",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "each socket may take more memory",
		About:  "The send buffer of a socket that asks for none. TCP has its own in net.ipv4.tcp_wmem.",
		Source: socketBuffers + " (262144)",
		Tries:  []Try{{"262144", ""}},
	},
	{
		Sysctl: "net.core.wmem_max", Limit: true, Title: "Largest send buffer that a program may ask for",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "sockets may take more memory",
		About: "A program that sets its socket's buffer itself gets no more than this, and TCP then sizes it no longer by " +
			"itself.",
		Source: socketBuffers + " (1048576); SAP note 3024346 (16777216)",
		Tries:  []Try{{"4194304", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_rmem", Limit: true, Title: "Receive buffers of TCP", Takes: numbers{names: "MIN DEFAULT MAX"},
		About: "From MIN to MAX bytes, TCP sizes each connection's receive buffer by itself. MAX bounds what one " +
			"connection can carry over a long way.",
		Source: ipSysctl + "; SAP note 3024346 (4096 131072 16777216)",
		Tries:  []Try{{"4096 131072 16777216", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_wmem", Limit: true, Title: "Send buffers of TCP", Takes: numbers{names: "MIN DEFAULT MAX"},
		About: "From MIN to MAX bytes, TCP sizes each connection's send buffer by itself. MAX bounds what one connection can " +
			"carry over a long way.",
		Source: ipSysctl + "; SAP note 3024346 (4096 16384 16777216)",
		Tries:  []Try{{"4096 16384 16777216", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_max_syn_backlog", Limit: true, Title: "Connections that are half open",
		Takes: quantity{lo: 1, hi: math.MaxInt32},
		About: "How many connections may be remembered whose client has not confirmed them yet. Beyond that the kernel " +
			"answers with SYN cookies, which lose " +
			"TCP options, or not at all.",
		Source: ipSysctl + "; SAP note 2382421 (8192)",
		Tries:  []Try{{"8192", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_syn_retries", Title: "Tries to open a connection", Takes: quantity{lo: 1, hi: 127},
		Effect: "programs wait longer for a server that does not answer",
		About: "How often the first packet of a connection is sent again before it is given up. The pause doubles with " +
			"each: 5 give up within minutes.",
		Source: ipSysctl + "; SAP note 2382421 (8, for HANA 1 and HANA 2 SPS 00)",
		Tries:  []Try{{"8", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_retries2", Title: "Tries to send on an open connection", Takes: quantity{lo: 1, hi: 255},
		Effect: "connections are given up earlier while the network is down",
		About: "How often data are sent again before a connection is given up. 15 take some 15 minutes, 8 about 100 seconds, " +
			"which RFC 1122 asks for at least.",
		Source: ipSysctl + "; SAP note 2993054 (8, on Azure)",
		Tries:  []Try{{"8", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_keepalive_time", Title: "Idle time before a connection is probed",
		Takes:  quantity{lo: 1, hi: 2147483, unit: "s"},
		Effect: "idle connections send probes, and dead ones are closed earlier",
		About: "After how many idle seconds a connection is probed that asked for it (SO_KEEPALIVE). Firewalls and balancers " +
			"forget idle connections " +
			"earlier than the default of two hours. Servers may set a time of their own.",
		Source: ipSysctl + "; SAP notes 1410736, 2993054 (300), 1680803 (1250)",
		Tries:  []Try{{"300", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_keepalive_intvl", Title: "Time between probes of a connection",
		Takes:  quantity{lo: 1, hi: 2147483, unit: "s"},
		Effect: "dead connections are closed at another time",
		About:  "How many seconds pass between two probes of an idle connection that does not answer.",
		Source: keepalive + " (75)",
		Tries:  []Try{{"60", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_keepalive_probes", Title: "Probes of a connection", Takes: quantity{lo: 1, hi: 255},
		Effect: "dead connections are closed at another time",
		About:  "How many probes stay unanswered before an idle connection is taken for dead.", Source: keepalive + " (9)",
		Tries: []Try{{"6", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_slow_start_after_idle", Title: "Slow start after a pause", Takes: onOff{},
		Effect: "a burst after a pause may fill queues of the network",
		About: "With on, a connection that was idle for some round trips starts with a small window again. A large answer " +
			"after a pause then takes more " +
			"round trips than the network needs.",
		Source: ipSysctl + "; SAP notes 2382421, 3024346 (0)",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_window_scaling", Title: "Windows above 64 KiB", Takes: onOff{},
		Effect: "new connections have it",
		About:  "Without it a connection carries at most 64 KiB in a round trip, whatever its buffers are.",
		Source: tcpFeatures,
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_timestamps", Title: "Timestamps of TCP", Takes: words{known: []string{"0", "1", "2"}},
		Effect: "new connections have it; each packet is 12 bytes longer",
		About: "1 sends timestamps with a random offset for each connection, 2 without, 0 none. They time round trips and " +
			"keep old packets out of fast connections.",
		Source: tcpFeatures,
		Tries:  []Try{{"0", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_sack", Title: "Selective acknowledgements", Takes: onOff{},
		Effect: "new connections have it",
		About:  "With it the sender learns which packets are missing, and sends those alone again.",
		Source: ipSysctl + "; SAP note 3024346 (1)",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_moderate_rcvbuf", Title: "Receive buffers that size themselves", Takes: onOff{},
		Effect: "sockets may take more memory",
		About:  "With it TCP enlarges a connection's receive buffer as far as the way needs, up to tcp_rmem.",
		Source: ipSysctl + "; SAP note 3024346 (1)",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_no_metrics_save", Title: "Forget what a closed connection has learnt", Takes: onOff{},
		Effect: "new connections forget what earlier ones have learnt of the network",
		About: "With off, a new connection to the same host starts with the window and the times of the last one, also " +
			"where that one went badly.",
		Source: ipSysctl + "; SAP note 3024346 (1)",
		Tries:  []Try{{"on", "1"}},
	},
	{
		Sysctl: "net.ipv4.ip_local_port_range", Title: "Ports for outgoing connections", Takes: numbers{names: "FIRST LAST"},
		Effect: "the port of a stopped server may be taken: reserve it first",
		About: "From which ports outgoing connections get theirs. A server's own port in this range may be taken when it " +
			"starts: reserve it (net.ipv4.ip_local_reserved_ports).",
		Source: ipSysctl + "; tuned oracle (9000 65499)",
		Tries:  []Try{{"9000 65499", ""}},
	},
	{
		Sysctl: "sunrpc.tcp_max_slot_table_entries", Module: "sunrpc", Title: "Requests to an NFS server at a time",
		Takes: quantity{lo: 2, hi: 65536},
		About: "Up to how many requests are under way to an NFS server over one connection, as far as NFSv3 goes. Mounts " +
			"from then on have it. The module sunrpc shows it once it is loaded; an option in modprobe.d sets it before the " +
			"first mount.",
		Source: "Linux, net/sunrpc/xprtsock.c (65536 by default); SAP note 3024346 (128, which NetApp's servers take of " +
			"NFSv3)",
		Effect: "mounts that are there keep theirs",
		Tries:  []Try{{"128", ""}},
	},
}

const (
	ipSysctl      = "kernel documentation, networking/ip-sysctl.rst and admin-guide/sysctl/net.rst"
	socketBuffers = "kernel documentation, admin-guide/sysctl/net.rst; tuned oracle, mssql"
	keepalive     = ipSysctl + "; SAP notes 1410736, 2993054"
	tcpFeatures   = ipSysctl + "; SAP notes 2382421, 3024346 (1)"
)

const (
	irqDir  = host.IRQDir + "/"
	irqList = "smp_affinity_list"
)

// interrupts holds the setting of the CPUs that serve devices. Those of disks are not in it: the drivers of NVMe and
// virtio leave theirs to the kernel, which refuses to move them.
var interrupts = []Setting{
	{
		Name: "irq_affinity", Title: "CPUs that serve network cards' interrupts", Order: rankBlock,
		About: "At which CPUs the interrupts of network cards may arrive, one object for each interrupt. The CPU that takes " +
			"one also does the work for its packets, and a service on that CPU waits meanwhile. Caches are warm where both " +
			"are on CPUs of one node. irqbalance moves interrupts every ten seconds, so that nothing is set while it runs. The kernel " +
			"itself keeps those that it manages, as of NVMe disks.",
		Source: "kernel documentation, core-api/irq/irq-affinity.rst and networking/scaling.rst",
		Values: "a list of CPUs, such as 0-3; name an interrupt: irq_affinity@24=0",
		File:   irqDir + "*/" + irqList,
		Absent: "no network card has an interrupt that shows here, as in a container's own network or on Hyper-V",
		Takes:  cpuList{}, against: irqbalance,
		refusals: []refusal{
			{syscall.EIO, managed}, {syscall.EPERM, managed},
			{syscall.EINVAL, "none of these CPUs can take it"},
			{syscall.ENOSPC, "these CPUs have no vector left for it"},
		},
	},
}

// managed is what the kernel means by EIO, and newer ones by EPERM (kernel/irq/proc.c, write_irq_affinity).
const managed = "the kernel keeps this interrupt where it is, since it manages it or its hardware cannot move it"

// cards are the names of directories below irqDir whose interrupts are of network cards.
func cards(sys *System) (names []string) {
	for _, i := range host.Interrupts(func(dir string) []string {
		list, _ := sys.FS.ReadDir(dir)
		return list
	}) {
		names = append(names, strconv.Itoa(i.Number))
	}
	return names
}

// irqbalance refuses what irqbalance would undo within its ten seconds.
func irqbalance(sys *System, step Step, all steps) error {
	changed := func(s Step) bool { return s.Setting == step.Setting && s.From != s.To }
	if i := slices.IndexFunc(all, changed); i < 0 || all[i].Path != step.Path { // one look is enough for all
		return nil
	}
	for _, pid := range sys.numbered("/proc", "") {
		if name, err := sys.text("/proc/" + pid + "/comm"); err == nil && name == "irqbalance" && sys.ofRoot(pid) {
			return fmt.Errorf("%s would not stay: irqbalance (PID %s) moves interrupts every ten seconds; stop it meanwhile: "+
				"sudo systemctl stop irqbalance", step.Setting, pid)
		}
	}
	return nil
}

// ofRoot reports a process that acts as root. Anybody may call a process as they like, and only root's moves
// interrupts.
func (sys *System) ofRoot(pid string) bool {
	status, _ := sys.text("/proc/" + pid + "/status")
	return host.EffectiveUser(status) == "0"
}

// cpuList is some CPUs, as the kernel writes them.
type cpuList struct{ anything }

func (k cpuList) parse(sys *System, _ Object, v string) (string, error) {
	to, err := k.spell(v)
	if err != nil {
		return "", err
	}
	online, err := sys.text(cpuDir + "/online")
	there, unread := host.ParseList(online)
	if err != nil || unread != nil {
		return "", unsettable{errors.New("the CPUs that are online cannot be read")}
	}
	asked, _ := host.ParseList(to)
	for _, cpu := range asked {
		if !slices.Contains(there, cpu) {
			return "", fmt.Errorf("%q: CPU %d is not online; those are %s", screen.Short(v), cpu, host.FormatList(there))
		}
	}
	return to, nil
}

func (k cpuList) spell(v string) (string, error) {
	list, err := host.ParseList(strings.TrimSpace(v))
	if err != nil || len(list) == 0 {
		return "", fmt.Errorf("%q: expected %s", screen.Short(v), k.describe())
	}
	slices.Sort(list)
	return host.FormatList(slices.Compact(list)), nil
}

// inFile refuses profiles: they are for later boots.
func (cpuList) inFile(string, string) (string, error) {
	return "", errors.New("interrupts have other numbers after a boot")
}

func (cpuList) describe() string { return "a list of CPUs, such as 0-3" }
