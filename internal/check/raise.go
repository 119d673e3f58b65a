package check

import (
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// withoutLowering gives limits the higher of what is advised and what the host has: a limit costs nothing, and to lower one
// may stop what runs under it.
func withoutLowering(f *host.Facts, list []setting.Assignment) []setting.Assignment {
	for i, a := range list {
		if s, ok := setting.Find(a.Name); ok && s.Limit {
			list[i].Value = higher(a.Value, limitOf(f, a.Name))
		}
	}
	return list
}

// limitOf is what the host has of a limit, as its file reads; "": not known.
func limitOf(f *host.Facts, name string) string {
	m, k := f.Memory, f.Kernel
	switch name {
	case "max_map_count":
		return asRead(m.MaxMapCount)
	case "shmmni":
		return asRead(m.ShmMni)
	case "shmmax":
		return asRead(m.ShmMax)
	case "shmall":
		return asRead(m.ShmAll)
	case "pid_max":
		return asRead(k.PIDMax)
	case "aio_max_nr":
		return asRead(k.AIOMaxNr)
	case "sem":
		return strings.Trim(asRead(k.Sem), "[]")
	}
	return ""
}

func asRead[T any](f host.Fact[T]) string {
	if v, ok := f.Get(); ok {
		return fmt.Sprint(v)
	}
	return ""
}

// higher takes each number of a limit from where it is higher.
func higher(advised, has string) string {
	want, now := strings.Fields(advised), strings.Fields(has)
	if len(want) != len(now) {
		return advised
	}
	for i := range want {
		w, wrong := strconv.ParseUint(want[i], 10, 64)
		n, err := strconv.ParseUint(now[i], 10, 64)
		if wrong == nil && err == nil && n > w {
			want[i] = now[i]
		}
	}
	return strings.Join(want, " ")
}
