package setting

import (
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// Join names objects in short: cpu0-511, policy0,2, cpu0-3/state2; devices one by one.
// The order is that of the first of each.
func Join(names []string) string {
	type family struct {
		before, after string
		numbers       []int
	}
	var list []*family
	for _, name := range names {
		before, n, after, ok := numberIn(name)
		if !ok {
			list = append(list, &family{before: name})
			continue
		}
		i := slices.IndexFunc(list, func(f *family) bool {
			return f.numbers != nil && f.before == before && f.after == after
		})
		if i < 0 {
			list = append(list, &family{before, after, []int{n}})
			continue
		}
		list[i].numbers = append(list[i].numbers, n)
	}
	var out []string
	for _, f := range list {
		slices.Sort(f.numbers)
		out = append(out, f.before+host.FormatList(slices.Compact(f.numbers))+f.after)
	}
	return strings.Join(out, ", ")
}

// numberIn splits the names of CPUs and policies at their number. Those of devices have
// numbers that mean other things.
func numberIn(name string) (before string, n int, after string, ok bool) {
	for _, p := range []string{"cpu", "policy"} {
		rest, is := strings.CutPrefix(name, p)
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rest)
		}
		if n, err := strconv.Atoi(rest[:end]); is && err == nil {
			return p, n, rest[end:], true
		}
	}
	return "", 0, "", false
}
