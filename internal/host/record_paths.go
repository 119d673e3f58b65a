package host

// recorded lists what a recording takes from a machine. It is the one place to
// extend when a fact or check reads something new. Each line is a path with
// path.Match patterns in its components and {a,b} alternatives; a final slash
// takes a directory that may be empty. Links met on the way are taken as links,
// and the files behind them under their real path. What is not there is passed
// over, so paths of every kernel version and architecture may stand side by side.
var recorded = []string{
	// CPUs: topology, caches, NUMA, core types.
	"/proc/{cpuinfo,stat}",
	sysCPU + "{online,offline,possible,present,isolated,nohz_full,kernel_max}",
	sysCPU + "cpu[0-9]*/{online,cpu_capacity,node[0-9]*,cpufreq}",
	sysCPU + "cpu[0-9]*/topology/{*_id,*_list,core_type}",
	sysCPU + "cpu[0-9]*/cache/index*/{level,type,size,coherency_line_size,ways_of_associativity,number_of_sets,shared_cpu_list,id}",
	sysCPU + "cpu0/microcode/version",
	sysCPU + "smt/*",
	"/sys/devices/{cpu,cpu_core,cpu_atom,cpu_lowpower}/cpus",
	"/sys/devices/system/node/{online,possible,has_cpu,has_memory,has_normal_memory}",
	"/sys/devices/system/node/node[0-9]*/{cpulist,distance,meminfo}",
	"/sys/devices/system/node/node[0-9]*/hugepages/hugepages-*/{nr,free,surplus}_hugepages",

	// Frequency.
	sysCPU + "cpufreq/",
	sysCPU + "cpufreq/boost",
	sysCPU + "cpufreq/policy*/*",
	sysCPU + "{intel_pstate,amd_pstate}/*",
	sysCPU + "intel_uncore_frequency/*/*",
	sysCPU + "cpu[0-9]*/acpi_cppc/*_{perf,freq}",
	sysCPU + "cpu[0-9]*/power/{energy_perf_bias,pm_qos_resume_latency_us}",
	sysCPU + "cpu[0-9]*/thermal_throttle/*_count",
	"/sys/firmware/acpi/{platform_profile,platform_profile_choices,pm_profile}",
	"/sys/class/platform-profile/*/{name,profile,choices}",
	"/sys/module/cpufreq/parameters/*",

	// Idle states. Counters (usage, time) are left out: they are no settings.
	sysCPU + "cpuidle/*",
	sysCPU + "cpu[0-9]*/cpuidle/state*/{name,desc,latency,residency,disable,default_status}",
	"/sys/module/{intel_idle,processor,haltpoll,cpuidle_haltpoll}/parameters/*",

	// Memory.
	"/proc/{meminfo,swaps}",
	"/sys/kernel/mm/transparent_hugepage/{enabled,defrag,shmem_enabled,use_zero_page,hpage_pmd_size}",
	"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
	"/sys/kernel/mm/ksm/{run,merge_across_nodes,pages_sharing}",
	"/sys/kernel/mm/hugepages/hugepages-*/{nr,free,surplus}_hugepages",
	"/sys/kernel/mm/hugepages/hugepages-*/nr_overcommit_hugepages",
	"/sys/module/zswap/parameters/{enabled,compressor,max_pool_percent}",
	"/proc/sys/vm/{swappiness,dirty_*,max_map_count,overcommit_*,nr_hugepages,nr_overcommit_hugepages}",
	"/proc/sys/vm/{hugetlb_shm_group,zone_reclaim_mode,min_free_kbytes,vfs_cache_pressure,stat_interval}",

	// Kernel.
	"/proc/{cmdline,version,loadavg,uptime,filesystems}",
	"/proc/sys/kernel/{hostname,osrelease,ostype,version,arch}",
	"/proc/sys/kernel/{numa_balancing,sem,shmall,shmmax,shmmni,msg*,pid_max,threads-max,timer_migration}",
	"/proc/sys/kernel/{sched_*,perf_event_paranoid,nmi_watchdog,randomize_va_space,tainted}",
	"/proc/sys/fs/{aio-max-nr,aio-nr,file-max,file-nr,nr_open}",
	"/proc/pressure/*",
	"/sys/devices/system/clocksource/clocksource0/{current,available}_clocksource",
	sysCPU + "vulnerabilities/*",
	"/sys/module/nvme_core/parameters/{io_timeout,default_ps_max_latency_us}",
	"/sys/module/{workqueue/parameters/power_efficient,pcie_aspm/parameters/policy}",
	"/sys/firmware/efi/",
	"/{etc,usr/lib}/os-release",
	"/etc/hostname",
	"/etc/tuned/{active_profile,profile_mode}",

	// What the machine is, and what it runs on and in.
	"/sys/class/dmi/id/{sys_vendor,product_name,product_family,product_version,board_vendor,board_name}",
	"/sys/class/dmi/id/{bios_vendor,bios_version,bios_date,bios_release,chassis_type,chassis_vendor}",
	"/sys/hypervisor/{type,version/*}",
	"/sys/class/dmi/id/chassis_asset_tag", // only where it names a cloud, see knownTags
	"/{proc/device-tree,sys/firmware/devicetree/base}/{model,compatible,hypervisor/compatible}",
	"/sys/firmware/acpi/tables/FACP", // its maker only, see makerOf
	"/proc/{xen,vz,bc}/",
	"/proc/xen/capabilities",
	"/sys/bus/{vmbus,xen,virtio}/",
	"/{.dockerenv,run/.containerenv,run/systemd/container,run/host/container-manager}",
	"/var/run/secrets/kubernetes.io/",
	"/proc/1/{cgroup,comm,sched,environ}", // of environ what knownEnviron names
	"/proc/2/comm",

	// This process and its cgroups; those of its ancestors are added by cgroupDirs.
	"/proc/self/{cgroup,mountinfo,mounts,status,limits,cpuset,uid_map,gid_map,ns/mnt,ns/pid}",
	"/proc/mounts",
	"/sys/fs/cgroup/",
	"/sys/fs/cgroup/{" + cgroup2Files + "}",
	"/sys/fs/cgroup/*/{" + cgroup1Files + "}",

	// Block devices. The names that mounted devices go by are added by mountSources;
	// other links of /dev/disk are left out, since they hold serial numbers.
	"/proc/{partitions,mdstat}",
	"/sys/{block,dev/block}/*",
	"/sys/class/block/*/{dev,size,ro,removable,partition,start,hidden,cache_type}",
	"/sys/class/block/*/queue/{scheduler,nomerges,read_ahead_kb,write_cache,fua,dax,rotational,nr_requests}",
	"/sys/class/block/*/queue/{logical_block_size,physical_block_size,max_sectors_kb,max_hw_sectors_kb,io_poll,wbt_lat_usec,zoned}",
	"/sys/class/block/*/{subsystem,device}",
	"/sys/class/block/*/device/{subsystem,driver}",
	"/sys/class/block/*/device/{model,vendor,device,type,rev,transport,state,queue_depth,timeout,numa_node,modalias,name}",
	"/sys/class/block/*/device/nvme*/{transport,model}",
	"/sys/class/block/*/device/{devtype,mode,holder,holder_class,nstype,size,sector_size,align,force_raw,firmware_rev}",
	"/sys/class/block/*/device/scsi_disk/*/{cache_type,FUA,provisioning_mode}",
	"/sys/class/block/*/{slaves,holders}/",
	"/sys/class/block/*/{slaves,holders}/*",
	"/sys/class/block/*/dm/{name,uuid,suspended}",
	"/sys/class/block/*/md/{level,raid_disks,array_state,degraded,chunk_size,metadata_version,consistency_policy}",
	"/sys/class/block/*/loop/{backing_file,offset,dio}",
	"/sys/class/block/*/bcache/{cache_mode,state}",
	"/sys/class/block/*/dax/write_cache",
	"/sys/bus/nd/devices/*/{devtype,mode,holder,holder_class,nstype,size,sector_size,align,numa_node,type}",
	"/sys/bus/nd/devices/*/{persistence_domain,mappings,available_size,read_only,provider,force_raw}",
	"/sys/bus/nd/devices/*/driver",
	"/sys/fs/btrfs/*/devices/*",
	"/dev/mapper/*",
	"/dev/root",

	pageSizeFile, // of a recording that is recorded again
}

// pageSizeFile is where a recording keeps the page size, in bytes: no file of the
// kernel tells it in words.
const pageSizeFile = "/.hostlab/pagesize"

// recordedConf lists configurations that say where databases keep their data. Only
// the lines of confLine are taken. Running servers are found by findServers.
var recordedConf = []string{
	"/etc/{my.cnf,my.cnf.d/*.cnf,mysql/my.cnf,mysql/mariadb.cnf,mysql/*.d/*.cnf}",
	"/usr/sap/*/SYS/global/hdb/custom/config/global.ini",
	"/var/opt/mssql/mssql.conf",
}

const sysCPU = "/sys/devices/system/cpu/"

// The limits of a cgroup, in version 2 and in version 1 of the interface.
const (
	cgroup2Files = "cgroup.controllers,cgroup.type,cpu.max,cpu.weight,cpuset.cpus,cpuset.cpus.effective," +
		"memory.max,memory.high,memory.swap.max"
	cgroup1Files = "cpu.cfs_quota_us,cpu.cfs_period_us,cpu.shares,cpuset.cpus,cpuset.effective_cpus," +
		"memory.limit_in_bytes,memory.soft_limit_in_bytes,memory.memsw.limit_in_bytes,memory.stat"
)
