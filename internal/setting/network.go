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
		Tries: []Try{{"8192", ""}},
	},
	{
		Sysctl: "net.core.netdev_max_backlog", Limit: true, Title: "Packets that wait for a CPU",
		Takes: quantity{lo: 1, hi: math.MaxInt32},
		Tries: []Try{{"300000", ""}},
	},
	{
		Sysctl: "net.core.rmem_default", Limit: true, Title: "Receive buffer of a socket",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "each socket may take more memory",
		Tries:  []Try{{"262144", ""}},
	},
	{
		Sysctl: "net.core.rmem_max", Limit: true, Title: "Largest receive buffer that a program may ask for",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "sockets may take more memory",
		Tries:  []Try{{"4194304", ""}},
	},
	{
		Sysctl: "net.core.wmem_default", Limit: true, Title: "Send buffer of a socket",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "each socket may take more memory",
		Tries:  []Try{{"262144", ""}},
	},
	{
		Sysctl: "net.core.wmem_max", Limit: true, Title: "Largest send buffer that a program may ask for",
		Takes:  quantity{lo: 4608, hi: math.MaxInt32, unit: "B"},
		Effect: "sockets may take more memory",
		Tries:  []Try{{"4194304", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_rmem", Limit: true, Title: "Receive buffers of TCP", Takes: numbers{names: "MIN DEFAULT MAX"},
		Tries: []Try{{"4096 131072 16777216", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_wmem", Limit: true, Title: "Send buffers of TCP", Takes: numbers{names: "MIN DEFAULT MAX"},
		Tries: []Try{{"4096 16384 16777216", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_max_syn_backlog", Limit: true, Title: "Connections that are half open",
		Takes: quantity{lo: 1, hi: math.MaxInt32},
		Tries: []Try{{"8192", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_syn_retries", Title: "Tries to open a connection", Takes: quantity{lo: 1, hi: 127},
		Effect: "programs wait longer for a server that does not answer",
		Tries:  []Try{{"8", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_retries2", Title: "Tries to send on an open connection", Takes: quantity{lo: 1, hi: 255},
		Effect: "connections are given up earlier while the network is down",
		Tries:  []Try{{"8", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_keepalive_time", Title: "Idle time before a connection is probed",
		Takes:  quantity{lo: 1, hi: 2147483, unit: "s"},
		Effect: "idle connections send probes, and dead ones are closed earlier",
		Tries:  []Try{{"300", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_keepalive_intvl", Title: "Time between probes of a connection",
		Takes:  quantity{lo: 1, hi: 2147483, unit: "s"},
		Effect: "dead connections are closed at another time",
		Tries:  []Try{{"60", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_keepalive_probes", Title: "Probes of a connection", Takes: quantity{lo: 1, hi: 255},
		Effect: "dead connections are closed at another time",
		Tries:  []Try{{"6", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_slow_start_after_idle", Title: "Slow start after a pause", Takes: onOff{},
		Effect: "a burst after a pause may fill queues of the network",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_window_scaling", Title: "Windows above 64 KiB", Takes: onOff{},
		Effect: "new connections have it",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_timestamps", Title: "Timestamps of TCP", Takes: words{known: []string{"0", "1", "2"}},
		Effect: "new connections have it; each packet is 12 bytes longer",
		Tries:  []Try{{"0", ""}},
	},
	{
		Sysctl: "net.ipv4.tcp_sack", Title: "Selective acknowledgements", Takes: onOff{},
		Effect: "new connections have it",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_moderate_rcvbuf", Title: "Receive buffers that size themselves", Takes: onOff{},
		Effect: "sockets may take more memory",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "net.ipv4.tcp_no_metrics_save", Title: "Forget what a closed connection has learnt", Takes: onOff{},
		Effect: "new connections forget what earlier ones have learnt of the network",
		Tries:  []Try{{"on", "1"}},
	},
	{
		Sysctl: "net.ipv4.ip_local_port_range", Title: "Ports for outgoing connections", Takes: numbers{names: "FIRST LAST"},
		Effect: "the port of a stopped server may be taken: reserve it first",
		Tries:  []Try{{"9000 65499", ""}},
	},
	{
		Sysctl: "sunrpc.tcp_max_slot_table_entries", Module: "sunrpc", Title: "Requests to an NFS server at a time",
		Takes:  quantity{lo: 2, hi: 65536},
		Effect: "mounts that are there keep theirs",
		Tries:  []Try{{"128", ""}},
	},
}

const (
	irqDir  = host.IRQDir + "/"
	irqList = "smp_affinity_list"
)

// interrupts holds the setting of the CPUs that serve devices. Those of disks are not in it: the drivers of NVMe and
// virtio leave theirs to the kernel, which refuses to move them.
var interrupts = []Setting{
	{
		Name: "irq_affinity", Title: "CPUs that serve network cards' interrupts", Order: rankBlock,
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
