package assess

import (
	"os"
	"strings"
	"testing"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// TestOnFiles: who opens files waits for who watches them, and who reads one for the process that serves it.
func TestOnFiles(t *testing.T) {
	all := map[waits.Wait]float64{{Kind: waits.Path, On: "openat"}: 30, {Kind: waits.Read, On: "/m/f"}: 20,
		{Kind: waits.Fault, Blocked: true}: 10}
	b := blocked{tally: &waits.Tally{N: 1, Looks: map[waits.Thread]map[waits.Wait]float64{{PID: 1, TID: 1}: all}},
		systems: map[string]fileSystem{"/m/f": {is: true}}}
	for short, want := range map[bool][2]float64{false: {10, 50}, true: {0, 60}} {
		seconds := map[explain.PartName]float64{}
		for _, p := range b.parts(short) {
			seconds[p.Name] = p.Seconds
		}
		testkit.Same(t, want, [2]float64{seconds[explain.DataReads], seconds[explain.OtherWaits]}, "pages are read again", short)
	}
	testkit.Is(t, "openat", b.onFiles(nil).On)
	all[waits.Wait{Kind: waits.Write, Blocked: true, On: "/var/log/a"}] = 40
	all[waits.Wait{Kind: waits.Write, Blocked: true, On: "/sync/b"}] = 5
	b.systems["/sync/b"] = fileSystem{through: true}
	testkit.Same(t, []any{"/var/log/a", true}, []any{b.onFiles(nil).On, b.onFiles(nil).Stalls})
	testkit.Is(t, 5.0, b.parts(false)[0].Seconds, "writes through a mount are log")

	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.OtherWaits: 80})
	m.Connected, m.Service.Name = false, "web"
	for _, c := range []struct {
		is   Other
		says string
	}{{Other{On: "openat"}, "web waits 50 % of its active time within openat"},
		{Other{On: "openat", PID: 8, Name: "scan"}, "within openat, while scan (PID 8) is asked before a file is opened (fanotify)"},
		{Other{On: "/var/log/a", Stalls: true}, "until the kernel takes what it writes to /var/log/a"},
		{Other{On: "/m/f", PID: 9, Name: "sshfs"}, "for /m/f, whose file system is sshfs (PID 9) (FUSE)"},
		{Other{On: "/m/f"}, "for /m/f, whose file system is a process (FUSE)"}} {
		m.Files = &c.is
		m.Files.Seconds = m.Report.Busy / 2
		if f := m.onFiles(); len(f) != 1 || !strings.HasSuffix(f[0].Text, c.says) || *f[0].Explains != 0.5 || *f[0].AtMost < 0.5 {
			t.Errorf("%+v: %+v", c.is, f)
		}
	}
}

// TestTalks: transactions that wait for clients elsewhere take fewer round trips; those whose clients want a CPU do not.
func TestTalks(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10, explain.Application: 90})
	m.Connected, m.Report.Transactions, m.Local = true, 1000, true
	testkit.Is(t, 0, len(m.talks()), "nobody followed clients of this host")
	for kind, want := range map[chain.Kind]int{chain.Remote: 1, chain.Ready: 0} {
		m.Ends = chain.New(false)
		for range followed {
			m.Ends.Windows = append(m.Ends.Windows, chain.Shares{explain.Application: {{Kind: kind, PID: 7}: 1}})
			m.Ends.Lengths = append(m.Ends.Lengths, 1)
		}
		found := 0
		for _, f := range m.talks() {
			if f.Matters() {
				found++
				testkit.Is(t, true, strings.HasPrefix(f.Text, "transactions wait 90 % of active time for their clients, "), f.Text)
			}
		}
		testkit.Is(t, want, found, kind)
	}
}

// TestEnders: another program that ends most waits for locks is found, and neither a client nor who waits for a CPU.
func TestEnders(t *testing.T) {
	for want, with := range map[bool]chain.End{true: {Kind: chain.Asleep, PID: os.Getpid()}, false: {Kind: chain.Asleep, PID: os.Getpid(), Client: true}} {
		m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.Locks: 80})
		m.Connected, m.Ends = false, chain.New(true)
		for range followed {
			m.Ends.Windows = append(m.Ends.Windows, chain.Shares{explain.Locks: {with: 3, {Kind: chain.Computing, PID: 1}: 1}})
			m.Ends.Lengths = append(m.Ends.Lengths, 4)
		}
		m.Ends.Own[1] = true
		if o := m.enders(); (o != nil) != want || want && (o.PID != os.Getpid() || o.On != "slept" || o.Seconds != 60) {
			t.Errorf("%+v: %+v", with, o)
		}
	}
}
