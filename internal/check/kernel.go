package check

import (
	"fmt"
	"math"
	"strings"

	"hostlab/internal/host"
)

var shmMni = Check{
	ID: "KRN-001", Lever: LeverKernel, Title: "Number of shared memory segments (shmmni)",
	Why: "Each SAP instance takes shared memory segments by the dozen. When the system's number is used up an instance " +
		"does not start.",
	Source:   "SAP note 1275776 (32768)",
	Disagree: "tuned oracle sets 4096, the kernel's default; the note about application servers asks for more.",
	Severity: map[Role]Severity{ProductionApp: Low},
	Look: func(f *host.Facts, _ Role) Outcome {
		r := read(f.Memory.ShmMni, func(v int64) bool { return v >= 32768 })
		return judge([]reading{r}, sysctl("enough segments for many instances", "fewer segments than recommended",
			"kernel.shmmni", "32768"))
	},
}

// sysctl are the words of a check whose remedy is one sysctl.
func sysctl(ok, bad, name, value string) answers {
	return answers{
		absent: "the kernel does not show " + name,
		ok:     ok,
		bad: func([]reading) (string, string) {
			set := name + "=" + value
			if strings.Contains(value, " ") {
				return bad, "sudo sysctl -w \"" + set + "\"\n" + keep(set)
			}
			return bad, "sudo sysctl -w " + set + "\n" + keep(set)
		},
	}
}

var shmMax = Check{
	ID: "KRN-002", Lever: LeverKernel, Title: "Largest shared memory segment (shmmax)",
	Why: "A database that keeps its cache in one System V segment does not start, or splits it, if the cache is larger " +
		"than this limit.",
	Source: "SAP note 941735 (18446744073709551615); tuned oracle (4398046511104)",
	Disagree: "The note advises to keep the distribution's very large default, tuned oracle sets 4 TiB. A limit that is " +
		"not below this host's memory is accepted.",
	Severity: inProduction(Low, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		total := whole(f.Memory.Total)
		r := read(f.Memory.ShmMax, func(v uint64) bool { return v >= uint64(max(0, f.Memory.Total.Or(0))) })
		if o, stop := need("the kernel does not show kernel.shmmax or the memory's size", r, total); stop {
			return o
		}
		total.context = true
		return judge([]reading{r, total}, sysctl("not below the memory's size", "below the memory's size",
			"kernel.shmmax", "18446744073709551615"))
	},
}

var shmAll = Check{
	ID: "KRN-003", Lever: LeverKernel, Title: "Total of shared memory (shmall)",
	Why: "shmall bounds all System V segments together, in pages. Below the memory's size it stops a database or SAP " +
		"instance from starting although memory is free.",
	Source: "SAP note 941735 (1152921504606846720); tuned oracle (1073741824)",
	Disagree: "As for KRN-002 the values differ and the direction does not: a total that is not below this host's " +
		"memory is accepted.",
	Severity: inProduction(Low, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		m := f.Memory
		total, page := whole(m.Total), whole(m.PageSize)
		pages := uint64(0)
		if p := m.PageSize.Or(0); p > 0 {
			pages = uint64(max(0, m.Total.Or(0)) / p)
		}
		r := read(m.ShmAll, func(v uint64) bool { return v >= pages })
		if o, stop := need("the kernel does not show kernel.shmall, the page or the memory's size", r, total, page); stop {
			return o
		}
		total.context, page.context = true, true
		return judge([]reading{r, total, page}, sysctl("not below the memory's size",
			fmt.Sprintf("below the memory's size of %d pages", pages), "kernel.shmall", "1152921504606846720"))
	},
}

// semWanted are SEMMSL, SEMMNS, SEMOPM and SEMMNI of tuned sap-netweaver.
var semWanted = []int{32000, 1024000000, 500, 32000}

var semaphores = Check{
	ID: "KRN-004", Lever: LeverKernel, Title: "System V semaphores (sem)",
	Why: "Work processes of SAP instances wait for each other on semaphores. When sets or semaphores run out, an " +
		"instance does not start.",
	Source: "SAP note 941735; tuned sap-netweaver (32000 1024000000 500 32000)",
	Disagree: "tuned oracle sets the smaller 250 32000 100 128. The larger values are also the kernel's default since " +
		"3.19; they are limits and reserve nothing.",
	Severity: map[Role]Severity{ProductionApp: Low},
	Look: func(f *host.Facts, _ Role) Outcome {
		sem := f.Kernel.Sem
		if v, ok := sem.Get(); ok && len(v) != len(semWanted) {
			sem = host.Fact[[]int]{Source: sem.Source, State: host.StateError,
				Reason: fmt.Sprintf("expected 4 numbers, found %d", len(v))}
		}
		r := readAs(sem, func(v []int) string { return strings.Trim(fmt.Sprint(v), "[]") }, func(v []int) bool {
			for i, want := range semWanted {
				if v[i] < want {
					return false
				}
			}
			return true
		})
		return judge([]reading{r}, sysctl("enough semaphores for many instances", "fewer semaphores than recommended",
			"kernel.sem", strings.Trim(fmt.Sprint(semWanted), "[]")))
	},
}

var pidMax = Check{
	ID: "KRN-005", Lever: LeverKernel, Title: "Process numbers (pid_max)",
	Why: "Every thread takes a number. Database and application servers with thousands of threads can use up the old " +
		"default of 32768, after which no process starts, not even a login.",
	Source:   "SAP note 2578899 (4194304)",
	Disagree: "",
	Severity: inProduction(Low, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		r := read(f.Kernel.PIDMax, func(v int64) bool { return v >= 4194304 })
		return judge([]reading{r}, sysctl("the most that the kernel can have", "fewer than the recommended 4194304",
			"kernel.pid_max", "4194304"))
	},
}

var aioMaxNr = Check{
	ID: "KRN-006", Lever: LeverKernel, Title: "Asynchronous I/O requests (aio-max-nr)",
	Why: "Database servers reserve their asynchronous requests at start. When the system's number is used up they fail " +
		"to start, or fall back to I/O that blocks.",
	Source:   "1048576: tuned oracle; 18446744073709551615: SAP note 1868829 (HANA)",
	Disagree: "1048576 is accepted unless HANA runs here, whose note removes the limit.",
	Severity: map[Role]Severity{ProductionDB: Medium},
	Look: func(f *host.Facts, _ Role) Outcome {
		want := uint64(1048576)
		if runs(f, "hana") {
			want = math.MaxInt64 // as good as none
		}
		set := aioWanted(f)
		r := read(f.Kernel.AIOMaxNr, func(v uint64) bool { return v >= want })
		return judge([]reading{r}, sysctl("enough asynchronous requests", "fewer than the recommended "+set,
			"fs.aio-max-nr", set))
	},
}

// goodClocks are read without leaving user space. kvm-clock counts where KVM is
// below; arch_sys_counter is arm64's only one.
var goodClocks = map[string]bool{
	"tsc": true, "kvm-clock": true, "hyperv_clocksource_tsc_page": true,
	"arch_sys_counter": true, "timebase": true, "tod": true,
}

var clocksource = Check{
	ID: "KRN-007", Lever: LeverKernel, Title: "Clock source",
	Why: "Servers read the clock for every wait, statement and log record. tsc is read in some 20 ns without a system " +
		"call; hpet, acpi_pm and xen take a system call, and often an access to a device, which costs up to " +
		"microseconds and does not scale with CPUs.",
	Source: "Scylla perftune (tsc; kvm-clock on KVM)",
	Disagree: "kvm-clock and Hyper-V's TSC page are accepted, since both are read without a system call. The kernel " +
		"leaves tsc only if it found it unstable: find out why before forcing it.",
	Severity: everywhere(High, Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		hv, known := f.Virt.Hypervisor.Get()
		r := read(f.Kernel.Clocksource, func(v string) bool {
			return goodClocks[v] && (v != "kvm-clock" || !known || hv != "none")
		})
		return judge([]reading{r, aside(f.Kernel.Clocksources)}, answers{
			absent: "the kernel names no clock source",
			ok:     "the clock is read without a system call",
			bad: func([]reading) (string, string) {
				const why = "sudo dmesg | grep -i -e tsc -e clocksource # why the kernel chose it"
				if c := betterClock(f); c != "" {
					return "each reading of the clock costs a system call", why + "\n" +
						"echo " + c + " | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
				}
				return "each reading of the clock costs a system call, and no better source is offered", why
			},
		})
	},
}

var nvmeTimeout = Check{
	ID: "KRN-008", Lever: LeverKernel, Title: "NVMe timeout on AWS (io_timeout)",
	Why: "On AWS an NVMe device is a volume on the network. If it does not answer for 30 s, the default, the kernel " +
		"gives the request up and the file system turns read-only; with the longest timeout it waits for the volume " +
		"to come back.",
	Source: "AWS documentation on EBS and NVMe; SAP note 1656250 (4294967295)",
	Disagree: "Kernels before 4.15 hold at most 255, which is accepted there. Local NVMe disks should keep the default, " +
		"so this is judged on AWS only.",
	Severity: inProduction(Medium, Medium),
	Look:     lookNVMeTimeout,
}

func lookNVMeTimeout(f *host.Facts, _ Role) Outcome {
	if rs := hiddenDisks(f); rs != nil {
		return judge(rs, answers{})
	}
	if !onEBS(f) {
		return notApplicable("no NVMe volume of AWS is seen")
	}
	most := longestNVMe(f)
	r := read(f.Kernel.NVMeIOTimeout, func(v uint64) bool { return v >= most })
	return judge([]reading{r}, answers{
		absent: "the NVMe driver is not loaded, or shows no timeout",
		ok:     "requests wait as long as the driver can",
		bad: func([]reading) (string, string) {
			return "a volume that is away for this long is given up",
				fmt.Sprintf("echo %d | sudo tee /sys/module/nvme_core/parameters/io_timeout\n"+
					"# to keep it: add nvme_core.io_timeout=%d to the kernel command line", most, most)
		},
	})
}

// longestNVMe is the longest timeout, in s, that the kernel's parameter holds.
func longestNVMe(f *host.Facts) uint64 {
	var major, minor int
	if n, _ := fmt.Sscanf(f.Identity.Kernel.Or(""), "%d.%d", &major, &minor); n == 2 && (major < 4 || major == 4 && minor < 15) {
		return math.MaxUint8
	}
	return math.MaxUint32
}

// onEBS recognises AWS by the machine's name or by a volume's model. Local
// disks of AWS instances have another model but share the driver's parameter.
func onEBS(f *host.Facts) bool {
	amazon := strings.Contains(f.Identity.Product.Or(""), "Amazon EC2")
	for _, b := range f.Block {
		if strings.HasPrefix(b.Name, "nvme") && (amazon || strings.Contains(b.Model.Or(""), "Amazon Elastic Block Store")) {
			return true
		}
	}
	return false
}
