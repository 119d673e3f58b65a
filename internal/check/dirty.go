package check

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/setting"
)

// dirtyMost is how much file data may be unwritten when the kernel begins to write: a second's work of a fast
// disk. The bound is hostlab's own; sources that name bytes have 64 MiB (tuned postgresql) and 300 MiB (SAP).
const dirtyMost = 1 << 30

// dirtyLimit is one of the two limits, in the form that is in force: bytes, if they are not 0, else the ratio.
type dirtyLimit struct {
	reading reading
	ratio   int64 // %, or 0 if bytes are in force
	bytes   float64
}

// dirtyInForce reads a limit. The kernel takes a ratio of the memory that can be dirty, which is what is free and
// what files have (mm/page-writeback.c, global_dirtyable_memory); MemAvailable is about that.
func dirtyInForce(b, ratio, dirtyable host.Fact[int64]) dirtyLimit {
	if v, ok := b.Get(); ok && v > 0 {
		return dirtyLimit{reading: whole(b), bytes: float64(v)}
	}
	if r := whole(b); r.unknown() {
		return dirtyLimit{reading: r}
	}
	r := readAs(ratio, func(v int64) string { return fmt.Sprintf("%d %%", v) }, func(int64) bool { return true })
	mem, sized := dirtyable.Get()
	if ratio.State == host.StateOK && !sized {
		r = whole(dirtyable)
	}
	return dirtyLimit{reading: r, ratio: ratio.Or(0), bytes: float64(mem) * float64(ratio.Or(0)) / 100}
}

func lookDirty(f *host.Facts, _ Role) view {
	m := f.Memory
	dirtyable := m.Available
	if dirtyable.State != host.StateOK && m.Total.State == host.StateOK { // before Linux 3.14
		dirtyable = m.Total
	}
	hard := dirtyInForce(m.DirtyBytes, m.DirtyRatio, dirtyable)
	background := dirtyInForce(m.DirtyBackgroundBytes, m.DirtyBackgroundRatio, dirtyable)
	// A hard limit below the other begins the writing, too.
	first := slices.MinFunc([]dirtyLimit{background, hard},
		func(a, b dirtyLimit) int { return cmp.Compare(a.bytes, b.bytes) })
	background.reading.bad = first.bytes > dirtyMost
	v := see(hard.reading.need(), background.reading.need(), aside(dirtyable))
	v.ok = "writing starts at " + first.amount() + " of unwritten data"
	v.bad = fmt.Sprintf("writing starts at %s of unwritten data, writers stop at %s", first.amount(), hard.amount())
	return v
}

// adviseDirty is in bytes, as SAP's notes have it.
func adviseDirty(*host.Facts, Role) []setting.Assignment {
	return []setting.Assignment{{Name: "dirty_background_bytes", Value: "314572800"},
		{Name: "dirty_bytes", Value: "629145600"}}
}

// throughPageCache are the servers that write files through the page cache, or do so unless they are configured
// otherwise. HANA and SQL Server open theirs with O_DIRECT.
var throughPageCache = slices.DeleteFunc(slices.Clone(anyServer), func(e Engine) bool {
	return e.Kind == "hana" || e.Kind == "sqlserver"
})

func (l dirtyLimit) amount() string {
	if l.ratio == 0 {
		return result.Format(l.bytes, "B")
	}
	return fmt.Sprintf("%s (%d %% of the memory for files)", result.Format(l.bytes, "B"), l.ratio)
}
