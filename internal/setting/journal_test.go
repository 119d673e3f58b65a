package setting

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/lockfile"
	"hostlab/internal/testkit"
)

// leave sets swappiness and thp on a machine, or what is wanted, and leaves them so.
func leave(t *testing.T, m *machine, want ...Assignment) []byte {
	t.Helper()
	if want == nil {
		want = []Assignment{{"swappiness", "", "10"}, {"thp", "", "never"}}
	}
	testkit.Must(m.process(fate{}, func(sys *System) error {
		j, err := OpenJournal(sys, "/j")
		if err != nil {
			return err
		}
		p, err := NewPlan(sys, want)
		if err != nil {
			return err
		}
		_, err = Apply(context.Background(), sys, j, "set", p, false)
		return errors.Join(err, j.Close())
	}))(t)
	return m.disk["/j/"+journalFile].data
}

// A journal that is damaged, another machine's or of another version is reported, and
// nothing is written until somebody decides.
func TestProblem(t *testing.T) {
	line := func(b []byte, n int) []byte { return bytes.SplitAfter(b, []byte("\n"))[n] }
	encode := func(n int, e event) []byte {
		return testkit.Must(encodeLine(n, e))(t)
	}
	with := func(h *head) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, line(b, 0), encode(1, h), 1) }
	}
	const none = Kind(-1)
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		want   Kind
		back   bool // after Accept, everything can be put back
	}{
		"a byte in the middle": {func(b []byte) []byte { b[len(line(b, 0))+40] ^= 1; return b }, Damaged, false},
		"a lost line":          {func(b []byte) []byte { return bytes.Replace(b, line(b, 3), nil, 1) }, Damaged, true},
		"a line twice": {func(b []byte) []byte {
			return bytes.Replace(b, line(b, 3), bytes.Repeat(line(b, 3), 2), 1)
		}, Damaged, true},
		"binary":               {func(b []byte) []byte { return append(append(b, 0, 1, 2, '\n'), "x\n"...) }, Damaged, true},
		"a last line too many": {func(b []byte) []byte { return append(b, line(b, 3)...) }, Damaged, true},
		"a last line that says nothing": {func(b []byte) []byte {
			return append(b, encode(bytes.Count(b, []byte("\n"))+1, &nothing{})...)
		}, Damaged, true},
		"a torn last line":        {func(b []byte) []byte { return b[:len(b)-3] }, none, true},
		"zeros at the end":        {func(b []byte) []byte { return append(b, 0, 0, 0, 0) }, none, true},
		"empty":                   {func([]byte) []byte { return nil }, Lost, false},
		"zeros alone":             {func(b []byte) []byte { return make([]byte, len(b)) }, Lost, false},
		"the head alone":          {func(b []byte) []byte { return bytes.Clone(line(b, 0)) }, Lost, false},
		"a piece of the head":     {func(b []byte) []byte { return b[:20] }, Lost, false},
		"cut in the first intent": {func(b []byte) []byte { return b[:len(line(b, 0))+50] }, Lost, false},
		"zeros behind the intent": {func(b []byte) []byte {
			n := len(line(b, 0)) + len(line(b, 1))
			return append(b[:n], make([]byte, len(b)-n)...)
		}, none, true},
		"another machine's": {with(&head{Format: format, Host: "0ther"}), OtherHost, true},
		"another version":   {with(&head{Format: format + 1, Host: "host"}), Damaged, false},
		"a path that is no setting": {func([]byte) []byte {
			const shadow = "/sys/../etc/shadow"
			return slices.Concat(encode(1, &head{Format: format}),
				encode(2, &intend{Set: 1, Boot: "boot1", Objects: []planned{{ID: 1, Path: shadow, From: "x"}}}),
				encode(3, &begin{Set: 1, Path: shadow, To: "y"}))
		}, Damaged, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(1)
			was := m.values()
			data := leave(t, m)
			m.disk["/j/"+journalFile].data = c.damage(bytes.Clone(data))
			sys := m.system()
			m.writes = nil
			j := testkit.Must(OpenJournal(sys, "/j"))(t)
			p := j.Problem()
			if (p == nil) != (c.want == none) || p != nil && (p.Kind != c.want || strings.Contains(p.Error(), "\n")) {
				t.Fatalf("problem %v, want kind %v", p, c.want)
			}
			if p != nil {
				if _, err := Revert(context.Background(), sys, j, "", ReachAll); !errors.As(err, new(*Problem)) {
					t.Errorf("Revert: %v", err)
				}
				if _, err := Apply(context.Background(), sys, j, "set", &Plan{}, false); !errors.As(err, new(*Problem)) {
					t.Errorf("Apply: %v", err)
				}
				if len(m.writes) > 0 {
					t.Errorf("wrote %q", m.writes)
				}
				kept, err := j.Accept()
				if err != nil || m.disk[kept] == nil {
					t.Fatalf("kept as %q: %v", kept, err)
				}
			}
			testkit.Must(Revert(context.Background(), sys, j, "", ReachOurs))(t)
			testkit.Is(t, c.back, cmp.Equal(was, m.values()), "put back")
		})
	}
}

// nothing is an event of no kind.
type nothing struct{}

func (*nothing) apply(*state) error { return nil }

func TestForget(t *testing.T) {
	m := newMachine(1)
	leave(t, m)
	sys := m.system()
	j := testkit.Must(OpenJournal(sys, "/j"))(t)
	if n := len(j.Entries()); n != 3 /* with what thp disturbs */ {
		t.Fatalf("%d entries", n)
	}
	if _, err := j.Forget("exp"); err != nil || len(j.Entries()) != 3 {
		t.Errorf("forgot another's: %v", err)
	}
	if _, err := j.Forget("set"); err != nil || len(j.Entries()) != 0 || m.disk["/j/"+journalFile] != nil {
		t.Errorf("%d entries: %v", len(j.Entries()), err)
	}
	testkit.Is(t, "10", m.files["/proc/sys/vm/swappiness"], "swappiness")
}

// A second hostlab is told who has the journal.
func TestBusy(t *testing.T) {
	sys, dir := treeOf(t, t.TempDir()), t.TempDir()
	j := testkit.Must(OpenJournal(sys, dir))(t)
	_, err := OpenJournal(sys, dir)
	busy, ok := errors.AsType[*lockfile.Busy](err)
	if !ok || busy.PID != os.Getpid() || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	testkit.OK(t, j.Close())
	j = testkit.Must(OpenJournal(sys, dir))(t)
	_ = j.Close()
}

// Without the sync of the intent, a power cut leaves what firmware keeps changed: so the
// test of power cuts can fail.
func TestPowerCutNeedsSync(t *testing.T) {
	whole := newMachine(1)
	testkit.Must(whole.process(fate{}, work))(t)
	for call := 1; call <= whole.calls; call++ {
		m := newMachine(uint64(call))
		_, _ = m.process(fate{call: call, after: true, cut: true}, func(sys *System) error {
			sys.Disk = noSync{sys.Disk}
			return work(sys)
		})
		if _, err := m.process(fate{}, putBack); err != nil && !errors.As(err, new(*Problem)) {
			t.Fatal(err)
		}
		if m.files["/sys/firmware/acpi/platform_profile"] != "balanced" {
			return
		}
	}
	t.Error("nothing was left changed")
}

type noSync struct{ Disk }

func (noSync) Sync(string) error { return nil }

// Millions of empty values are refused before they take memory.
func TestReplayDense(t *testing.T) {
	line := `{"n":2,"kind":"intend","objects":[{}` + strings.Repeat(",{}", 10_000) + `]}`
	if _, _, problem := replay([]byte(line + "\n")); problem == nil || problem.Kind != Lost ||
		!strings.Contains(problem.What, "10002 values") {
		t.Errorf("%v", problem)
	}
}

func FuzzReplay(f *testing.F) {
	m := newMachine(1)
	sys := m.system()
	j := testkit.Must(OpenJournal(sys, "/j"))(f)
	p := testkit.Must(NewPlan(sys, []Assignment{{"governor", "", "performance"}, {"thp", "", "never"}}))(f)
	testkit.Must(Apply(context.Background(), sys, j, "set", p, false))(f)
	f.Add(m.disk["/j/"+journalFile].data)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		st, _, _ := replay(b)
		for _, o := range st.open() {
			if !settable(o.Path) {
				t.Errorf("%q", o.Path)
			}
		}
		_ = (&View{st: st}).Entries()
	})
}

// After a power cut the lines that say what has begun may be lost, and the intents are there: they are
// told as forgotten, and the journal is closed.
func TestIntentAfterAReboot(t *testing.T) {
	m := newMachine(1)
	b := leave(t, m)
	lines := bytes.SplitAfter(b, []byte("\n"))
	m.disk["/j/"+journalFile].data = bytes.Join(lines[:2], nil) // head, intend
	same, err := pending(m.system(), "/j")
	if err != nil || len(same) != 2 {
		t.Errorf("in the same boot: %v, %v", same, err)
	}
	m.kernel, m.boot = m.reboot(), m.boot+1
	was := m.values()
	testkit.Is(t, "", testkit.Must(troubled(m.system()))(t), "after the reboot")
	sys := m.system()
	v, err := verify(sys)
	if err != nil || len(v) != 2 || v[0].Result != Forgotten {
		t.Errorf("verify: %v, %v", v, err)
	}
	j := testkit.Must(OpenJournal(sys, "/j"))(t)
	out, err := Revert(context.Background(), sys, j, "", ReachOurs)
	if err != nil || len(out) != 3 {
		t.Fatalf("%v, %v", out, err)
	}
	for _, o := range out {
		testkit.Is(t, Forgotten, o.Result, o.Setting)
	}
	if diff := cmp.Diff(was, m.values()); diff != "" || m.disk["/j/"+journalFile] != nil {
		t.Error(diff, m.disk)
	}
}

// A journal of intents alone is nobody's change, and is removed.
func TestTidy(t *testing.T) {
	m := newMachine(1)
	lines := bytes.SplitAfter(leave(t, m), []byte("\n"))
	if err := tidy(m.system()); err != nil || m.disk["/j/"+journalFile] == nil {
		t.Errorf("an open journal: %v", err)
	}
	m.disk["/j/"+journalFile].data = bytes.Join(lines[:2], nil)
	if err := tidy(m.system()); err != nil || m.disk["/j/"+journalFile] == nil {
		t.Errorf("what was intended reads so: %v", err)
	}
	m.kernel = newKernel()
	if err := tidy(m.system()); err != nil || m.disk["/j/"+journalFile] != nil {
		t.Errorf("%v, %v", err, m.disk)
	}
	if err := tidy(m.system()); err != nil || m.calls > 1 { // looks for the journal
		t.Errorf("without a journal: %v, %d calls", err, m.calls)
	}
}

// What is only held keeps nobody from changing settings, and ends with its hold alone.
func TestLeave(t *testing.T) {
	b := newBench(t)
	b.m.files[dmaLatency] = "\x46\x00\x00\x00"
	b.must("set", "cpu_dma_latency=70us", "swappiness=10")
	hold := b.j.Leave()
	other := testkit.Must(OpenJournal(b.sys, "/j"))(t)
	testkit.OK(t, b.j.Close()) // it has given up its lock, and must not take another's away
	if _, err := OpenJournal(b.sys, "/j"); !errors.As(err, new(*lockfile.Busy)) {
		t.Fatalf("the lock of the other is gone: %v", err)
	}
	testkit.Must(Revert(context.Background(), b.sys, other, "", ReachOurs))(t)
	b.value(swappinessFile, "60")
	if b.m.held != 1 {
		t.Fatalf("%d requests are held, want 1", b.m.held)
	}
	if err := errors.Join(other.Close(), hold.Close()); err != nil || b.m.held != 0 {
		t.Errorf("%v, %d requests are held", err, b.m.held)
	}
	if list, err := pending(b.sys, "/j"); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// An experiment that sets levels before every run never makes a journal that is too large
// to be read.
func TestJournalStaysSmall(t *testing.T) {
	b := newBench(t)
	largest := 0
	for i := range 40_000 {
		b.must("set", "swappiness="+[]string{"10", "20"}[i%2])
		largest = max(largest, b.j.size)
		if largest > 4<<20 {
			break
		}
	}
	if largest > 6<<20 {
		t.Errorf("the journal grew to %d bytes", largest)
	}
	b.must("set", "swappiness=30")
	if n := len(b.m.disk["/j/"+journalFile].data); largest < 4<<20 || n > 1<<20 {
		t.Errorf("%d bytes after %d", n, largest)
	}
	testkit.Must(Revert(context.Background(), b.sys, b.j, "", ReachOurs))(t)
	b.value(swappinessFile, "60")
}

// What tests ask of a journal, which is that of /j but for the first.

func pending(sys *System, dir string) ([]Entry, error) { //nolint:unparam // tests on Linux have other directories
	v, err := Look(sys, dir)
	if err != nil {
		return nil, err
	}
	return v.Entries(), usable(v)
}

func verify(sys *System) ([]Outcome, error) {
	v, err := Look(sys, "/j")
	if err != nil {
		return nil, err
	}
	return v.Verify(), usable(v)
}

func usable(v *View) error {
	if p := v.Problem(); p != nil {
		return p
	}
	return nil
}

// trouble is what is found wrong with a journal; "": nothing.
func trouble(v *View) string {
	if p := v.Trouble(); p != nil {
		return p.Found()
	}
	return ""
}

func troubled(sys *System) (string, error) {
	v, err := Look(sys, "/j")
	if err != nil {
		return "", err
	}
	return trouble(v), nil
}

func tidy(sys *System) error {
	v, err := Look(sys, "/j")
	if err != nil {
		return err
	}
	return v.Tidy()
}
