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

// missed are the assignments of goals that are not reached, or of which nothing is known on hosts of a kind.
func missed(goals []goal) (list []setting.Assignment) {
	for _, g := range goals {
		if g.setting != "" && (g.unread() || len(wrong([]reading{g.reading})) > 0) {
			list = append(list, setting.Assignment{Name: g.setting, Value: g.value})
		}
	}
	return list
}
