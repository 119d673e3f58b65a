package postgres

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// classes are the classes of waits, by the top byte of a process' word (src/include/utils/wait_classes.h).
var classes = map[uint32]string{
	1: "LWLock", 3: "Lock", 4: "BufferPin", 5: "Activity", 6: "Client", 7: "Extension", 8: "IPC", 9: "Timeout", 10: "IO",
	11: "InjectionPoint",
}

// clientRead is the word of a process that waits for its client's next message.
const clientRead = 6 << 24

//go:embed events.txt
var eventTable string

// events are the names of a version's waits by class and number, as its words have both; empty: the version is not
// known.
type events map[uint32][]string

func eventsOf(major int) events {
	out := events{}
	for line := range strings.Lines(eventTable) {
		f := strings.Fields(line)
		if f[0] != strconv.Itoa(major) {
			continue
		}
		if class, err := strconv.ParseUint(f[1], 10, 8); err == nil {
			out[uint32(class)] = f[2:]
		}
	}
	return out
}

// name is what pg_stat_activity calls a wait: its type and its event. One that came later, or an extension's own, has a
// number.
func (e events) name(word uint32) (kind, event string) {
	class, number := word>>24, int(word&0xffff)
	if kind = classes[class]; kind == "" {
		kind = fmt.Sprintf("class %d", class)
	}
	if list := e[class]; number < len(list) && list[number] != "-" {
		return kind, list[number]
	}
	if number == 0 && kind == "Extension" {
		return kind, kind
	}
	return kind, fmt.Sprintf("event %d", number)
}
