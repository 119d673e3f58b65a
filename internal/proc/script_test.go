package proc

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		"python3 /opt/report.py --password secret":    "report.py",
		"python3.11 -u -X dev -m celery worker":       "celery",
		"python3 -c import_this":                      "",
		"java -Xmx1g -cp /opt/a.jar:/opt/b.jar Web 1": "Web",
		"java -jar /srv/shop.jar":                     "shop.jar",
		"java -cp x org.apache.catalina.Bootstrap":    "org.apache.catalina.Bootstrap",
		"sh -c while_true":                            "",
		"bash -e /etc/cron.daily/backup":              "backup",
		"node -r ts-node/register app.js":             "app.js",
		"bash /dev/fd/3":                              "",
		"bash -lc run":                                "",
		"bash -s token":                               "",
		"perl -ne print":                              "",
		"node --eval token":                           "",
		"node --require x app.js":                     "app.js",
		"python3 - token":                             "",
		"python3 --password=/a/token":                 "",
		"sh a/b=token":                                "",
		"python3":                                     "",
		"python3 \x1b[31mred":                         "",
	} {
		args := strings.Split(line, " ")
		got := ""
		for _, i := range interpreters {
			if i.name.MatchString(args[0]) {
				got = script(args[1:], i.takes, i.texts)
			}
		}
		testkit.Is(t, want, got, line)
	}
}

// TestWords: what a process says of itself may have any length; no more is read than a program has.
func TestWords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environ")
	testkit.OK(t, os.WriteFile(file, []byte("A=1\x00B=2\x00"), 0o600))
	if got, err := words(file, 8); err != nil || !slices.Equal(got, []string{"A=1", "B=2", ""}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := words(file, 7); err == nil {
		t.Errorf("%q of more than is read", got)
	}
	testkit.OK(t, os.Truncate(file, 64<<30))
	if got, err := words(file, mostGiven); err == nil {
		t.Errorf("%d words of 64 GiB", len(got))
	}
	if got, err := words(file+"x", mostSaid); err == nil {
		t.Errorf("%q of no file", got)
	}
}

func TestTakers(t *testing.T) {
	s := time.Second
	before := Census{all: []Stat{
		{PID: 1, Name: "init", Started: 1}, {PID: 10, Parent: 1, Name: "hog", CPU: 5 * s, Started: 2}, {PID: 11, Parent: 1, Name: "hog", CPU: 5 * s, Started: 2},
		{PID: 20, Parent: 1, Name: "postgres", CPU: s, Started: 2}, {PID: 30, Parent: 1, Name: "make", Started: 3},
		{PID: 31, Parent: 30, Name: "cc", CPU: 2 * s, Started: 4}, {PID: 40, Parent: 1, Name: "old", CPU: 9 * s, Started: 4},
		{PID: 60, Parent: 1, Name: "sh", Started: 4}, {PID: 61, Parent: 60, Name: "long", CPU: 99 * s, Started: 4}}} // both end
	after := Census{all: []Stat{
		{PID: 1, Name: "init", Reaped: 108 * s, Started: 1}, {PID: 10, Parent: 1, Session: 1, Name: "hog", CPU: 15 * s, Started: 2},
		{PID: 11, Parent: 1, Session: 30, Name: "hog", CPU: 6 * s, Started: 2},
		{PID: 20, Parent: 1, Name: "postgres", CPU: 9 * s, Started: 2}, {PID: 21, Parent: 20, Name: "postgres", CPU: 4 * s, Started: 7},
		{PID: 30, Parent: 1, Name: "make", Reaped: 5 * s, Started: 3}, // cc ended, and others came and went
		{PID: 40, Parent: 1, Name: "young", CPU: 2 * s, Started: 9},   // another process of that number
		{PID: 50, Parent: 2, Name: "kworker/0:1", CPU: s, Started: 9}, // of the kernel
		{PID: 51, Parent: 2, Name: "ksmd", CPU: 3 * s / 2, Started: 9}},
		groupOf: func(pid int) string {
			return map[int]string{10: "/system.slice/hog.service", 11: "/system.slice/hog.service"}[pid]
		}}
	ours := after.Below(20)
	got := after.Takers(before, func(p Stat, _ string) bool { return ours[p.PID] })
	want := []Taker{
		{Name: "hog", PID: 10, Others: []int{11}, Sessions: []int{10, 30}, Processes: 2, Group: "/system.slice/hog.service", Seconds: 11},
		{Name: "make", PID: 30, Sessions: []int{30}, Processes: 1, Seconds: 3, Reaped: 3},
		{Name: "young", PID: 40, Sessions: []int{40}, Processes: 1, Seconds: 2},
		{Name: "ksmd", PID: 51, Sessions: []int{51}, Processes: 1, Seconds: 1.5},
		{Name: "the kernel's threads", PID: 50, Processes: 1, Seconds: 1, Kernel: true}}
	if kthreadd < 0 {
		want[4].Name, want[4].Sessions, want[4].Kernel = "kworker/0:1", []int{50}, false
	}
	testkit.Same(t, want, got)
	for group, unit := range map[string]string{
		"/system.slice/hog.service": "hog.service", "/user.slice/user-0.slice/session-3.scope": "",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope": "x.scope", "/system.slice/docker-ab12.scope": "docker-ab12.scope", "": "",
	} {
		testkit.Is(t, unit, (Taker{Group: group}).Unit(), group)
	}
}

// TestStarter: what processes of seconds have in common is the nearest ancestor that was there before them.
func TestStarter(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		by     string
		reaped time.Duration
		cc     int // its parent
		want   *Starter
	}{
		"others came and went": {"make", 8 * s, 31, &Starter{30, "make", true}},
		"none did":             {"make", 0, 31, &Starter{30, "make", false}},
		"of the first process": {"make", 8 * s, 1, nil},
		"of who logged in":     {"sshd", 8 * s, 31, nil},
	} {
		start := Stat{PID: 30, Parent: 9, Name: c.by, Started: 1}
		grown := start
		grown.Reaped = c.reaped
		after := Census{[]Stat{grown, {PID: 31, Parent: 30, Name: "sh", Started: 5}, {PID: 32, Parent: c.cc, Name: "cc", CPU: 9 * s, Started: 6}},
			func(int) string { return "" }}
		got := after.Takers(Census{all: []Stat{start}}, func(Stat, string) bool { return false })
		testkit.Is(t, "cc", got[0].Name, name)
		testkit.Same(t, c.want, got[0].Starter, name)
	}
}

// made is an entry of class 5: the name behind its threads, as Windows has it.
type made struct {
	pid, parent, created, user, kernel int64
	name                               string
	states                             []uint32
}

func buffer(address uint64, list ...made) (b []byte) {
	for i, p := range list {
		name := utf16.Encode([]rune(p.name))
		e := make([]byte, processSize+len(p.states)*threadSize+2*len(name))
		put := func(at int, v int64) { binary.LittleEndian.PutUint64(e[at:], uint64(v)) }
		put(32, p.created)
		put(40, p.user)
		put(48, p.kernel)
		put(80, p.pid)
		put(88, p.parent)
		binary.LittleEndian.PutUint32(e[4:], uint32(len(p.states)))
		binary.LittleEndian.PutUint16(e[56:], uint16(2*len(name)))
		text := len(e) - 2*len(name)
		put(64, int64(address)+int64(len(b)+text))
		for j, s := range p.states {
			binary.LittleEndian.PutUint32(e[256+80*j+68:], s)
		}
		for j, u := range name {
			binary.LittleEndian.PutUint16(e[text+2*j:], u)
		}
		if i < len(list)-1 {
			binary.LittleEndian.PutUint32(e, uint32(len(e)))
		}
		b = append(b, e...)
	}
	return b
}

func TestParseProcesses(t *testing.T) {
	const address = 0x7ff600001000
	b := buffer(address, made{pid: 0, user: 1 << 40, states: []uint32{2}},
		made{4, 0, 0, 5, 6, "System", []uint32{5, 5}},
		made{700, 4, 1000, 2e7, 1e7, "sqlservr.exe", []uint32{5, 1, 2, 3, 7, 4, 5}}, // one running; ready, standby, deferred
		made{900, 700, 2000, 1, 1, "sqlagent.EXE", []uint32{1}},
		made{901, 700, 500, 0, 0, "an orphan", nil}, // older than who has its parent's number now
	)
	got, err := parseProcesses(b, address)
	want := []Process{
		{Stat{PID: 4, Name: "System", State: 'R', CPU: 1100}, 2, 0, 0},
		{Stat{PID: 700, Parent: 4, Name: "sqlservr", State: 'R', CPU: 3 * time.Second, Started: 1000}, 7, 1, 3},
		{Stat{PID: 900, Parent: 700, Name: "sqlagent", State: 'R', CPU: 200, Started: 2000}, 1, 0, 1},
		{Stat{PID: 901, Name: "an orphan", State: 'R', Started: 500}, 0, 0, 0},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for n := range len(b) { // none reads beyond the end
		if _, err := parseProcesses(b[:n], address); err != nil && !errors.Is(err, errCut) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := parseProcesses(b[:len(b)-len("an orphan")*2-1], address); !errors.Is(err, errCut) {
		t.Errorf("a list without its end: %v", err)
	}
}

func TestBusyTime(t *testing.T) {
	b := make([]byte, 2*48)
	for cpu, times := range [][3]uint64{{70e7, 80e7, 5e7}, {10e7, 10e7, 0}} { // idle, kernel with it, user
		for i, v := range times {
			binary.LittleEndian.PutUint64(b[48*cpu+8*i:], v)
		}
	}
	testkit.Is(t, 15*time.Second, busyTime(b), "busy for", "expected 15 s")
}
