package host

// Limits is what a process and its control groups may use. A limit of a group above its own
// holds for it, too.
type Limits struct {
	Affinity Fact[[]int]   `json:"affinity"` // CPUs that the process may run on
	CgroupV  Fact[int]     `json:"cgroup"`   // 1 or 2
	Cgroup   Fact[string]  `json:"cgroup_path"`
	CPUQuota Fact[float64] `json:"cpu_quota"` // CPUs, tightest of the groups; absent: no limit
	CPUSet   Fact[[]int]   `json:"cpuset"`
	// Periods in which a group with a quota had something to run, and those in which the quota
	// stopped it, since the group was made. Of several groups, the one that was stopped most.
	CPUPeriods   Fact[int64] `json:"cpu_periods"`
	CPUThrottled Fact[int64] `json:"cpu_throttled"`
	MemoryMax    Fact[int64] `json:"memory_max"`    // B, tightest of the groups; absent: no limit
	MemoryHigh   Fact[int64] `json:"memory_high"`   // B, from where on the kernel slows the group and reclaims
	MemoryEvents Fact[int64] `json:"memory_events"` // how often one of both was reached
	// Processes of the group that the kernel has killed for want of memory, since the group was made, and the share of
	// the last five minutes in which all of its tasks waited for memory (PSI).
	MemoryKills   Fact[int64]   `json:"memory_kills"`
	MemoryStalled Fact[float64] `json:"memory_stalled"`
	OpenFiles     Fact[int64]   `json:"open_files"`   // soft limit
	LockedBytes   Fact[int64]   `json:"locked_bytes"` // B, soft limit of RLIMIT_MEMLOCK
	Processes     Fact[int64]   `json:"processes"`    // soft limit, of all processes of the account
}

// ServerLog is a directory of a log beside the first, such as MySQL's binary log.
type ServerLog struct {
	Purpose string       `json:"purpose"` // "mysql binary log"
	Dir     Fact[string] `json:"dir"`
}

// Database is a server seen running: its files, and what its first process has and may use.
type Database struct {
	Kind    string       `json:"kind"` // postgresql, mariadb, mysql, oracle, hana, ...: see engines
	PID     int          `json:"pid"`  // 0: installed, not seen running
	DataDir Fact[string] `json:"data_dir"`
	LogDir  Fact[string] `json:"log_dir"` // redo or WAL, links followed
	// MoreLogs are other directories for which commits wait.
	MoreLogs []ServerLog  `json:"more_logs"`
	Version  Fact[string] `json:"version"` // as far as files tell it; nobody connects for it

	UID          Fact[int]   `json:"uid"`
	Threads      Fact[int64] `json:"threads"`       // of this process alone
	Maps         Fact[int64] `json:"maps"`          // memory mappings, of which max_map_count is the limit
	SharedMemory Fact[int64] `json:"shared_memory"` // B, mapped, whether touched or not
	HugePages    Fact[int64] `json:"huge_pages"`    // B, of hugetlbfs, touched by this process
	// B on each memory node, in their order, of this process or of the child with most shared memory
	NodeMemory  Fact[[]int64] `json:"node_memory"`
	OOMScoreAdj Fact[int64]   `json:"oom_score_adj"` // -1000: never killed where memory runs out
	Limits      Limits        `json:"limits"`
	// Settings of the server that meet the platform, as its configuration files have them, or as it said itself.
	Settings []ServerSetting `json:"settings"`
	// Whether its network and its System V IPC are others than hostlab's, so that settings of those are not what it has.
	OwnNetwork Fact[bool] `json:"own_network"`
	OwnIPC     Fact[bool] `json:"own_ipc"`
	// Preload are libraries that are loaded before its own code, by its environment or for all programs.
	Preload Fact[string] `json:"preload"`
	// ConfDir is a directory of this host's whose files the server reads behind its own, the last of them.
	ConfDir Fact[string] `json:"conf_dir"`
}
