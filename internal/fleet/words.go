package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// kindWords say what was measured, by the kind of a measurement.
var kindWords = map[result.Kind]string{
	probe.WakeALU:   "time of arithmetic after a pause, against awake",
	probe.WakeMixed: "time of arithmetic and cache reads after a pause, against awake",
	probe.WakeCold:  "time of a burst of cache reads after a pause, against awake",
	probe.ClockBusy: "clock while busy", probe.ClockSlept: "clock after a pause",
	probe.LateMedian: "median lateness of a wake-up", probe.LateTail: "99th percentile of the lateness of wake-ups",
	probe.LateControl: "median lateness of a thread that stays awake",
	probe.SlowDown:    "slow-down of two busy CPUs by each other",
	probe.PingPong:    "time in which a cache line goes to another CPU and back",
	probe.HarmSibling: "lock rate beside a scan on the sibling, against alone",
	probe.HarmOther:   "lock rate beside a scan on another core, against alone",
	probe.LocksAlone:  "lock rate alone", probe.LocksSibling: "lock rate beside a scan on the sibling",
	probe.LocksOther:   "lock rate beside a scan on another core",
	probe.ScansSibling: "scan rate on the sibling of locks", probe.ScansOther: "scan rate on another core than locks",
	probe.CommitDrift: "commits at the end, against the beginning",
	probe.CommitGain:  "commits in memory, against the log device",
	probe.Throughput:  "rate of a cached query", probe.SpeedUp: "speed-up of a cached query",
	probe.Efficiency: "speed-up of a cached query per worker",
}

// The words of commits are made of what is said of them and of the file.
var (
	commitFiles = map[probe.CommitFile]string{probe.NewBlocks: " to new blocks of the log device",
		probe.Recycled: " to blocks written before", probe.InMemory: " in memory"}
	commitStats = map[probe.Stat]string{probe.Mean: "mean commit", probe.Median: "median commit",
		probe.Tail:    "99th percentile of commits",
		probe.Longest: "longest commit", probe.Rate: "commits a second", probe.Twice: "commits against the same again"}
)

// wordsOf are those of one kind; "": none.
func wordsOf(kind string) string {
	if said := kindWords[result.Kind(kind)]; said != "" {
		return said
	}
	i := strings.LastIndexByte(kind, '.')
	if i < 0 {
		return ""
	}
	what, where := commitStats[probe.Stat(kind[i+1:])], commitFiles[probe.CommitFile(kind[:i])]
	if what == "" || where == "" {
		return ""
	}
	return what + where
}

// MeasurementWords says what was measured under a name, as commit.p50 or wakeup.alu.10ms.cpu0; "": this version does
// not know it.
func MeasurementWords(name string) string {
	kind, rest := name, ""
	said := wordsOf(kind)
	for said == "" {
		i := strings.LastIndexByte(kind, '.')
		if i < 0 {
			return ""
		}
		kind, rest = kind[:i], name[i:]
		said = wordsOf(kind)
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(rest, "."), ".") {
		workers, err := strconv.Atoi(part)
		switch number, isTime := strings.CutSuffix(part, "ms"); {
		case part == "":
		case err == nil && workers == 1:
			said += ", 1 worker"
		case err == nil:
			said += ", " + part + " workers"
		case isTime:
			said += ", bursts of " + number + " ms"
		default:
			said += ", " + strings.ReplaceAll(strings.ReplaceAll(part, "-", " and "), "cpu", "CPU ")
		}
	}
	return said
}

// measurementCell names a measurement, and says below what it is.
func measurementCell(name string) document.Cell {
	c := document.Text(name)
	if said := MeasurementWords(name); said != "" {
		c.More = []string{said}
	}
	return c
}

// Days reads 7d, or a duration.
func Days(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 36500 {
			return 0, fmt.Errorf("expected a number of days, such as 7d")
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("expected days or a duration, such as 7d or 36h")
	}
	return d, nil
}
