package host

// Facts is everything that is known of a machine. Slices hold one element an
// object (CPU, policy, device) in natural order; objects that are not there
// make empty slices, never failed facts. A field with the tag read is read by fill;
// those of CPUs are below their directory. What has the tag setup:"no" says nothing of how the machine is set up: a
// reading of a moment, a count of what has happened, a number or name that equal machines give otherwise, or what is of
// one process or boot.
type Facts struct {
	Kind      string        `json:"kind" setup:"no"`
	Schema    int           `json:"schema" setup:"no"`
	Identity  Identity      `json:"identity"`
	Topology  Topology      `json:"topology"`
	Frequency Frequency     `json:"frequency"`
	Idle      Idle          `json:"idle"`
	Memory    Memory        `json:"memory"`
	Kernel    Kernel        `json:"kernel"`
	Network   Network       `json:"network"`
	Virt      Virt          `json:"virtualization"`
	Limits    Limits        `json:"limits" setup:"no"`  // of hostlab itself
	Storage   []Storage     `json:"storage" setup:"no"` // one for each path asked about, and each database's log
	Data      []Storage     `json:"data"`               // one for each database's data that are not with its log
	Block     []BlockDevice `json:"block"`              // all whole disks, for their queue settings
	Offload   []Accelerator `json:"offload"`            // devices that copy and compress for programs
	// What a cloud counts of its limits.
	CloudVolumes  []CloudVolume  `json:"cloud_volumes,omitempty" setup:"no"`
	CloudNetworks []CloudNetwork `json:"cloud_networks,omitempty" setup:"no"`
	Databases     []Database     `json:"databases" setup:"no"` // servers seen running
	// instances of SAP application servers, running or installed
	Apps    []Database `json:"app_servers" setup:"no"`
	Windows *Windows   `json:"windows,omitempty"`
}

// Identity names the machine.
type Identity struct {
	Hostname     Fact[string] `json:"hostname" read:"/proc/sys/kernel/hostname|/etc/hostname given" setup:"no"`
	OS           Fact[string] `json:"os"` // as in "Debian GNU/Linux 12 (bookworm)"
	Kernel       Fact[string] `json:"kernel"`
	Arch         Fact[string] `json:"arch"`
	CPUModel     Fact[string] `json:"cpu_model"`
	CPUVendor    Fact[string] `json:"cpu_vendor"`
	Microcode    Fact[string] `json:"microcode"`
	Product      Fact[string] `json:"product"` // DMI vendor and product
	BIOS         Fact[string] `json:"bios"`
	ClockTicksHz Fact[int64]  `json:"clock_ticks"` // Hz; CONFIG_HZ where it can be read
	Preemption   Fact[string] `json:"preemption"`  // none, voluntary, lazy, full or rt
}

// Topology says which CPUs there are and what they share.
type Topology struct {
	Online  Fact[[]int] `json:"online"`
	Offline Fact[[]int] `json:"offline" read:"offline"`
	Present Fact[[]int] `json:"present" read:"present"`
	// from the scheduler: isolcpus, or a cpuset's isolated partition
	Isolated   Fact[[]int]  `json:"isolated" read:"isolated"`
	Sockets    Fact[int]    `json:"sockets"`
	Cores      Fact[int]    `json:"cores"`
	Threads    Fact[int]    `json:"threads"` // online logical CPUs
	SMTControl Fact[string] `json:"smt_control" read:"smt/control"`
	SMTActive  Fact[bool]   `json:"smt_active" read:"smt/active"`
	CoreTypes  []CoreType   `json:"core_types"` // more than one on hybrid processors
	NUMA       []NUMANode   `json:"numa"`
	Caches     []Cache      `json:"caches"`
	CPUs       []CPU        `json:"cpus"` // online ones
}

// CPU is one logical CPU.
type CPU struct {
	ID       int         `json:"id" setup:"no"`
	Socket   Fact[int]   `json:"socket" read:"topology/physical_package_id"`
	Die      Fact[int]   `json:"die" read:"topology/die_id"`
	Cluster  Fact[int]   `json:"cluster" read:"topology/cluster_id"`
	Core     Fact[int]   `json:"core" read:"topology/core_id" setup:"no"` // unique only within its socket
	Siblings Fact[[]int] `json:"siblings" read:"topology/core_cpus_list|topology/thread_siblings_list" setup:"no"`
	NUMANode Fact[int]   `json:"numa_node"`
	CoreType string      `json:"core_type"` // CoreType.Name
}

// CoreType is a class of CPUs with the same capacity, as performance and
// efficiency cores are. A uniform machine has one, named "all".
type CoreType struct {
	Name     string      `json:"name" setup:"no"`
	CPUs     []int       `json:"cpus" setup:"no"`
	Capacity Fact[int64] `json:"capacity"` // cpu_capacity, 1024 for the largest
}

// NUMANode is one memory node.
type NUMANode struct {
	ID       int         `json:"id" setup:"no"`
	CPUs     Fact[[]int] `json:"cpus" read:"cpulist" setup:"no"`
	Memory   Fact[int64] `json:"memory" read:"meminfo KiB MemTotal"` // B
	Distance Fact[[]int] `json:"distances" read:"distance words"`    // to each node, 10 = local
}

// Cache is one cache and the CPUs that share it.
type Cache struct {
	Level int         `json:"level"`
	Type  string      `json:"type"`                              // Data, Instruction, Unified
	Size  Fact[int64] `json:"size" read:"size size"`             // B
	Line  Fact[int64] `json:"line" read:"coherency_line_size B"` // B
	CPUs  []int       `json:"cpus" setup:"no"`
	Ways  Fact[int64] `json:"ways" read:"ways_of_associativity"`
}

// Frequency is what decides how fast CPUs run.
type Frequency struct {
	Policies        []Policy     `json:"policies"`
	Boost           Fact[bool]   `json:"boost"` // whether turbo is allowed, from whichever file says so
	NoTurbo         Fact[bool]   `json:"no_turbo" read:"intel_pstate/no_turbo"`
	CPUFreqBoost    Fact[bool]   `json:"cpufreq_boost" read:"cpufreq/boost"`
	PstateStatus    Fact[string] `json:"pstate_status" read:"intel_pstate/status|amd_pstate/status"`
	MinPerfPct      Fact[int64]  `json:"min_perf_pct" read:"intel_pstate/min_perf_pct %"`
	MaxPerfPct      Fact[int64]  `json:"max_perf_pct" read:"intel_pstate/max_perf_pct %"`
	PlatformProfile Fact[string] `json:"platform_profile" read:"/sys/firmware/acpi/platform_profile"`
	ProfileChoices  Fact[string] `json:"platform_profile_choices" read:"/sys/firmware/acpi/platform_profile_choices"`
	// EPB is energy_perf_bias, 0 performance to 15 powersave; empty where no CPU has it.
	EPB     []CPUValue[int64] `json:"epb"`
	Current []CPUCurrent      `json:"current" setup:"no"` // of each online CPU
	Uncore  []Uncore          `json:"uncore"`
	// DomainScope is what shares one frequency: thread, core, socket, other, or mixed where policies differ.
	DomainScope Fact[string] `json:"domain_scope"`
}

// CPUValue is what each CPU has for itself.
type CPUValue[T any] struct {
	CPU   int     `json:"cpu" setup:"no"`
	Value Fact[T] `json:"value"`
}

// CPUCurrent is a CPU's frequency at one moment.
type CPUCurrent struct {
	CPU       int           `json:"cpu"`
	Frequency Fact[int64]   `json:"frequency"`      // Hz
	Percent   Fact[float64] `json:"percent_of_max"` // of cpuinfo_max_freq, '% of Maximum Frequency' of Windows
}

// Policy is a cpufreq policy: CPUs whose frequency is set together.
type Policy struct {
	ID        int           `json:"id" setup:"no"`
	CPUs      Fact[[]int]   `json:"cpus" read:"related_cpus cpus" setup:"no"`
	Affected  Fact[[]int]   `json:"affected" read:"affected_cpus cpus" setup:"no"`     // those of them that are online
	Domain    Fact[[]int]   `json:"freqdomain" read:"freqdomain_cpus cpus" setup:"no"` // coupled by hardware
	Driver    Fact[string]  `json:"driver" read:"scaling_driver"`
	Governor  Fact[string]  `json:"governor" read:"scaling_governor"`
	Governors Fact[string]  `json:"governors" read:"scaling_available_governors"`
	HWMin     Fact[int64]   `json:"hardware_min" read:"cpuinfo_min_freq kHz"`
	HWMax     Fact[int64]   `json:"hardware_max" read:"cpuinfo_max_freq kHz"`
	Base      Fact[int64]   `json:"base" read:"base_frequency kHz"`
	Min       Fact[int64]   `json:"min" read:"scaling_min_freq kHz"`
	Max       Fact[int64]   `json:"max" read:"scaling_max_freq kHz"`
	BIOSLimit Fact[int64]   `json:"bios_limit" read:"bios_limit kHz"`
	Latency   Fact[float64] `json:"latency" read:"cpuinfo_transition_latency ns"` // s
	PStates   Fact[[]int64] `json:"pstates" read:"scaling_available_frequencies"` // Hz, falling
	EPP       Fact[string]  `json:"epp" read:"energy_performance_preference"`
	EPPs      Fact[string]  `json:"epps" read:"energy_performance_available_preferences"`
	Boost     Fact[bool]    `json:"boost" read:"boost"`
	// Scope is thread, core, socket or other, by Domain or CPUs and the topology; "" unknown.
	Scope string `json:"scope"`
}

// Uncore is the frequency range of one uncore domain.
type Uncore struct {
	Name       string      `json:"name" setup:"no"`
	Min        Fact[int64] `json:"min" read:"min_freq_khz kHz"`                 // Hz
	Max        Fact[int64] `json:"max" read:"max_freq_khz kHz"`                 // Hz
	InitialMax Fact[int64] `json:"initial_max" read:"initial_max_freq_khz kHz"` // Hz, when the driver was loaded
	// Efficiency latency control: the floor in force below the low threshold of CPU use, and the threshold above
	// which the frequency climbs in steps, where that is enabled (Linux 6.13).
	ELCFloor      Fact[int64] `json:"elc_floor" read:"elc_floor_freq_khz kHz0"` // Hz
	ELCLow        Fact[int64] `json:"elc_low" read:"elc_low_threshold_percent %"`
	ELCHigh       Fact[int64] `json:"elc_high" read:"elc_high_threshold_percent %"`
	ELCHighActive Fact[bool]  `json:"elc_high_enabled" read:"elc_high_threshold_enable"`
}

// Idle is what CPUs do when they have nothing to do.
type Idle struct {
	Driver     Fact[string]  `json:"driver" read:"cpuidle/current_driver"`
	Governor   Fact[string]  `json:"governor" read:"cpuidle/current_governor|cpuidle/current_governor_ro"`
	States     []IdleState   `json:"states"`          // grouped: one for each distinct state
	DMALatency Fact[float64] `json:"cpu_dma_latency"` // s, the limit in force from /dev/cpu_dma_latency; absent: no limit
	// Resume is what users of each online CPU tolerate, in s; 0 forbids all idle states; absent: no limit.
	Resume []CPUValue[float64] `json:"resume_latency"`
}

// IdleState is one C-state of the CPUs that have it alike.
type IdleState struct {
	Index     int           `json:"index" setup:"no"`
	Name      Fact[string]  `json:"name" read:"name" setup:"no"`
	Desc      Fact[string]  `json:"desc" read:"desc text"`
	Latency   Fact[float64] `json:"latency" read:"latency us"`     // s to leave it
	Residency Fact[float64] `json:"residency" read:"residency us"` // s for it to be worth entering
	CPUs      []int         `json:"cpus" setup:"no"`
	Disabled  []int         `json:"disabled"` // of CPUs, those on which it is disabled
	Unread    []int         `json:"unread"`   // of CPUs, those whose disable file could not be read
	// Disable says whether it is disabled on any CPU; not ok if none is known to be and some are unread.
	Disable Fact[bool] `json:"disable" read:"disable"`
}

// Memory is the memory and what manages it.
type Memory struct {
	Total     Fact[int64] `json:"total" read:"/proc/meminfo KiB MemTotal"`                    // B
	Available Fact[int64] `json:"available" read:"/proc/meminfo KiB MemAvailable" setup:"no"` // B, free or easily freed
	SwapTotal Fact[int64] `json:"swap" read:"/proc/meminfo KiB SwapTotal"`                    // B
	// files and devices, comma separated
	SwapOn       Fact[string] `json:"swap_on"`
	HugePageSize Fact[int64]  `json:"huge_page_size" read:"/proc/meminfo KiB Hugepagesize"`
	HugePages    Fact[int64]  `json:"huge_pages" read:"/proc/meminfo  HugePages_Total"`
	HugePools    []HugePool   `json:"huge_pools"` // of each size, that of the facts around among them
	// promised to programs, still counted as free
	HugePagesReserved Fact[int64] `json:"huge_pages_reserved" read:"/proc/meminfo  HugePages_Rsvd" setup:"no"`
	// 2: allocations fail before memory is out
	Overcommit           Fact[int64]  `json:"overcommit_memory" read:"/proc/sys/vm/overcommit_memory"`
	HugePagesFree        Fact[int64]  `json:"huge_pages_free" read:"/proc/meminfo  HugePages_Free" setup:"no"`
	THPEnabled           Fact[Choice] `json:"thp_enabled" read:"/sys/kernel/mm/transparent_hugepage/enabled"`
	THPDefrag            Fact[Choice] `json:"thp_defrag" read:"/sys/kernel/mm/transparent_hugepage/defrag"`
	ShmemEnabled         Fact[Choice] `json:"shmem_enabled" read:"/sys/kernel/mm/transparent_hugepage/shmem_enabled"`
	THPSizes             []THPSize    `json:"thp_sizes"` // each size that huge pages can have, since Linux 6.8
	KSM                  Fact[int64]  `json:"ksm" read:"/sys/kernel/mm/ksm/run"`
	NUMABalancing        Fact[int64]  `json:"numa_balancing" read:"/proc/sys/kernel/numa_balancing"`
	Swappiness           Fact[int64]  `json:"swappiness" read:"/proc/sys/vm/swappiness"`
	ZoneReclaim          Fact[int64]  `json:"zone_reclaim_mode" read:"/proc/sys/vm/zone_reclaim_mode"`
	DirtyBytes           Fact[int64]  `json:"dirty_bytes" read:"/proc/sys/vm/dirty_bytes B"` // 0: the ratio is in force
	DirtyBackgroundBytes Fact[int64]  `json:"dirty_background_bytes" read:"/proc/sys/vm/dirty_background_bytes B"`
	DirtyRatio           Fact[int64]  `json:"dirty_ratio" read:"/proc/sys/vm/dirty_ratio %"`
	DirtyBackgroundRatio Fact[int64]  `json:"dirty_background_ratio" read:"/proc/sys/vm/dirty_background_ratio %"`
	MaxMapCount          Fact[int64]  `json:"max_map_count" read:"/proc/sys/vm/max_map_count"`
	ShmSize              Fact[int64]  `json:"dev_shm_size"`                            // B
	ShmMax               Fact[uint64] `json:"shmmax" read:"/proc/sys/kernel/shmmax B"` // B
	ShmAll               Fact[uint64] `json:"shmall" read:"/proc/sys/kernel/shmall"`   // pages
	ShmMni               Fact[int64]  `json:"shmmni" read:"/proc/sys/kernel/shmmni"`
	PageSize             Fact[int64]  `json:"page_size"`
	// Monitors are what resctrl can count of the last caches, space separated: llc_occupancy, mbm_total_bytes,
	// mbm_local_bytes
	Monitors Fact[string] `json:"resctrl_monitors" read:"/sys/fs/resctrl/info/L3_MON/mon_features"`

	DirtyExpire    Fact[float64] `json:"dirty_expire" read:"/proc/sys/vm/dirty_expire_centisecs cs"`       // s
	DirtyWriteback Fact[float64] `json:"dirty_writeback" read:"/proc/sys/vm/dirty_writeback_centisecs cs"` // s; 0: never
}

// HugePool is the pool of reserved huge pages of one size.
type HugePool struct {
	Size     int64       `json:"size"` // B
	Pages    Fact[int64] `json:"pages" read:"nr_hugepages"`
	Free     Fact[int64] `json:"free" read:"free_hugepages" setup:"no"`
	Reserved Fact[int64] `json:"reserved" read:"resv_hugepages" setup:"no"` // promised to programs, still counted as free
}

// THPSize says who gets transparent huge pages of one size. Where it is inherit, Memory.THPEnabled decides.
type THPSize struct {
	Size    int64        `json:"size"` // B
	Enabled Fact[Choice] `json:"enabled" read:"enabled"`
	Shmem   Fact[Choice] `json:"shmem_enabled" read:"shmem_enabled"` // since Linux 6.11
}

// Kernel holds settings of the kernel that are not memory or CPU.
type Kernel struct {
	Cmdline      Fact[string] `json:"cmdline" read:"/proc/cmdline text"`
	Clocksource  Fact[string] `json:"clocksource" read:"/sys/devices/system/clocksource/clocksource0/current_clocksource given"`
	Clocksources Fact[string] `json:"clocksources" read:"/sys/devices/system/clocksource/clocksource0/available_clocksource given"`
	Mitigations  []Mitigation `json:"mitigations"`
	Sem          Fact[[]int]  `json:"sem" read:"/proc/sys/kernel/sem words"` // SEMMSL SEMMNS SEMOPM SEMMNI
	PIDMax       Fact[int64]  `json:"pid_max" read:"/proc/sys/kernel/pid_max"`
	AIOMaxNr     Fact[uint64] `json:"aio_max_nr" read:"/proc/sys/fs/aio-max-nr"`
	// requests that programs have reserved
	AIONr Fact[uint64] `json:"aio_nr" read:"/proc/sys/fs/aio-nr" setup:"no"`
	// of all processes
	Threads       Fact[int64]  `json:"threads" setup:"no"`
	NVMeIOTimeout Fact[uint64] `json:"nvme_io_timeout" read:"/sys/module/nvme_core/parameters/io_timeout s"` // s
	// of systemd-logind; absent: the distribution's default
	RemoveIPC    Fact[string] `json:"remove_ipc"`
	TunedProfile Fact[string] `json:"tuned_profile" read:"/etc/tuned/active_profile given"`
	// those that saptune applies, space separated
	SaptuneNotes Fact[string] `json:"saptune_notes"`
	// share of time, some avg60
	PressureCPU Fact[float64] `json:"pressure_cpu" read:"/proc/pressure/cpu pressure" show:"percent" setup:"no"`
	PressureIO  Fact[float64] `json:"pressure_io" read:"/proc/pressure/io pressure" show:"percent" setup:"no"`

	// share of time, full avg300
	StalledIO     Fact[float64] `json:"stalled_io" read:"/proc/pressure/io stalled" show:"percent" setup:"no"`
	StalledMemory Fact[float64] `json:"stalled_memory" read:"/proc/pressure/memory stalled" show:"percent" setup:"no"`
	ClockSynced   Fact[bool]    `json:"clock_synchronised"` // as the program that sets the clock tells the kernel
	Autogroup     Fact[int64]   `json:"sched_autogroup" read:"/proc/sys/kernel/sched_autogroup_enabled"`
	PanicOnOops   Fact[int64]   `json:"panic_on_oops" read:"/proc/sys/kernel/panic_on_oops"`
	MsgMni        Fact[int64]   `json:"msgmni" read:"/proc/sys/kernel/msgmni"`
	FileMax       Fact[uint64]  `json:"file_max" read:"/proc/sys/fs/file-max"`
	// s that a thread may run before another of its CPU does: of EEVDF since Linux 6.6, before that of CFS
	BaseSlice Fact[float64] `json:"base_slice" read:"/sys/kernel/debug/sched/base_slice_ns|/sys/kernel/debug/sched/min_granularity_ns ns"`
	// whether a scheduler that is a BPF program decides (sched_ext): enabled or disabled, and its name
	SchedExt     Fact[string] `json:"sched_ext" read:"/sys/kernel/sched_ext/state"`
	SchedExtName Fact[string] `json:"sched_ext_name" read:"/sys/kernel/sched_ext/root/ops"`
}

// Mitigation is what the kernel does about one processor vulnerability.
type Mitigation struct {
	Name string       `json:"name" setup:"no"`
	Text Fact[string] `json:"text"`
}

// Virt says on what the kernel runs and in what we run.
type Virt struct {
	// kvm, vmware, hyper-v, xen, PowerVM, PR/SM, ..., or none
	Hypervisor Fact[string] `json:"hypervisor"`
	Container  Fact[string] `json:"container"` // docker, podman, kubernetes, lxc, ..., or none
	// share of CPU time since boot taken by the hypervisor
	Steal Fact[float64] `json:"steal" show:"percent" setup:"no"`
}

// Storage is where a path lies, from the mount down to the devices.
type Storage struct {
	Path       string       `json:"path"`    // as asked
	Purpose    string       `json:"purpose"` // "log-dir", or "postgres log" and the like
	PID        int          `json:"-"`       // of the server whose it is; 0: of none, or it is not known
	Resolved   Fact[string] `json:"resolved"`
	MountPoint Fact[string] `json:"mount_point"`
	FSType     Fact[string] `json:"fs_type"`
	Options    Fact[string] `json:"options"` // mount and superblock options, comma separated
	Device     Fact[string] `json:"device"`  // mount source
	Class      Fact[string] `json:"class"`   // one of the Class constants
	DAX        Fact[bool]   `json:"dax"`     // in force for a file there (statx), not merely mounted
	ReadOnly   Fact[bool]   `json:"read_only"`
	FreeBytes  Fact[int64]  `json:"free" setup:"no"` // B available to this user
	Stack      []StackLayer `json:"stack"`           // topmost block device first, down to the disks
	// Below are the file systems that hold the upper directory of an overlay, or the file of a loop device.
	Below []Mounted `json:"below"`
}

// Mounted is a file system below another one.
type Mounted struct {
	MountPoint Fact[string] `json:"mount_point"`
	FSType     Fact[string] `json:"fs_type"`
	Options    Fact[string] `json:"options"`
}

// Classes of storage, by what a durable write ends in.
const (
	ClassPmemDAX = "pmem-dax"
	ClassPmem    = "pmem-block"
	ClassNVMe    = "nvme"
	ClassSSD     = "ssd"
	ClassDisk    = "disk"
	ClassVirtual = "virtual"
	ClassNetwork = "network"
	ClassMemory  = "memory"
)

// StackLayer is one block device under a path; Depth counts from 0.
type StackLayer struct {
	Name string `json:"name" setup:"no"` // kernel name, as in dm-0
	// partition, lvm, crypt, dm-<target>, md-raid1, loop, virtio, nvme, pmem, scsi, ...
	Kind  string       `json:"kind"`
	Label string       `json:"label"` // dm name, md name, backing file, model
	Depth int          `json:"depth"`
	Queue *BlockDevice `json:"queue,omitempty"` // of whole devices
}

// BlockDevice is a whole disk (or dm, md, loop) and its queue.
type BlockDevice struct {
	Name       string       `json:"name" setup:"no"`
	Model      Fact[string] `json:"model"`
	Size       Fact[int64]  `json:"size" read:"size sectors"` // B
	Rotational Fact[bool]   `json:"rotational" read:"queue/rotational"`
	Scheduler  Fact[Choice] `json:"scheduler" read:"queue/scheduler"`
	WriteCache Fact[string] `json:"write_cache" read:"queue/write_cache text"` // "write back" or "write through"
	FUA        Fact[bool]   `json:"fua" read:"queue/fua"`
	// B that the device writes wholly or not at all, for programs that ask (RWF_ATOMIC, Linux 6.11); 0: none
	AtomicWrite Fact[int64] `json:"atomic_write" read:"queue/atomic_write_unit_max_bytes B"`
	DAX         Fact[bool]  `json:"dax" read:"queue/dax"` // the device can; see Storage.DAX for whether it is used
	NoMerges    Fact[int64] `json:"nomerges" read:"queue/nomerges"`
	ReadAhead   Fact[int64] `json:"read_ahead" read:"queue/read_ahead_kb KiB"` // B
	// s until a request is given up; only of drivers that can
	IOTimeout Fact[float64] `json:"io_timeout" read:"queue/io_timeout ms"`
	Queues    Fact[int64]   `json:"queues"` // hardware queues (blk-mq)
	Class     string        `json:"class"`  // NVMe, ssd, disk, virtual, pmem-block or empty
}

// Accelerator is a device with work queues for programs: a Data Streaming or an In-Memory Analytics Accelerator of
// Intel.
type Accelerator struct {
	Name   string      `json:"name" setup:"no"`
	Queues Fact[int64] `json:"queues"` // work queues that are enabled
}

// Windows holds what only Windows has. Its sources are registry keys and calls.
type Windows struct {
	ActiveScheme Fact[string] `json:"active_scheme"` // GUID in force, policy first
	SchemeName   Fact[string] `json:"scheme_name"`
	PolicyScheme Fact[string] `json:"policy_scheme"`   // GUID that a group policy forces
	UserScheme   Fact[string] `json:"user_scheme"`     // GUID chosen on the machine
	ThrottleMin  Fact[int64]  `json:"processor_min"`   // %, PROCTHROTTLEMIN on mains power
	ThrottleMax  Fact[int64]  `json:"processor_max"`   // %, PROCTHROTTLEMAX on mains power
	Processors   []WindowsCPU `json:"processor_power"` // of each online CPU
	SQLInstances Fact[int]    `json:"sql_server_instances"`
	SQLServers   []SQLServer  `json:"sql_servers"` // instances installed
}

// WindowsCPU is what Windows tells of one processor: frequencies from CallNtPowerInformation, and counters of
// "Processor Information" by their English names. A mean is of about a second.
type WindowsCPU struct {
	CPU       int           `json:"cpu" setup:"no"`
	Current   Fact[int64]   `json:"current" setup:"no"`                                                   // Hz
	Max       Fact[int64]   `json:"max"`                                                                  // Hz
	Limit     Fact[int64]   `json:"limit"`                                                                // Hz
	OfMaximum Fact[float64] `json:"pct_of_maximum_frequency" counter:"% of Maximum Frequency" setup:"no"` // % asked for
	// % of nominal while it ran, mean
	Performance Fact[float64] `json:"pct_processor_performance" counter:"% Processor Performance" setup:"no"`
	Parked      Fact[bool]    `json:"parked" counter:"Parking Status" setup:"no"`
}

// SQLServer is an instance of SQL Server that is installed.
type SQLServer struct {
	Instance string       `json:"instance"`
	Service  string       `json:"service"`
	State    Fact[string] `json:"state" setup:"no"` // of the service: running, stopped, start pending, ...
	PID      Fact[int]    `json:"pid" setup:"no"`   // absent unless it runs
	Version  Fact[string] `json:"version"`
	Edition  Fact[string] `json:"edition"`
	DataDir  Fact[string] `json:"data_dir"` // of databases to be made
	LogDir   Fact[string] `json:"log_dir"`  // likewise
}
