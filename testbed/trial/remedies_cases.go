//go:build linux && amd64

package main

const (
	sys  = "/proc/sys/"
	huge = "/sys/kernel/mm/transparent_hugepage/"
)

// limit is a sysctl that a server's source wants higher or otherwise than the value here.
func limit(check, server, value, file string) remedy {
	r := remedy{check: check, spoil: put(value, sys+file), boots: true}
	if server != "" {
		r.servers = []string{server}
	}
	if server == "disp+work" {
		r.args = []string{"--role", "production-app"}
	}
	return r
}

// Programs of servers, by the names that hostlab knows them by.
const (
	hana   = "hdbindexserver"
	sap    = "disp+work"
	oracle = "ora_lgwr_DB"
	// Its own check of the directory does not matter here.
	postgres = "postgres"
)

// remedyCases are tried in their order, each where its check is named or all are.
var remedyCases = []remedy{
	{check: "PWR-001", spoil: put("powersave", cpu+"/cpufreq/policy*/scaling_governor"), boots: true},
	{check: "PWR-003", spoil: all(put("powersave", cpu+"/cpufreq/policy*/scaling_governor"),
		put("balance_power", cpu+"/cpufreq/policy*/energy_performance_preference")), boots: true},
	{check: "PWR-007", spoil: put("1200000", cpu+"/cpufreq/policy*/scaling_max_freq")},
	{check: "IDL-001", spoil: put("0", cpu+"/cpu*/cpuidle/state*/disable")},
	{check: "MEM-001", spoil: put("always", huge+"enabled"), boots: true},
	{check: "MEM-001", spoil: all(put("always", huge+"enabled"), put("always", huge+"hugepages-64kB/enabled"),
		put("always", huge+"shmem_enabled"))},
	{check: "MEM-002", spoil: all(put("never", huge+"shmem_enabled"), put("madvise", huge+"enabled"),
		put("always", huge+"defrag")), boots: true},
	{check: "MEM-003", spoil: put("1", "/sys/kernel/mm/ksm/run"), boots: true},
	{check: "MEM-004", spoil: put("1", sys+"kernel/numa_balancing"), boots: true},
	{check: "MEM-005", servers: []string{postgres},
		spoil: all(put("4294967296", sys+"vm/dirty_background_bytes"), put("8589934592", sys+"vm/dirty_bytes")), boots: true},
	{check: "MEM-006",
		spoil: all(shell("swapoff /dev/vda 2>/dev/null || true; mkswap /dev/vda >/dev/null; swapon /dev/vda"),
			put("60", sys+"vm/swappiness")), boots: true},
	limit("MEM-007", hana, "65530", "vm/max_map_count"),
	{check: "MEM-008", servers: []string{sap}, args: []string{"--role", "production-app"},
		spoil: shell("mount -o remount,size=64M,nosuid,nodev /dev/shm")},
	limit("MEM-009", "", "1", "vm/zone_reclaim_mode"),
	limit("KRN-001", hana, "4096", "kernel/shmmni"),
	limit("KRN-002", "", "33554432", "kernel/shmmax"),
	limit("KRN-003", "", "8192", "kernel/shmall"),
	limit("KRN-004", hana, "250 32000 100 128", "kernel/sem"),
	limit("KRN-005", hana, "32768", "kernel/pid_max"),
	limit("KRN-006", oracle, "65536", "fs/aio-max-nr"),
	{check: "KRN-007", spoil: put("acpi_pm", "/sys/devices/system/clocksource/clocksource0/current_clocksource")},
	limit("KRN-012", oracle, "0", "kernel/panic_on_oops"),
	limit("KRN-013", oracle, "65536", "fs/file-max"),
	limit("KRN-014", sap, "16", "kernel/msgmni"),
	limit("NET-001", "", "128", "net/core/somaxconn"),
	limit("NET-003", hana, "1", "net/ipv4/tcp_slow_start_after_idle"),
	limit("NET-005", "", "0", "net/ipv4/tcp_window_scaling"),
	limit("NET-007", hana, "128", "net/ipv4/tcp_max_syn_backlog"),
	limit("MEM-010", oracle, "3000", "vm/dirty_expire_centisecs"),
	limit("KRN-011", postgres, "1", "kernel/sched_autogroup_enabled"),
	limit("NET-004", hana, "7200", "net/ipv4/tcp_keepalive_time"),
	limit("NET-006", oracle, "212992", "net/core/rmem_max"),
	limit("NET-008", hana, "3", "net/ipv4/tcp_syn_retries"),
	limit("NET-009", oracle, "32768 60999", "net/ipv4/ip_local_port_range"),
	{check: "STO-001", spoil: shell("modprobe mq-deadline; echo mq-deadline > /sys/block/vda/queue/scheduler")},
	{check: "STO-003", spoil: put("128", "/sys/block/vda/queue/read_ahead_kb")},
	{check: "STO-004", args: []string{"--log-dir", "/mnt/log"}, spoil: mounted("ext4", "/tools/mke2fs -q -t ext4 -F")},
	{check: "STO-004", args: []string{"--log-dir", "/mnt/log"}, spoil: mounted("xfs", "/tools/mkfs.xfs -q -f")},
	{check: "VRT-004", spoil: put("0", cpu+"/cpu3/online")},
}
