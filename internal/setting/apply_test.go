package setting

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// bench is a machine with its journal open.
type bench struct {
	*testing.T
	m   *machine
	sys *System
	j   *Journal
}

func newBench(t *testing.T) *bench {
	t.Helper()
	m := newMachine(1)
	b := &bench{T: t, m: m}
	b.open()
	return b
}

func (b *bench) open() {
	b.Helper()
	b.sys = b.m.system()
	j := testkit.Must(OpenJournal(b.sys, "/j"))(b)
	b.j = j
}

func (b *bench) plan(want ...string) *Plan {
	b.Helper()
	var list []Assignment
	for _, w := range want {
		name, v, _ := strings.Cut(w, "=")
		name, object, _ := strings.Cut(name, "@")
		list = append(list, Assignment{name, object, v})
	}
	return testkit.Must(NewPlan(b.sys, list))(b)
}

func (b *bench) apply(owner string, keep bool, want ...string) ([]Outcome, error) {
	b.Helper()
	return Apply(context.Background(), b.sys, b.j, owner, b.plan(want...), keep)
}

func (b *bench) must(owner string, want ...string) {
	b.Helper()
	testkit.Must(b.apply(owner, false, want...))(b)
}

// revert returns what became of the objects that were set, by setting.
func (b *bench) revert(owner string, reach Reach) map[string]Result {
	b.Helper()
	out := testkit.Must(Revert(context.Background(), b.sys, b.j, owner, reach))(b)
	got := map[string]Result{}
	for _, o := range out {
		name := o.Setting
		if o.Name != "" {
			name += "@" + o.Name
		}
		got[name] = o.Result
	}
	return got
}

func (b *bench) value(path, want string) {
	b.Helper()
	if v := Value([]byte(b.m.files[path])); v != want {
		b.Errorf("%s is %s, want %s", path, v, want)
	}
}

const swappinessFile, thpFile = "/proc/sys/vm/swappiness", "/sys/kernel/mm/transparent_hugepage/enabled"

func TestRounded(t *testing.T) {
	b := newBench(t)
	p := &Plan{Steps: []Step{{Setting: "max_freq", Object: Object{"policy0", policyDir(0) + "scaling_max_freq"},
		To: "1500000"}}}
	out, err := Apply(context.Background(), b.sys, b.j, "set", p, false)
	if err != nil || len(out) != 1 || out[0].Result != Rounded || out[0].Read != "1200000" ||
		!strings.Contains(out[0].Reason, "1200000") {
		t.Fatalf("%+v, %v", out, err)
	}
	v, err := verify(b.sys)
	if err != nil || len(v) != 1 || v[0].Result != Rounded {
		t.Errorf("verify: %+v, %v", v, err)
	}
	b.revert("", ReachOurs)
	b.value(policyDir(0)+"scaling_max_freq", "2400000")
}

// A failure in the middle puts back what the plan has done, and no more.
func TestFailureInTheMiddle(t *testing.T) {
	for _, keep := range []bool{false, true} {
		b := newBench(t)
		b.must("set", "swappiness=10")
		p := b.plan("thp=never", "swappiness=1", "io_scheduler=none")
		for i, s := range p.Steps {
			if s.Setting == "io_scheduler" {
				p.Steps[i].To = "bfq" // the kernel does not know it
			}
		}
		out, err := Apply(context.Background(), b.sys, b.j, "set", p, keep)
		r, ok := errors.AsType[*Refused](err)
		if !ok || !errors.Is(err, syscall.EINVAL) || r.Setting != "io_scheduler" || r.Object.Name != "sda" {
			t.Fatalf("%v", err)
		}
		if last := out[len(out)-1]; last.Result != Failed ||
			!strings.Contains(last.Reason, "/sys/block/sda/queue/scheduler") {
			t.Errorf("%+v", last)
		}
		if keep {
			b.value(thpFile, "never")
			b.value(swappinessFile, "1")
		} else {
			b.value(thpFile, "madvise")
			b.value(swappinessFile, "10")
		}
		b.revert("", ReachOurs)
		b.value(thpFile, "madvise")
		b.value(swappinessFile, "60")
	}
}

func TestInterrupted(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	p := b.plan("thp=never", "swappiness=1")
	b.m.before = func(op, path string) {
		if op == "write" {
			cancel()
		}
	}
	_, err := Apply(ctx, b.sys, b.j, "set", p, false)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.value(thpFile, "madvise")
	testkit.Is(t, 0, len(b.j.Entries()), "entries")
}

func TestForeignAndForce(t *testing.T) {
	b := newBench(t)
	b.must("set", "swappiness=10", "thp=never")
	b.m.files[swappinessFile] = "77"
	v, err := verify(b.sys)
	got := map[string]Result{}
	for _, o := range v {
		got[o.Setting] = o.Result
	}
	if diff := cmp.Diff(map[string]Result{"swappiness": Foreign, "thp": Unchanged}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	testkit.Is(t, "", cmp.Diff(map[string]Result{"swappiness": Foreign, "thp": Restored, "min_free_kbytes": Restored},
		b.revert("", ReachOurs)))
	b.value(swappinessFile, "77")
	testkit.Same(t, map[string]Result{"swappiness": Restored}, b.revert("", ReachAll))
	b.value(swappinessFile, "60")
}

// A CPU that goes offline with an open journal keeps its entries, for when it is back.
func TestGone(t *testing.T) {
	b := newBench(t)
	b.must("set", "governor=performance")
	b.m.files[k+"/cpu2/online"] = "0"
	if got := b.revert("", ReachOurs); got["governor@policy2"] != Gone || got["governor@policy0"] != Restored {
		t.Errorf("%v", got)
	}
	b.m.files[k+"/cpu2/online"] = "1"
	testkit.Is(t, Restored, b.revert("", ReachOurs)["governor@policy2"])
	b.value(policyDir(2)+"scaling_governor", "powersave")
	b.value(policyDir(2)+"energy_performance_preference", "balance_performance")
}

func TestReboot(t *testing.T) {
	b := newBench(t)
	b.must("set", "swappiness=10", "thp=never", "platform_profile=performance")
	b.m.kernel, b.m.boot = b.m.reboot(), 2
	b.m.files[thpFile] = "always madvise [never]" // another tool sets it at start
	b.m.locked = false
	b.open()
	b.m.writes = nil
	got := b.revert("", ReachOurs)
	for name, want := range map[string]Result{"swappiness": Forgotten, "thp": Forgotten, "platform_profile": Restored} {
		testkit.Is(t, want, got[name], name)
	}
	b.value(swappinessFile, "33")
	b.value(thpFile, "never")
	b.value("/sys/firmware/acpi/platform_profile", "balanced")
	b.value(policyDir(0)+"energy_performance_preference", "power")
	if left := b.j.Entries(); len(left) > 0 || b.m.disk["/j/"+journalFile] != nil {
		t.Errorf("left in the journal: %+v", left)
	}
}

// A preview says of each object what a revert then does, and writes nothing.
func TestPreview(t *testing.T) {
	reboot := func(b *bench) {
		b.m.kernel, b.m.boot = b.m.reboot(), 2
		b.m.files[thpFile] = "always madvise [never]"
	}
	foreign := func(b *bench) { b.m.files[swappinessFile] = "77" }
	for name, c := range map[string]struct {
		meanwhile func(*bench)
		owner     string
		reach     Reach
		want      map[string]Result // some of the objects
	}{
		"as set": {func(*bench) {}, "", ReachOurs,
			map[string]Result{"swappiness": Planned, "thp": Planned, "governor@policy1": Planned}},
		"foreign": {foreign, "", ReachOurs, map[string]Result{"swappiness": Foreign, "thp": Planned}},
		"forced":  {foreign, "", ReachAll, map[string]Result{"swappiness": Planned}},
		"put back by hand": {func(b *bench) { b.m.files[swappinessFile] = "60" }, "", ReachOurs,
			map[string]Result{"swappiness": Unchanged}},
		"offline": {func(b *bench) { b.m.files[k+"/cpu2/online"] = "0" }, "", ReachOurs,
			map[string]Result{"governor@policy2": Gone, "governor@policy1": Planned}},
		"nobody's": {func(*bench) {}, "nobody", ReachOurs, nil},
		"a reboot": {reboot, "", ReachOurs,
			map[string]Result{"swappiness": Forgotten, "thp": Forgotten, "platform_profile": Planned}},
		"a reboot, persisted": {reboot, "", ReachPersisted,
			map[string]Result{"swappiness": Forgotten, "thp": Planned, "platform_profile": Planned}},
		"a reboot, forced":   {reboot, "", ReachAll, map[string]Result{"swappiness": Forgotten, "thp": Planned}},
		"foreign, persisted": {foreign, "", ReachPersisted, map[string]Result{"swappiness": Foreign, "thp": Planned}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.must("set", "swappiness=10", "thp=never", "governor=performance", "platform_profile=performance")
			c.meanwhile(b)
			b.m.locked = false
			b.open()
			b.m.writes = nil
			view := testkit.Must(Look(b.sys, "/j"))(t)
			list := view.Preview(c.owner, c.reach)
			if len(b.m.writes) > 0 {
				t.Fatalf("wrote %q", b.m.writes)
			}
			said := map[string]Result{}
			for _, o := range list {
				said[strings.TrimSuffix(o.Setting+"@"+o.Name, "@")] = o.Result
			}
			for object, want := range c.want {
				testkit.Is(t, want, said[object], object)
			}
			did := b.revert(c.owner, c.reach)
			for object, r := range said {
				if want := map[Result]Result{Planned: Restored, Unchanged: Restored}[r]; did[object] != r && did[object] != want {
					t.Errorf("%s: said to be %s, and is %s", object, r, did[object])
				}
			}
			for object, r := range did {
				if said[object] == "" && r != Unchanged {
					t.Errorf("%s is %s, and was not told", object, r)
				}
			}
		})
	}
}

// Every reason names the file, and what would help.
func TestReasons(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EACCES: "CAP_DAC_OVERRIDE", syscall.EPERM: "CAP_SYS_ADMIN", syscall.EROFS: "mounted read-only",
		syscall.EBUSY: "EBUSY", syscall.EINVAL: "does not take this value",
	} {
		b := newBench(t)
		p := b.plan("swappiness=1")
		b.m.before = func(op, _ string) {
			if op == "write" {
				b.m.fate = fate{call: b.m.calls, err: errno}
			}
		}
		_, err := Apply(context.Background(), b.sys, b.j, "set", p, false)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), swappinessFile) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", errno, err)
		}
	}
	for errno, want := range map[syscall.Errno]string{syscall.EBUSY: "(EBUSY)", syscall.EACCES: "CAP_DAC_OVERRIDE",
		syscall.ENOENT: "/sys/x is not there"} {
		err := unreadable(Object{Path: "/sys/x"}, errno)
		if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, ": "+errno.Error()+":") ||
			strings.HasSuffix(text, ": "+errno.Error()) || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

// A minimum that a lower maximum has kept down returns a moment after that is raised.
func TestLateEffect(t *testing.T) {
	b := newBench(t)
	b.must("set", "min_freq=2000000")
	b.must("set", "max_freq=1200000")
	file := policyDir(0) + "scaling_min_freq"
	late := false
	b.m.before = func(op, path string) {
		if op == "read" && path == file && b.m.files[policyDir(0)+"scaling_max_freq"] == "2400000" && !late {
			b.m.files[file] = "1200000" // as before the maximum was raised, for now
		}
	}
	b.sys.pause = func(time.Duration) {
		if !late {
			late = true
			b.m.files[file] = b.m.minReq[policyDir(0)]
		}
	}
	if got := b.revert("", ReachOurs); got["min_freq@policy0"] != Restored || !late {
		t.Errorf("%v", got)
	}
	b.value(file, "1200000")
}

// A minimum that a lower maximum keeps down reads as it did before it was set, and is the old one
// only when that was written: else it comes back with the maximum.
func TestRequestBehindALimit(t *testing.T) {
	b := newBench(t)
	dir := policyDir(0)
	for _, f := range []string{"scaling_max_freq", "scaling_min_freq"} {
		b.m.files[dir+f] = "1200000"
	}
	before := b.m.values()
	b.must("set", "max_freq@policy0=2GHz", "min_freq@policy0=2GHz")
	b.revert("", ReachOurs)
	testkit.Same(t, before, b.m.values())
}

// What was asked for and is there already is looked at again when another step may move it.
func TestAskedForAndMovedByAnother(t *testing.T) {
	b := newBench(t)
	p := b.plan("min_freq=1.2GHz", "max_freq=2GHz")
	for i, s := range p.Steps { // below the minimum, which no plan is
		if s.Setting == "max_freq" {
			p.Steps[i].To = "800000"
		}
	}
	out := testkit.Must(Apply(context.Background(), b.sys, b.j, "set", p, false))(t)
	got := map[string]Result{}
	for _, o := range out {
		got[o.Setting+"@"+o.Name] = o.Result
	}
	if got["min_freq@policy0"] != Rounded || got["max_freq@policy0"] != Changed {
		t.Errorf("%v", got)
	}
	b.revert("", ReachOurs)
	b.value(policyDir(0)+"scaling_min_freq", "1200000")
}

// Huge pages raise the reserve of memory, and leave it raised where somebody had set one.
func TestHugePagesAndTheReserve(t *testing.T) {
	b := newBench(t)
	b.must("set", "thp=always")
	b.value(minFree, "67584")
	b.revert("", ReachOurs)
	b.value(minFree, "5000")
	b.value(thpFile, "madvise")
}

// A CPU that was offline comes back with an EPP of its own; the governor that locks it is put back all
// the same, and the EPP that it forces is the original.
func TestEPPOfACPUThatWasOffline(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		b.m.files[policyDir(i)+"scaling_governor"], b.m.files[policyDir(i)+"energy_performance_preference"] = "performance",
			"performance"
	}
	before := b.m.values()
	b.must("set", "governor@policy2=powersave")
	b.m.files[policyDir(2)+"energy_performance_preference"] = "balance_power" // as it comes online
	got := b.revert("", ReachOurs)
	if got["governor@policy2"] != Restored || got["epp@policy2"] != Restored {
		t.Errorf("%v", got)
	}
	testkit.Same(t, before, b.m.values())
	testkit.Is(t, 0, len(b.j.Entries()), "left in the journal", b.j.Entries())
}
