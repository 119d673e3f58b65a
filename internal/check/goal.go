package check

import (
	"fmt"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// goal is a value that a setting should have here. It is advised only where the reading is wrong, so that no
// advice lowers a limit that is higher.
type goal struct {
	setting, value string
	reading        reading
}

// raised wants a number that is not below the one that a source names.
func raised(setting string, f host.Fact[int64], n int64) goal {
	return goal{setting, fmt.Sprint(n), read(f, atLeast(n))}
}

// lowered wants a number that is not above the one that a source names.
func lowered(setting string, f host.Fact[int64], n int64) goal {
	return goal{setting, fmt.Sprint(n), read(f, func(v int64) bool { return v <= n })}
}

// readings are those of a list of wanted values.
func readings(list []goal) (out []reading) {
	for _, w := range list {
		out = append(out, w.reading)
	}
	return out
}

// unread says that nobody has looked: the host is one of a kind, for which a profile is written.
func (g goal) unread() bool {
	return g.reading.path == noSource && g.reading.state == host.StateAbsent
}

// advising makes the advice of a check from what it wants on a host, or on hosts of a kind.
func advising(want func(*host.Facts) []goal) func(*host.Facts, Role) []setting.Assignment {
	return func(f *host.Facts, _ Role) (list []setting.Assignment) {
		for _, w := range want(f) {
			if w.setting != "" && (w.unread() || len(wrong([]reading{w.reading})) > 0) {
				list = append(list, setting.Assignment{Name: w.setting, Value: w.value})
			}
		}
		return list
	}
}

// seeing makes the look of a check from what it wants on a host.
func seeing(want func(*host.Facts) []goal) func(*host.Facts, Role) view {
	return func(f *host.Facts, _ Role) view { return see(readings(want(f))...) }
}
