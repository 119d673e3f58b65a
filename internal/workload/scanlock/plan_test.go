package scanlock

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// made is a host of one socket whose cores have two threads, n/2 apart, and caches of
// the last level that four cores share.
func made(n int) *host.Facts {
	list := func(from, to int) (cpus []int) {
		for i := from; i < to; i++ {
			cpus = append(cpus, i)
		}
		return cpus
	}
	t := &host.Topology{Present: host.Known(list(0, n), "", "made"), Online: host.Known(list(0, n), "", "made")}
	for i := range n {
		t.CPUs = append(t.CPUs, host.CPU{ID: i, Socket: host.Known(0, "", "made"),
			Siblings: host.Known([]int{i % (n / 2), i%(n/2) + n/2}, "", "made")})
	}
	for i := 0; i < n/2; i += 4 {
		end := min(i+4, n/2)
		t.Caches = append(t.Caches, host.Cache{Level: 3, Type: "Unified", CPUs: append(list(i, end),
			list(i+n/2, end+n/2)...)})
	}
	all := list(0, n)
	return &host.Facts{Topology: *t, Limits: host.Limits{Affinity: host.Known(all, "", "made")}}
}

// asked is what the command line asks for by default.
func asked(scan, lock string) Ask {
	return Ask{Scan: scan, Lock: lock, ScanSize: 1 << 20}
}

func TestMake(t *testing.T) {
	for _, c := range []struct {
		scan, lock string
		want       string
	}{
		{"", "", "scan0 lock1=core lock2=sibling lock3=core"}, // the default of 2005
		{"8", "7", "scan3 lock0=core lock1=sibling lock2=core"},
		{"0x4", "", "scan2 lock0=sibling lock1=core lock3=core"},
		{"", "cpu:0", "scan1 lock0=core"},
		{"", "1-3", "scan0 lock1=core lock2=sibling lock3=core"},
		{"none", "3", "lock0 lock1"},
		{"none", "", "lock0 lock1 lock2 lock3"},
		{"0-1", "none", "scan0 scan1"},
		{"0:1", "0:0x8", "scan0 lock3=core"},
	} {
		p, err := Make(asked(c.scan, c.lock), made(4))
		if err != nil {
			t.Errorf("-s %q -l %q: %v", c.scan, c.lock, err)
			continue
		}
		var got []string
		for i, th := range p.Cell.Threads {
			text := fmt.Sprintf("%s%d", th.Role, th.CPU)
			if p.Near[i] != "" {
				text += "=" + string(p.Near[i])
			}
			got = append(got, text)
		}
		testkit.Is(t, "", cmp.Diff(c.want, strings.Join(got, " ")), "-s", c.scan, "-l", c.lock, "-want +got)")
	}
}

func TestMakeSaysWhatIsWrong(t *testing.T) {
	few := made(8)
	few.Topology.Online.Value = []int{0, 1, 2, 4, 5, 6, 7}
	few.Limits.CPUSet = host.Known([]int{0, 1, 2, 4, 5, 6}, "", "made")
	few.Limits.Affinity.Value = []int{0, 1, 4, 5}
	one := made(2)
	one.Limits.Affinity.Value = []int{1}
	small := made(4)
	small.Memory.Total = host.Known[int64](1<<21, "B", "made")
	for _, c := range []struct {
		m          *host.Facts
		scan, lock string
		want       string
	}{
		{m: few, scan: "0", lock: "1", want: "-s 0: mask 0 has no CPU in it"},
		{m: few, scan: "1", lock: "3",
			want: "-s 1 and -l 3 both have CPU 0: 3 threads need as many CPUs; a plain number is a mask"},
		{m: few, scan: "0x3", lock: "0-1", want: "both have CPUs 0-1: 4 threads"},
		{m: few, scan: "256", lock: "1", want: "-s 256: CPU 8 does not exist; this host has CPUs 0-7"},
		{m: few, scan: "1", lock: "1-99", want: "-l 1-99: CPUs 8-99 do not exist"},
		{m: few, scan: "1:3", lock: "1", want: "-s 1:3: CPUs 64-65 do not exist"},
		{m: few, scan: "cpu:3", want: "CPU 3 is offline; online are CPUs 0-2,4-7"},
		{m: few, scan: "cpu:7", want: "CPU 7 lies outside the cpuset of this control group, which has CPUs 0-2,4-6"},
		{m: few, lock: "2,6", want: "this process may not use CPUs 2,6, only CPUs 0-1,4-5"},
		{m: one, want: "only CPU 1 may be used here, and it scans: no CPU is left to take the lock"},
		{m: one, scan: "2", want: "-s 2 takes every CPU that may be used here"},
		{m: one, lock: "2", want: "no CPU is left to scan"},
		{m: made(4), scan: "none", lock: "none", want: "nothing is left"},
		{m: &host.Facts{}, want: "name them with -s and -l"},
		{m: small, scan: "3", want: "--scan-size 1 MiB for 2 scanners takes more than half of the memory, 2 MiB"},
	} {
		a := asked(c.scan, c.lock)
		_, err := Make(a, c.m)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("-s %q -l %q: %v, want an error with %q", c.scan, c.lock, err, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	quota, dark := made(4), made(4)
	quota.Limits.CPUQuota = host.Known(1.5, "", "made")
	dark.Topology = host.Topology{}
	for _, c := range []struct {
		m          *host.Facts
		scan, lock string
		want       []string
	}{
		{made(4), "1", "2", nil},
		{made(4), "1", "6", []string{"the lock thread on CPU 2 shares a core with a scanner"}},
		{made(8), "1", "0x44", []string{"on 1 core two or more lock threads share the core"}},
		{made(8), "0-1", "4-7", []string{"the lock threads on CPUs 4-5 share a core with a scanner"}},
		{quota, "1", "2", []string{"gives 1.5 CPUs to 2 threads"}},
		{dark, "1", "2", []string{"what CPU 1 shares with a scanner is not known"}},
	} {
		p := testkit.Must(Make(asked(c.scan, c.lock), c.m))(t)
		ok := len(p.Warnings) == len(c.want)
		for i := range min(len(p.Warnings), len(c.want)) {
			ok = ok && strings.Contains(p.Warnings[i], c.want[i])
		}
		if !ok {
			t.Errorf("-s %q -l %q: warnings %q, want %q", c.scan, c.lock, p.Warnings, c.want)
		}
	}
}

// Windows numbers CPUs through its processor groups, which may have fewer than 64, and
// tells neither an affinity over all of them nor what is offline.
func TestProcessorGroups(t *testing.T) {
	online := []int{0, 1, 2, 3, 64, 65, 66, 67}
	f := &host.Facts{Topology: host.Topology{Online: host.Known(online, "", "made")}}
	for _, c := range online {
		f.Topology.CPUs = append(f.Topology.CPUs, host.CPU{ID: c, Socket: host.Known(c/64, "", "made"),
			Siblings: host.Known([]int{c &^ 1, c | 1}, "", "made")})
	}
	p := testkit.Must(Make(asked("1:0x2", "0:0xf+1:5"), f))(t)
	var b bytes.Buffer
	s := Snapshot{At: time.Second}
	for _, th := range p.Cell.Threads {
		s.Counts = append(s.Counts, Count{Thread: th})
	}
	testkit.OK(t, Between(p, Snapshot{}, s).Write2005(&b))
	for _, want := range []string{"Affinity = 1:00000002\t", "Affinity = 00000008\t", "Affinity = 1:00000004\t"} {
		testkit.Has(t, b.String(), want)
	}
	if p.Near[1] != cpus.Socket || p.Near[5] != cpus.Sibling {
		t.Errorf("distances %v", p.Near)
	}
	_, err := Make(asked("1:0x10", "1"), f)
	testkit.Fails(t, err, "-s 1:0x10: CPU 68 is not there, or offline; online are CPUs 0-3,64-67")
}

// checkScreen fails for text that an 80-column terminal cannot hold.
func checkScreen(t *testing.T, text string, most int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > most {
		t.Errorf("%d lines, want at most %d:\n%s", len(lines), most, text)
	}
	testkit.Fits(t, text, 80, nil)
}

// The nearest scanner decides, a place that is not known leaves all but a shared core
// open, and a cache that hints at siblings does not make a core of its own.
func TestNear(t *testing.T) {
	topo := &made(16).Topology // cores 0+8 to 7+15, last-level caches of cores 0-3 and 4-7
	hint := &made(16).Topology
	for i := range hint.CPUs {
		hint.CPUs[i].Siblings = host.Fact[[]int]{}
	}
	for core := range 8 {
		hint.Caches = append(hint.Caches, host.Cache{Level: 1, Type: "Data", CPUs: []int{core, core + 8}})
	}
	for _, c := range []struct {
		topo *host.Topology
		scan []int
		cpu  int
		want cpus.Place
	}{
		{topo, []int{0}, 8, cpus.Sibling},
		{topo, []int{0}, 1, cpus.Core},
		{topo, []int{4, 5}, 1, cpus.LLC},
		{topo, []int{4, 2}, 1, cpus.Core},
		{topo, []int{2, 4}, 1, cpus.Core},
		{topo, []int{2, 99}, 1, cpus.Unknown},
		{topo, []int{99, 2}, 1, cpus.Unknown},
		{topo, []int{99, 9}, 1, cpus.Sibling},
		{hint, []int{0}, 8, cpus.Unknown},
		{hint, []int{0}, 5, cpus.LLC},
		{nil, []int{0}, 1, cpus.Unknown},
		{topo, nil, 1, ""},
	} {
		if got := near(cpus.New(c.topo, nil, nil), c.scan, c.cpu); got != c.want {
			t.Errorf("CPU %d beside scanners on %v: %s, want %s", c.cpu, c.scan, got, c.want)
		}
	}
}
