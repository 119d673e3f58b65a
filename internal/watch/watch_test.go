package watch_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
	"hostlab/internal/watch"
)

// machine is a tree whose files a test changes between readings.
type machine struct {
	t   *testing.T
	dir string
}

func (m machine) put(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.dir, path)
	testkit.OK(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	// In place, as the kernel's files are: a sampler holds them open.
	testkit.OK(m.t, os.WriteFile(path, []byte(text), 0o644))
}

func newMachine(t *testing.T) machine {
	m := machine{t, t.TempDir()}
	m.put("proc/sys/kernel/hostname", "box\n")
	m.put("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 100 0 50 1000 10 0 0 5 0 0\ncpu1 200 0 50 1000 10 0 0 5 0 0\nintr 1\n")
	m.put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n")
	for c := range 2 {
		d := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", c)
		m.put(d+"cpufreq/cpuinfo_max_freq", "4000000\n")
		m.put(d+"cpufreq/scaling_cur_freq", "2000000\n")
		for i, s := range []struct{ name, latency string }{{"POLL", "0"}, {"C1", "2"}, {"C6", "133"}} {
			e := fmt.Sprintf("%scpuidle/state%d/", d, i)
			m.put(e+"name", s.name+"\n")
			m.put(e+"latency", s.latency+"\n")
			m.put(e+"time", "5000000\n")
		}
	}
	return m
}

func TestSampleOfATree(t *testing.T) {
	m := newMachine(t)
	s := testkit.Must(watch.Open(watch.Config{Tree: host.Tree{Root: m.dir}}))(t)
	defer s.Close()
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	a := testkit.Must(s.Read(start))(t)
	m.put("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 130 0 60 1050 20 0 0 5 0 0\ncpu1 200 0 50 1100 9 0 0 5 0 0\nintr 1\n")
	m.put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1250000\n")
	m.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n")
	m.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "<unknown>\n")
	m.put("sys/devices/system/cpu/cpu1/cpuidle/state2/time", "5900000\n")
	b := testkit.Must(s.Read(start.Add(time.Second)))(t)
	got := watch.Between(s.Info(), a, b)
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s is %v, expected %v", name, got, want)
		}
	}
	nan := math.NaN()
	c0, c1 := got.CPUs[0], got.CPUs[1]
	near("user", c0.User, 0.3)
	near("system", c0.System, 0.1)
	near("iowait", c0.IOWait, 0.1)
	near("idle", c0.Idle, 0.5)
	near("clock", c0.Ratio, 0.75)
	near("clock unknown", c1.Ratio, nan)
	near("iowait that ran backwards", c1.IOWait, 0)
	near("idle", c1.Idle, 1)
	near("deep", c1.Deep, 0.9)
	near("pressure", got.Pressure[0].Some, 0.25)
	near("no pressure file", got.Pressure[1].Some, nan)
	near("effective", c0.Effective, nan)
	near("busiest quarter", got.Total().Quarter, 0.5)
	var what []string
	for _, u := range s.Info().Unknown {
		what = append(what, u.What)
	}
	testkit.Same(t, []string{"pressure", "effective frequency"}, what)

	// A CPU that goes offline is left out, and one that comes back is there again.
	m.put("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 230 0 60 1050 20 0 0 5 0 0\n")
	c := testkit.Must(s.Read(start.Add(2 * time.Second)))(t)
	testkit.Is(t, 1, len(watch.Between(s.Info(), b, c).CPUs), "CPUs with one offline")
	m.put("proc/stat", "nothing\n")
	testkit.Refused(s.Read(start.Add(3*time.Second)))(t, "no line of a CPU", "garbage was read as")
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ stat, want string }{
		{"", "no line of a CPU"},
		{"cpu0 1 2 3\n", "expected eight numbers"},
		{"cpu0 1 2 3 4 5 6 7 x\n", "expected eight numbers"},
		{"cpu0 1 2 3 4 5 6 7 99999999999999999999999\n", "expected eight numbers"},
		{"cpu1 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", "expected CPUs in order"},
		{"!errno EACCES\n", "permission denied"},
	} {
		m := machine{t, t.TempDir()}
		m.put("proc/stat", c.stat)
		testkit.Refused(watch.Open(watch.Config{Tree: host.Tree{Root: m.dir}}))(t, c.want, c.stat)
	}
}

func TestRecorder(t *testing.T) {
	m := newMachine(t)
	s := testkit.Must(watch.Open(watch.Config{Tree: host.Tree{Root: m.dir}}))(t)
	defer s.Close()
	name := filepath.Join(t.TempDir(), "r.jsonl")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	session := func(samples int) {
		t.Helper()
		r := testkit.Must(watch.OpenRecorder(name, "box", time.Second, s.Info))(t)
		testkit.Refused(watch.OpenRecorder(name, "box", time.Second, s.Info))(t, "another hostlab records to it", "two recorders at once")
		last := testkit.Must(s.Read(now))(t)
		for range samples {
			now = now.Add(time.Second)
			next := testkit.Must(s.Read(now))(t)
			testkit.OK(t, r.Write(next, watch.Between(s.Info(), last, next)))
			last = next
		}
		testkit.OK(t, r.Close())
	}
	session(0)
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a recording without a sample left a file: %v", err)
	}
	session(3)
	f := testkit.Must(os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0))(t)
	if _, err := f.WriteString(`{"t":179`); err != nil { // a crash in the middle of a line
		t.Fatal(err)
	}
	f.Close()
	cut := testkit.Must(os.ReadFile(name))(t)
	if r, err := watch.ReadRecord(bytes.NewReader(cut)); err != nil || len(r.Points) != 3 || len(r.Warnings) != 1 {
		t.Errorf("a line cut off: %v, %+v", err, r)
	}
	session(2)
	whole := testkit.Must(os.ReadFile(name))(t)
	r, err := watch.ReadRecord(bytes.NewReader(whole))
	if err != nil || len(r.Points) != 5 || len(r.Warnings) != 0 {
		t.Errorf("%v, %+v\n%s", err, r, whole)
	}
	testkit.Refused(watch.OpenRecorder(name, "other", time.Second, s.Info))(t, `is a record of host "box"`, "another host")
	foreign := filepath.Join(t.TempDir(), "notes.txt")
	testkit.OK(t, os.WriteFile(foreign, []byte("mine\n"), 0o644))
	testkit.Refused(watch.OpenRecorder(foreign, "box", time.Second, s.Info))(t, "holds something else", "a foreign file")
	testkit.Is(t, "mine\n", string(testkit.Must(os.ReadFile(foreign))(t)), "a foreign file was changed")
}

// TestDaySize holds the sizes that the helps tell.
func TestDaySize(t *testing.T) {
	day := Day{CPUs: 64, Interval: time.Second, Night: 10 * time.Minute, Load: 0}
	quiet := 144 * float64(len(day.Write(1)))
	day.Night, day.Load, day.Busy = 0, 10*time.Minute, 0.4
	busy := 144 * float64(len(day.Write(1)))
	lowest, highest := watch.DaySize(64, time.Second)
	t.Logf("a day of 64 CPUs: quiet %.1f MB, told %.1f; busy %.1f MB, told %.1f", quiet/1e6, lowest/1e6, busy/1e6, highest/1e6)
	if quiet > 1.3*lowest || busy > 1.2*highest || highest > 80e6 {
		t.Error("a record is larger than told")
	}
}

func TestReadRecordRefuses(t *testing.T) {
	day := Day{CPUs: 2, Interval: time.Second, Load: 2 * time.Second, Busy: 0.5}
	lines := strings.SplitAfter(string(day.Write(1)), "\n")
	head, first := lines[0], lines[1]
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"text", "hello\n", "line 1: not a record of hostlab watch"},
		{"no head", first, "line 1: not a record of hostlab watch: it begins with no head"},
		{"only a head", head, "no sample"},
		{"bursts", `{"kind":"hostlab-bursts","schema":1}` + "\n", "record of bursts"},
		{"schema", strings.Replace(head, `"schema":1`, `"schema":7`, 1), "line 1: schema is 7"},
		{"interval", strings.Replace(head, `"interval":1`, `"interval":-1`, 1), "line 1: interval is -1 s"},
		{"CPUs", strings.Replace(head, `[0,1]`, `[1,0]`, 1), "ascending"},
		{"other host", head + strings.Replace(head, `"made"`, `"else"`, 1), `line 2: host is "else"`},
		{"garbage inside", head + "xx\n" + first, "line 2: expected JSON"},
		{"too many", head + strings.Replace(first, `"iow":"0*2"`, `"iow":"0*3"`, 1), "line 2: iow: more than 2 numbers"},
		{"too few", head + strings.Replace(first, `"iow":"0*2"`, `"iow":"0"`, 1), "line 2: iow: fewer numbers"},
		{"negative", head + strings.Replace(first, `"iow":"0*2"`, `"iow":"-1 0"`, 1), "line 2: iow: expected numbers"},
		{"share above all", head + strings.Replace(first, `"iow":"0*2"`, `"iow":"0 400"`, 1), "line 2: iow: 400 % of the time of CPU 1 is more than all of it"},
		{"shares above all", head + strings.Replace(first, `"iow":"0*2","steal":"0*2"`, `"iow":"60 0","steal":"60 0"`, 1), "line 2: user, sys, iow and steal of CPU 0 are "},
		{"impossible clock", head + first[:len(first)-2] + `,"freq":"100 4000"}` + "\n", "line 2: freq: CPU 1 at 4000 %"},
		{"pressure", head + first[:len(first)-2] + `,"psi":[-1,0,0]}` + "\n", "line 2: psi: tasks waited for a CPU in -1 %"},
		{"bomb", head + strings.Replace(first, `"iow":"0*2"`, `"iow":"0*999999999999"`, 1), "line 2: iow: more than 2 numbers"},
		{"cut at once", head + first[:20], "line 2: expected JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Refused(watch.ReadRecord(strings.NewReader(c.text)))(t, c.want)
		})
	}
}

func FuzzReadRecord(f *testing.F) {
	day := Day{CPUs: 3, Interval: time.Second, Night: 2 * time.Second, Load: 2 * time.Second, Busy: 0.5}
	f.Add(day.Write(1))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := watch.ReadRecord(bytes.NewReader(b))
		if err != nil {
			return
		}
		q := watch.DefaultQuestion()
		q.QuietFor = time.Second
		var out bytes.Buffer
		if err := document.WriteText(&out, watch.Analyze(r, q).Document(), document.TextOptions{Width: 80}); err != nil || out.Len() == 0 {
			t.Error(err)
		}
	})
}
