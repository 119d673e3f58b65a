package check

import (
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
)

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
		if v.readings = append(v.readings, r, aside(size)); r.bad && v.bad == "" {
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
