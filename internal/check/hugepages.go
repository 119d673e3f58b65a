package check

import (
	"slices"
	"strings"

	"hostlab/internal/host"
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
