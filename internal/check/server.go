package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// server holds the checks of what a server's own process has, may use and is configured to do with the platform.
var server = []Check{
	{
		ID: "SRV-001", Subject: Memory, Title: "Large cache without huge pages, or unused ones",
		For:      engines("postgresql", "oracle", "mariadb", "mysql"),
		Severity: inProduction(Medium, Medium),
		absent:   "the cache is below 8 GiB, or its size is not known", ok: "the cache lies in huge pages, or is small",
		look: lookHugePages, left: "the server has to be restarted with them",
	},
	{
		ID: "SRV-002", Subject: Memory, Title: "No protection from the out-of-memory killer",
		For:      engines("postgresql"),
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel shows no score", ok: "the postmaster is killed last, or allocations fail before",
		bad:  "the postmaster is among the first to be killed when memory runs out",
		look: lookOOM, left: "it is set in the server's unit",
	},
	{
		ID: "SRV-003", Subject: Memory, Title: "Memory limit too tight for a database",
		For:      anyServer,
		Severity: inProduction(Medium, Medium),
		absent:   "no memory limit of the server is known",
		ok:       "the limit leaves room, has killed nobody, and nobody waits for memory",
		look:     lookMemoryLimit, left: "it is a limit of a unit or container",
	},
	{
		ID: "SRV-004", Subject: Kernel, Title: "Low limits of files and locked memory",
		For:      needLimits,
		Severity: inProduction(Low, Low),
		absent:   "the server's limits cannot be seen", ok: "the server's process has the recommended limits",
		look: lookUlimits, left: "it is set in the server's unit, or for its account",
	},
	{
		ID: "SRV-005", Subject: Kernel, Title: "Removal of shared memory at logout (RemoveIPC)",
		For:      engines("postgresql", "oracle"),
		Severity: inProduction(Medium, Medium),
		absent:   "nothing sets it here, and Red Hat's systems do not remove by default; or the account is not known",
		ok:       "shared memory stays at logout", look: lookRemoveIPC, left: "it is a setting of systemd-logind",
	},
	{
		ID: "SRV-006", Subject: Log, Title: "Unsafe or slow writes to the device",
		For:      engines("postgresql", "mariadb", "mysql", "sqlserver"),
		Severity: everywhere(High, High, Low),
		absent:   "no configuration file of the server says, or its version is not known",
		ok:       "as the servers' files and arguments have it, each commit is flushed",
		look:     lookSync, left: "it is a setting of the server",
	},
}

// Bounds of SRV-001 and SRV-003.
const (
	largeCache  = 8 << 30
	idlePool    = 1 << 30
	overBuffers = 1.25
	mostStalled = 0.01 // as of the whole host (MEM-011)
)

// alterSystem has PostgreSQL's superuser keep a setting of the server, and the server read it.
func alterSystem(d host.Database, setting string) command {
	args := []string{"psql", "-d", "postgres", "-c", "alter system set " + setting, "-c", "select pg_reload_conf()"}
	if uid, known := d.UID.Get(); known {
		args = append([]string{"sudo", "-u", "#" + strconv.Itoa(uid)}, args...)
	}
	return run(args...).noting("on another port than 5432, or with its socket elsewhere: -p and -h, as lines 4 and 5 of " +
		"postmaster.pid in its data directory say")
}

// bytesOf reads a size as servers' files have it: 8G, 512M, 134217728.
func bytesOf(s string) (int64, error) {
	if s == host.Default {
		return 128 << 20, nil
	}
	text, shift := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(s)), "B"), 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMGT", text[n-1]); i >= 0 {
			text, shift = strings.TrimSpace(text[:n-1]), 10*(i+1)
		}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v<<shift>>shift != v {
		return 0, fmt.Errorf("expected a size, found %q", s)
	}
	return v << shift, nil
}

// lastKilled is the score from which on downwards Debian and PostgreSQL's documentation see a server protected.
const lastKilled = -900

func lookOOM(f *host.Facts, _ Role) (v view) {
	mode := f.Memory.Overcommit
	strict := mode.State == host.StateOK && mode.Value == 2
	for _, d := range of(engines("postgresql"), f.Databases) {
		r := read(d.OOMScoreAdj, func(adj int64) bool { return adj <= lastKilled || strict })
		if v.add(d, r); r.bad {
			v.fix = v.fix.and(oomFix(d))
		}
	}
	v.readings = append(v.readings, aside(mode))
	return v.gainless()
}

// oomFix protects the postmaster alone: what it starts gets the usual score.
func oomFix(d host.Database) remedy {
	if unit := serviceOf(d); unit != "" {
		return append(dropIn(unit, "oom", "OOMScoreAdjust=-1000", "Environment=PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj"),
			restart)
	}
	return remedy{write("-1000", "/proc/"+strconv.Itoa(d.PID)+
		"/oom_score_adj").noting("holds until the server ends; new sessions are protected, too"),
		remark("no systemd unit starts it: set this in its start script, with PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj " +
			"in its environment")}
}

func lookMemoryLimit(f *host.Facts, _ Role) (v view) {
	for _, d := range servers(f) {
		l, needs := d.Limits, overBuffers*float64(d.SharedMemory.Or(0))
		limits := []reading{}
		var what []string
		for _, limit := range []host.Fact[int64]{l.MemoryHigh, l.MemoryMax} {
			r := read(limit, func(n int64) bool { return float64(n) >= needs })
			if limits = append(limits, r); r.bad && what == nil {
				what = append(what, fmt.Sprintf("maps %s of shared memory, and its group may have %s",
					result.Format(float64(d.SharedMemory.Value), "B"), result.Format(float64(limit.Value), "B")))
			}
		}
		kills := read(l.MemoryKills, func(n int64) bool { return n == 0 })
		waits := readAs(l.MemoryStalled, share, func(part float64) bool { return part <= mostStalled })
		if unlimited := limits[0].state == host.StateAbsent && limits[1].state == host.StateAbsent; unlimited {
			kills.context, waits.context = true, true // the machine's memory ran out
			none := whole(l.CgroupV)
			if none.state == host.StateOK {
				none.value = "no memory limit"
			}
			limits = append(limits, none)
		} else {
			if kills.bad {
				what = append(what, "has had "+screen.Plural(int(l.MemoryKills.Value), "process", "processes")+
					" of its group killed because memory ran out")
			}
			if waits.bad {
				what = append(what, fmt.Sprintf("waited for memory with all its tasks in %.1f %% of the last five minutes",
					100*l.MemoryStalled.Value))
			}
		}
		limits = append(limits, kills, waits)
		if what != nil {
			v.bad += map[bool]string{true: "; "}[v.bad != ""] + nameOf(d) + " " + inWords(what, "and")
			v.fix = v.fix.and(memoryFix(d, needs))
		}
		v.add(d, append(limits, aside(l.MemoryEvents))...)
	}
	return v
}

// memoryFix lifts the limits of the units that the server is in.
func memoryFix(d host.Database, needs float64) (fix remedy) {
	lines := map[string][]string{}
	for _, limit := range []struct {
		fact host.Fact[int64]
		name string
	}{{d.Limits.MemoryHigh, "MemoryHigh"}, {d.Limits.MemoryMax, "MemoryMax"}} {
		if unit := limitedBy(d, limit.fact.Source); limit.fact.State == host.StateOK && unit != "" {
			lines[unit] = append(lines[unit], limit.name+"=infinity")
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(lines)) {
		fix = append(fix, dropIn(unit, "memory", lines[unit]...)...)
	}
	least := "a number in place of infinity"
	if fix == nil {
		fix = fix.with("no systemd unit sets it: raise it where the group is made, for example with docker update --memory")
		least = "the new limit"
	}
	if needs > 0 {
		fix = fix.with(least + ": at least " + result.Format(needs, "B") +
			", more by what its sessions and the files that it reads take")
	}
	return fix.with("or give the server less shared memory; a new group counts its kills from 0")
}

// ulimitWants are open files by source.
var ulimitWants = []want{{Engine{Kind: "hana"}, 1048576}, {Engine{Kind: "sap"}, 1048576},
	{Engine{Kind: "mongodb"}, 64000},
	{Engine{Kind: "elasticsearch"}, 65535}, {Engine{Kind: "opensearch"}, 65535}}

var needLimits = append(forAll(ulimitWants), Engine{Kind: "oracle"})

func lookUlimits(f *host.Facts, _ Role) (v view) {
	pool := hugeTotal(f)
	for _, d := range of(needLimits, servers(f)) {
		if d.PID == 0 {
			continue
		}
		limit, name, key, may := d.Limits.OpenFiles, "LimitNOFILE", "nofile", "open %s files"
		least, _ := wanted(&host.Facts{Databases: []host.Database{d}}, ulimitWants)
		value := strconv.FormatUint(least, 10)
		soft := value + ":infinity" // the hard limit may be higher already
		if d.Kind == "oracle" {
			limit, name, key, may, least = d.Limits.LockedBytes, "LimitMEMLOCK", "memlock", "lock %s of memory",
				uint64(max(pool, 0))
			value, soft = "unlimited", "infinity"
		}
		r := read(limit, func(n int64) bool { return n >= 0 && uint64(n) >= least })
		if unlimited := r.state == host.StateAbsent && d.Limits.Affinity.State == host.StateOK; unlimited {
			r = reading{path: cmp.Or(limit.Source, noSource), value: "unlimited", state: host.StateOK}
		}
		if v.add(d, r); !r.bad {
			continue
		}
		if v.bad != "" {
			v.bad += "; "
		}
		v.bad += fmt.Sprintf("%s may "+may+", and %s is recommended", nameOf(d), r.value, value)
		fix := remedy{remark(fmt.Sprintf("no systemd unit starts %s: set %s to %s, soft and hard, for its account in "+
			"/etc/security/limits.d, log in anew, and restart the server", nameOf(d), key, value))}
		if unit := serviceOf(d); unit != "" {
			fix = append(dropIn(unit, key, name+"="+soft), restart)
		}
		v.fix = v.fix.and(fix)
	}
	return v
}

// lastSystemUID is the last number of a system account (SYSTEM_UID_MAX of systemd as distributions build it).
const lastSystemUID = 999

func lookRemoveIPC(f *host.Facts, _ Role) (v view) {
	removes := f.Kernel.RemoveIPC
	redHat := slices.ContainsFunc([]string{"Red Hat", "CentOS", "Rocky", "AlmaLinux", "Oracle Linux"},
		func(n string) bool {
			return strings.HasPrefix(f.Identity.OS.Or(""), n)
		})
	if removes.State == host.StateAbsent && redHat {
		return view{}
	}
	set := strings.ToLower(removes.Or("yes")) // as parse_boolean of systemd takes it
	off := slices.Contains([]string{"no", "n", "false", "f", "off", "0"}, set)
	known := off || slices.Contains([]string{"yes", "y", "true", "t", "on", "1"}, set)
	for _, d := range of(engines("postgresql", "oracle"), f.Databases) {
		r := readAs(d.UID, strconv.Itoa, func(id int) bool { return id <= lastSystemUID || off })
		if v.add(d, r); r.bad && v.bad == "" {
			v.bad = nameOf(d) + " runs under a login account, and loses its shared memory when that user logs out"
		}
	}
	why := aside(removes).unless(known, "systemd-analyze cat-config systemd/logind.conf shows what is in force")
	if why.unknown() {
		why.context = len(wrong(v.readings)) == 0
	}
	if !why.context { // what decides is not known
		for i := range v.readings {
			v.readings[i].bad, v.readings[i].context = false, true
		}
	}
	v.readings = append(v.readings, why)
	v.fix = remedy{script("sudo mkdir -p /etc/systemd/logind.conf.d"),
		script(`printf '[Login]\nRemoveIPC=no\n' | sudo tee /etc/systemd/logind.conf.d/90-hostlab-removeipc.conf`),
		script("sudo systemctl kill -s HUP systemd-logind").noting("it reads the setting anew; sessions stay")}
	return v
}
