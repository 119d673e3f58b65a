package watch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/watch"
)

var (
	metricLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)+\})? (\S+)$`)
	headerLine = regexp.MustCompile(`^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
)

// validate holds text to the format 0.0.4, and to the conventions that promtool
// checks: units in names, counters that end in _total, HELP and TYPE once before
// the samples, no sample twice, and the samples of a family together.
func validate(text string) error {
	if !strings.HasSuffix(text, "\n") {
		return fmt.Errorf("the last line has no end")
	}
	help, kind, seen, closed := map[string]bool{}, map[string]string{}, map[string]bool{}, map[string]bool{}
	current := ""
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if m := headerLine.FindStringSubmatch(line); m != nil {
			if m[2] != current {
				if closed[m[2]] {
					return fmt.Errorf("line %d: %s comes twice", n+1, m[2])
				}
				closed[current], current = true, m[2]
			}
			if m[1] == "HELP" {
				if help[m[2]] {
					return fmt.Errorf("line %d: HELP twice", n+1)
				}
				help[m[2]] = true
				continue
			}
			switch {
			case m[3] == "counter" && !strings.HasSuffix(m[2], "_total"), m[3] != "counter" && strings.HasSuffix(m[2], "_total"):
				return fmt.Errorf("line %d: %s is a %s", n+1, m[2], m[3])
			case m[3] != "counter" && m[3] != "gauge" && m[3] != "summary", kind[m[2]] != "":
				return fmt.Errorf("line %d: type %s", n+1, m[3])
			case regexp.MustCompile(`_(milliseconds|ms|mhz|khz|percent|kb)(_|$)`).MatchString(m[2]):
				return fmt.Errorf("line %d: %s is in no base unit", n+1, m[2])
			}
			kind[m[2]] = m[3]
			continue
		}
		m := metricLine.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("line %d: %q is no sample", n+1, line)
		}
		family := m[1]
		if kind[current] == "summary" {
			family = strings.TrimSuffix(strings.TrimSuffix(family, "_sum"), "_count")
		}
		if family != current || !help[family] || kind[family] == "" {
			return fmt.Errorf("line %d: %s without HELP and TYPE before it", n+1, m[1])
		}
		if seen[m[1]+m[2]] {
			return fmt.Errorf("line %d: %s%s twice", n+1, m[1], m[2])
		}
		seen[m[1]+m[2]] = true
		if v, err := strconv.ParseFloat(m[3], 64); err != nil || kind[family] == "counter" && v < 0 {
			return fmt.Errorf("line %d: value %s", n+1, m[3])
		}
	}
	return nil
}

func TestMetrics(t *testing.T) {
	m := newMachine(t)
	m.put("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C\"1\\\n")
	s := testkit.Must(watch.Open(watch.Config{Tree: host.Tree{Root: m.dir}}))(t)
	defer s.Close()
	e := watch.Exposer{Version: "v1"}
	for i := range 2 {
		r := testkit.Must(s.Read(time.Unix(1790000000+int64(i), 0)))(t)
		r.Commits = []float64{0.001, 0.002}
		r.Disks = []watch.DiskReading{{Name: "vda", Writes: 7, WriteTime: 0.25, Flushes: math.NaN(), FlushTime: math.NaN()}}
		e.Add(s.Info(), r)
	}
	var b bytes.Buffer
	testkit.Must(e.WriteTo(&b))(t)
	if err := validate(b.String()); err != nil {
		t.Errorf("%v\n%s", err, b.String())
	}
	for _, want := range []string{
		`hostlab_build_info{version="v1"} 1`,
		`hostlab_watch_samples_total 2`,
		`hostlab_cpu_seconds_total{cpu="1",mode="user"} 2`,
		`hostlab_cpu_frequency_hertz{cpu="0"} 2e+09`,
		`hostlab_cpu_frequency_max_hertz{cpu="0"} 4e+09`,
		`hostlab_cpu_idle_state_seconds_total{cpu="0",index="1",state="C\"1\\"} 5`,
		`hostlab_pressure_waiting_seconds_total{resource="cpu"} 1`,
		`hostlab_log_device_write_time_seconds_total{device="vda"} 0.25`,
		`hostlab_commit_duration_seconds_count 4`,
	} {
		testkit.Has(t, b.String(), want+"\n", want)
	}
	for _, not := range []string{"NaN", "flush", "effective", `resource="io"`} {
		if strings.Contains(b.String(), not) {
			t.Errorf("%s is there, though it is unknown", not)
		}
	}
}

// TestValidate shows that the validator can say no.
func TestValidate(t *testing.T) {
	const ok = "# HELP a_total x\n# TYPE a_total counter\na_total{b=\"c\"} 1\n"
	testkit.OK(t, validate(ok))
	for _, bad := range []string{
		strings.TrimSuffix(ok, "\n"), ok + ok, ok + "a_total{b=\"c\"} 2\n", ok + "b 1\n", strings.ReplaceAll(ok, "a_total", "a"),
		strings.Replace(ok, "# TYPE a_total counter\n", "", 1), strings.Replace(ok, `"c"`, `"c`, 1), strings.Replace(ok, " 1\n", " x\n", 1),
		"# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n",
	} {
		if validate(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// Names that a machine chooses reach no terminal raw, neither in a sample's JSON nor in a record, and
// what is unknown is null.
func TestHostileNamesInJSON(t *testing.T) {
	const hostile = "C1\u009b31m\u202e"
	info := watch.Info{Hostname: hostile, States: map[int][]watch.IdleState{0: {{Name: hostile}}}}
	s := watch.Sample{Seconds: 1, CPUs: []watch.CPU{{Effective: math.NaN(), States: []float64{0.5}}}, Disks: []watch.Disk{{Name: hostile, PerFlush: math.Inf(1)}}}
	object := testkit.Must(result.JSON(s.Object(info)))(t)
	head := watch.HeadLine(watch.NewHead(info, watch.Reading{CPUs: []watch.CPUReading{{}}}, time.Second))
	for _, text := range [][]byte{object, head} {
		if bytes.ContainsAny(text, "\u009b\u202e") {
			t.Errorf("raw: %q", text)
		}
		if !json.Valid(text) || !bytes.Contains(text, []byte(`C1\u009b31m\u202e`)) {
			t.Errorf("%s", text)
		}
	}
	for _, want := range []string{`"effective_hertz":null`, `"flush_seconds":null`, `"commits":[]`, `"idle_states":{`} {
		if !bytes.Contains(object, []byte(want)) {
			t.Errorf("%s is not in %s", want, object)
		}
	}
}
