package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/setting"
)

// andSizes judges the switches for single sizes, which win over that for all since Linux 6.8, and for shared memory,
// which a database's cache may be, where no program shall get huge pages unasked.
func (v view) andSizes(f *host.Facts) view {
	others := append(sizesUnasked(f), shmem(f.Memory.ShmemEnabled))
	bad := len(wrong(v.readings)) > 0
	v.readings = append(v.readings, others...)
	if len(wrong(others)) == 0 {
		return v
	}
	if bad {
		v.fix = sets(f, adviseTHP(f, ""))
	} else {
		v.bad = "some huge pages are handed out, whether a program asks or not"
	}
	for _, r := range wrong(others) {
		v.fix = append(v.fix, into(map[bool]string{true: "never",
			false: "madvise"}[strings.HasSuffix(r.path, "shmem_enabled")],
			r.path))
	}
	v.fix = v.fix.with("files of single sizes and of shared memory are as before after a reboot; what set them may set " +
		"them again")
	return v
}

// sizesUnasked reads the sizes of huge pages; bad are those that any program gets.
func sizesUnasked(f *host.Facts) (rs []reading) {
	for _, s := range f.Memory.THPSizes {
		r := read(s.Enabled, func(c host.Choice) bool { return c.Active != "always" })
		r.context = r.state != host.StateOK // the switch for all decides
		r = r.unless(slices.Contains([]string{"always", "inherit", "madvise", "never"}, s.Enabled.Value.Active), docsOfTHP)
		rs = append(rs, r, shmem(s.Shmem))
	}
	return rs
}

// shmem judges a shmem_enabled: with some values programs get huge pages for shared memory that do not ask. The
// switches of sizes have inherit, too.
func shmem(f host.Fact[host.Choice]) reading {
	unasked := slices.Contains([]string{"always", "within_size", "force"}, f.Value.Active)
	r := read(f, func(host.Choice) bool { return !unasked })
	r.context = r.state != host.StateOK
	return r.unless(unasked || slices.Contains([]string{"never", "advise", "deny", "inherit"}, f.Value.Active), docsOfTHP)
}

// lookSwappiness judges 1 to 10 as right, unless swapping reaches no disk.
func lookSwappiness(f *host.Facts, _ Role) view {
	swap, known := f.Memory.SwapTotal.Get()
	none := known && swap == 0
	if on, ok := f.Memory.SwapOn.Get(); ok && !none && !slices.ContainsFunc(strings.Split(on, ","), diskSwap) {
		return view{readings: []reading{aside(f.Memory.SwapOn)},
			absent: "all swap space is compressed memory, for which a high " +
				"value is right"}
	}
	v := see(read(f.Memory.Swappiness, func(v int64) bool { return v >= 1 && v <= 10 || none }), aside(f.Memory.SwapTotal))
	if none {
		v.ok = "there is no swap space, so swappiness has nothing to do"
	}
	if f.Memory.Swappiness.Or(60) == 0 {
		v.bad = "at 0 the kernel may end a program for lack of memory before it uses the swap space"
		return v.atMost(Low)
	}
	return v
}

func diskSwap(on string) bool { return !strings.HasPrefix(on, "/dev/zram") }

// hugePools are the pools of huge pages by size; where only /proc/meminfo tells, that of the default size alone.
func hugePools(f *host.Facts) []host.HugePool {
	m := f.Memory
	if len(m.HugePools) > 0 || m.HugePageSize.State != host.StateOK {
		return m.HugePools
	}
	return []host.HugePool{{Size: m.HugePageSize.Value, Pages: m.HugePages, Free: m.HugePagesFree,
		Reserved: m.HugePagesReserved}}
}

// idleIn is how much of a pool nobody has, and nobody is promised, in B.
func idleIn(p host.HugePool) int64 { return max(p.Free.Or(0)-p.Reserved.Or(0), 0) * p.Size }

// hugeTotal is the size of all pools, in B.
func hugeTotal(f *host.Facts) (total int64) {
	for _, p := range hugePools(f) {
		total += p.Pages.Or(0) * p.Size
	}
	return total
}

func lookHugePages(f *host.Facts, _ Role) (v view) {
	none := func(size int64) func(int64) bool {
		return func(huge int64) bool { return size < largeCache || huge > 0 }
	}
	for _, d := range of(engines("postgresql", "oracle", "mariadb", "mysql"), servers(f)) {
		size := d.SharedMemory
		if d.Kind == "mariadb" || d.Kind == "mysql" { // whose cache is no shared memory
			size = host.Convert(d.Setting("innodb_buffer_pool_size"), "B", bytesOf) // by default 128 MiB
		}
		cache, known := size.Get()
		if !known || cache < largeCache {
			r := whole(size)
			r.context = known || !r.unknown()
			v.readings = append(v.readings, r)
			if known {
				v.readings = append(v.readings, read(d.HugePages, none(cache)))
			}
			continue
		}
		r := read(d.HugePages, none(cache))
		if v.add(d, r, aside(size)); r.bad && v.bad == "" {
			v.bad = fmt.Sprintf("%s has a cache of %s, and no huge page", nameOf(d), result.Format(float64(cache), "B"))
			v.fix = hugePagesFix(f, d, cache)
		}
	}
	idle := int64(0)
	for _, p := range hugePools(f) {
		idle += idleIn(p)
	}
	if idle <= idlePool {
		return v
	}
	for _, p := range hugePools(f) {
		if idleIn(p) > 0 {
			v.readings = append(v.readings, readAs(p.Free, func(n int64) string {
				return fmt.Sprintf("%d of %d pages of %s", n, p.Pages.Or(0), result.Format(float64(p.Size), "B"))
			}, func(int64) bool { return false }))
		}
	}
	unused := result.Format(float64(idle), "B") + " of reserved huge pages are used by nobody"
	if v.bad != "" {
		v.bad += "; " + unused
		return v
	}
	v.bad = unused
	v.fix = remedy{script("grep -H . /sys/kernel/mm/hugepages/*/*_hugepages"),
		remark("lower nr_hugepages of that size to what the servers " +
			"take, or let them use it; vm.nr_hugepages is that of the default size")}
	return v
}

// hugePagesFix has a server use huge pages that lie idle, or reserves what its cache takes beside what others have.
func hugePagesFix(f *host.Facts, d host.Database, cache int64) (fix remedy) {
	page := max(f.Memory.HugePageSize.Or(2<<20), 1)
	enough, other := false, host.HugePool{} // an idle pool of the default size, or of another one
	for _, p := range hugePools(f) {
		switch fits := idleIn(p) >= cache; {
		case p.Size == page:
			enough = fits
		case fits:
			other = p
		}
	}
	choosing := Engine{Kind: "postgresql", From: "14"} // huge_page_size
	chooses, known := choosing.is(d)
	switch {
	case enough: // and stays so over a reboot
		fix = append(fix, reserve(f, cache, page)...)
	case other.Size > 0 && chooses:
		fix = append(fix, alterSystem(d, "huge_page_size = "+sizeWord(other.Size)))
	case other.Size > 0 && d.Kind == "mariadb": // which tries all sizes (MDEV-18851)
	case other.Size > 0 && !known:
		fix = fix.with("from PostgreSQL 14 on, huge_page_size = " + sizeWord(other.Size) +
			" takes those that lie idle; before:")
		fix = append(fix, reserve(f, cache, page)...)
	default:
		if other.Size > 0 {
			fix = fix.with("it takes only pages of the default size: give those of " + result.Format(float64(other.Size), "B") +
				" back first (nr_hugepages in /sys/kernel/mm/hugepages)")
		}
		fix = append(fix, reserve(f, cache, page)...)
	}
	locks := func() {
		if unit := serviceOf(d); unit != "" {
			fix = append(fix, dropIn(unit, "memlock", "LimitMEMLOCK=infinity")...)
			return
		}
		fix = fix.with("its account must be allowed to lock that much: memlock in /etc/security/limits.d")
	}
	switch d.Kind {
	case "postgresql":
		if strings.EqualFold(d.Setting("huge_pages").Or(host.Default), "off") {
			fix = append(fix, alterSystem(d, "huge_pages = try"))
		}
	case "oracle":
		locks()
		fix = fix.with("then use_large_pages=only in the instance's parameters")
	default:
		locks()
		fix = fix.and(mysqlKeeps(d, "large_pages", "ON"))
	}
	return append(append(fix, restart), tools(f, fix)...)
}

// reserve makes the pool of the default size large enough for a cache beside what others have.
func reserve(f *host.Facts, cache, page int64) remedy {
	const file = "/etc/sysctl.d/90-hostlab-vm.nr_hugepages.conf"
	pool := f.Memory.HugePages.Or(0)
	taken := max(pool-f.Memory.HugePagesFree.Or(0)+f.Memory.HugePagesReserved.Or(0), 0)
	pages := max(pool, taken+(cache+page-1)/page) // never fewer than there are
	return remedy{into("vm.nr_hugepages="+strconv.FormatInt(pages, 10), file),
		run("sudo", "sysctl", "-p", file).noting("where the kernel " +
			"finds fewer in one piece (HugePages_Total in /proc/meminfo), a reboot does")}
}

// sizeWord is a size as PostgreSQL's files have it: 1GB.
func sizeWord(b int64) string {
	for _, u := range []struct {
		size int64
		word string
	}{{1 << 30, "GB"}, {1 << 20, "MB"}} {
		if b%u.size == 0 {
			return strconv.FormatInt(b/u.size, 10) + u.word
		}
	}
	return strconv.FormatInt(b>>10, 10) + "kB"
}

// pages is what a source says of transparent huge pages for an engine.
type pages struct {
	engine Engine
	here   func(f *host.Facts) bool // nil: on any host
	accept []string                 // the first is what the source asks for
}

// unasked are the values with which no program gets huge pages that it has not asked for: what
// holds for any database of which no source says otherwise.
var unasked = []string{"madvise", "never"}

// pagesFor are the sources of MEM-001, the first that fits a server deciding.
var pagesFor = []pages{
	{Engine{Kind: "mongodb", From: "8"}, newTCMalloc, []string{"always"}},
	{Engine{Kind: "mongodb"}, nil, []string{"never", "madvise"}},
	{Engine{Kind: "sqlserver"}, nil, []string{"always", "madvise"}},
	{Engine{Kind: "hana"}, suse(12, 0, 15, 4), []string{"never"}},
	{Engine{Kind: "hana"}, suse(15, 5, 16, 99), []string{"madvise"}},
}

const docsOfTHP = "the kernel's documentation on transparent huge pages names its values"

// newTCMalloc says where MongoDB 8 has the allocator that wants huge pages.
func newTCMalloc(f *host.Facts) bool {
	return slices.Contains([]string{"amd64", "arm64"}, f.Identity.Arch.Or(""))
}

// suse fits SLES from one version and service pack to another.
func suse(version, pack, lastVersion, lastPack int) func(f *host.Facts) bool {
	return func(f *host.Facts) bool {
		v, p, ok := slesOf(f)
		return ok && (v > version || v == version && p >= pack) && (v < lastVersion || v == lastVersion && p <= lastPack)
	}
}

// slesOf reads version and service pack of "SUSE Linux Enterprise Server 15 SP5", and of 16.0.
func slesOf(f *host.Facts) (version, pack int, ok bool) {
	name := f.Identity.OS.Or("")
	if !strings.HasPrefix(name, "SUSE Linux Enterprise Server") && !strings.HasPrefix(name, "SLES") {
		return 0, 0, false
	}
	for _, w := range strings.Fields(strings.ReplaceAll(strings.ReplaceAll(name, ".", " "), "-", " ")) {
		rest, isPack := strings.CutPrefix(w, "SP")
		n, err := strconv.Atoi(rest)
		switch {
		case err != nil:
		case isPack:
			pack = n
		case version == 0:
			version, ok = n, true
		}
	}
	return version, pack, ok
}

// ask is what one server wants: any of some values.
type ask struct {
	server host.Database
	values []string
}

// thpAccepted are the values that suit all servers of a host, the first being what to set, and
// those that each asks for. unsure is a server whose source depends on a version that is not known.
func thpAccepted(f *host.Facts) (accepted []string, asks []ask, unsure *host.Database) {
	accepted = unasked
	for _, d := range servers(f) {
		its := unasked
		for _, p := range pagesFor {
			yes, known := p.engine.is(d)
			if !known {
				return nil, nil, &d
			}
			if yes && (p.here == nil || p.here(f)) {
				its = p.accept
				break
			}
		}
		if len(asks) == 0 {
			accepted = its
		}
		accepted = slices.DeleteFunc(slices.Clone(accepted), func(v string) bool { return !slices.Contains(its, v) })
		asks = append(asks, ask{d, its})
	}
	return accepted, asks, nil
}

func lookTHP(f *host.Facts, _ Role) view {
	accepted, asks, unsure := thpAccepted(f)
	now := f.Memory.THPEnabled
	switch {
	case unsure != nil && now.Value.Active != "":
		return view{readings: []reading{aside(now)}, absent: "no file tells the version of " + nameOf(*unsure) +
			": MongoDB from 8.0 wants always, earlier ones do not"}
	case len(accepted) == 0 && now.Value.Active != "":
		return view{readings: []reading{aside(now)}, absent: "the servers here want different values: " + asked(asks)}
	}
	judge := func(accepted []string) reading {
		return read(now, func(c host.Choice) bool { return slices.Contains(accepted, c.Active) }).
			unless(slices.Contains([]string{"always", "madvise", "never"}, now.Value.Active), docsOfTHP)
	}
	v := see(judge(accepted))
	if len(asks) > 0 && slices.Contains(unasked, now.Value.Active) { // no host should have others, whatever runs
		v.readings = nil
		for _, a := range asks {
			v.add(a.server, judge(a.values))
		}
	}
	who := products(servers(f))
	switch active := now.Value.Active; {
	case slices.Equal(accepted, unasked) || slices.Contains(accepted, "never") && active == "always":
	case active == "always":
		v.ok = "what " + who + " wants"
	default:
		v.bad, v.ok = who+" wants "+inWords(accepted, "or"), "what "+who+" wants"
	}
	if !slices.Contains(accepted, "always") {
		return v.andSizes(f)
	}
	return v
}

// asked says what each server wants: "MongoDB always; SAP HANA never".
func asked(asks []ask) string {
	var parts []string
	for _, a := range asks {
		if part := a.server.Product() + " " + inWords(a.values, "or"); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

func adviseTHP(f *host.Facts, _ Role) []setting.Assignment {
	accepted, _, unsure := thpAccepted(f)
	if unsure != nil || len(accepted) == 0 || slices.Contains(accepted, f.Memory.THPEnabled.Value.Active) {
		return nil // or a single size or shared memory is the finding
	}
	return []setting.Assignment{{Name: "thp", Value: accepted[0]}}
}
