package setting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// What cannot be together is refused before anything is written, also against what is in force.
func TestContradictions(t *testing.T) {
	topology := func(b *bench) {
		for cpu, list := range map[string]string{"cpu0": "0-1", "cpu1": "0-1", "cpu2": "2,3", "cpu3": "2,3"} {
			b.m.files[k+"/"+cpu+"/topology/thread_siblings_list"] = list
		}
	}
	capped := func(b *bench) { b.m.files[policyDir(2)+"scaling_max_freq"] = "1600000" }
	off := func(b *bench) { topology(b); b.m.files[k+"/smt/control"] = "off" }
	online := func(b *bench) { off(b); b.m.files[k+"/cpu0/online"] = "0" }
	for _, c := range []struct {
		before func(*bench)
		want   []string
		err    string // "" none
	}{
		{nil, []string{"max_freq=1.2GHz", "min_freq=2.4GHz"},
			"min_freq of policy0 cannot be 2.4 GHz: max_freq is to be 1.2 GHz, which is below it"},
		{nil, []string{"min_freq=2GHz", "max_freq=2.4GHz", "max_freq@policy1=1.6GHz"},
			"min_freq of policy1 cannot be 2 GHz: max_freq is to be 1.6 GHz, which is below it"},
		{nil, []string{"min_freq=1.2GHz", "max_freq=0.8GHz"},
			"min_freq of policy0 cannot be 1.2 GHz: max_freq is to be 800 MHz, which is below it"},
		{capped, []string{"min_freq=2GHz"}, "min_freq of policy2 cannot be 2 GHz: max_freq is 1.6 GHz now; set a max_freq " +
			"of at least as much with it"},
		{capped, []string{"min_freq=2GHz", "max_freq=2GHz"}, ""},
		{capped, []string{"min_freq=1.6GHz"}, ""},
		{nil, []string{"max_freq=0.8GHz"}, ""}, // the minimum gives way
		{topology, []string{"smt=off", "cpu_online@cpu1=on"},
			"smt=off and cpu_online@cpu1=on exclude each other: cpu1 is a sibling of cpu0, which smt=off takes offline; set " +
				"one of them"},
		{topology, []string{"cpu_online=on", "smt=off"}, "smt=off and cpu_online@cpu1=on exclude each other"},
		{topology, []string{"smt=off", "cpu_online@cpu2=on"}, ""},
		{topology, []string{"smt=off", "cpu_online@cpu3=off"}, ""},
		{topology, []string{"cpu_online@cpu3=on"}, ""},
		{off, []string{"cpu_online@cpu3=on"}, "cpu_online of cpu3 cannot be on: it is a sibling of cpu2, and SMT is off; " +
			"set smt=on with it"},
		{off, []string{"smt=on", "cpu_online@cpu3=on"}, ""},
		{online, []string{"cpu_online@cpu0=on"}, ""},
		{nil, []string{"smt=off", "cpu_online@cpu1=on"}, ""}, // who its siblings are is not known: the kernel says no
	} {
		b := newBench(t)
		if c.before != nil {
			c.before(b)
		}
		var want []Assignment
		for _, text := range c.want {
			left, value, _ := strings.Cut(text, "=")
			name, object, _ := strings.Cut(left, "@")
			want = append(want, Assignment{name, object, value})
		}
		_, err := NewPlan(b.sys, want)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%v: %v, want %q", c.want, err, c.err)
		}
	}
}

// An object that is none is answered by what there is, and by no other one of another number.
func TestNoSuchObject(t *testing.T) {
	b := newBench(t)
	delete(b.m.files, k+"/cpu0/online")
	b.m.files[k+"/cpu0/topology/core_id"] = "0"
	for _, c := range []struct{ want, err string }{
		{"cpu_online@cpu0=off", "cpu_online@cpu0: cpu0 cannot be changed here; the kernel has no " +
			"/sys/devices/system/cpu/cpu0/online"},
		{"cpu_online@cpu9=off", "cpu_online@cpu9: there is no such object; it has cpu1 ... cpu3"},
		{"cpu_online@cpi1=off", "cpu_online@cpi1: there is no such object; did you mean cpu1?"},
		{"governor@policy7=performance", "governor@policy7: there is no such object; it has policy0 ... policy2"},
	} {
		left, value, _ := strings.Cut(c.want, "=")
		name, object, _ := strings.Cut(left, "@")
		if _, err := NewPlan(b.sys, []Assignment{{name, object, value}}); err == nil || err.Error() != c.err {
			t.Errorf("%s: %v, want %q", c.want, err, c.err)
		}
	}
}

// TestPlanIsLinear: advice names each disk, and a host may have thousands. Twice as many
// take twice as many looks.
func TestPlanIsLinear(t *testing.T) {
	looks := func(disks int) int {
		b := newBench(t)
		var want []Assignment
		for i := range disks {
			name := fmt.Sprintf("sd%d", i)
			b.m.files["/sys/block/"+name+"/queue/scheduler"] = "none [mq-deadline]"
			b.m.files["/sys/block/"+name+"/queue/nr_requests"] = "256"
			want = append(want, Assignment{"io_scheduler", name, map[bool]string{false: "none", true: "mq-deadline"}[i%2 == 0]})
		}
		b.m.calls = 0
		p, err := NewPlan(b.sys, want)
		if err != nil || len(p.Steps)+len(p.Same) != disks {
			t.Fatalf("%v, %d steps and %d already so, of %d", err, len(p.Steps), len(p.Same), disks)
		}
		return b.m.calls
	}
	few, many := looks(100), looks(200)
	t.Logf("100 disks: %d calls; 200: %d", few, many)
	if many > 5*few/2 {
		t.Errorf("200 disks take %d calls, 100 take %d", many, few)
	}
}

// What a plan changes beside what was asked for is in it as far as it is known; what has moved is told
// until it is put back, or another program has changed it.
func TestBeside(t *testing.T) {
	b := newBench(t)
	p := b.plan("dirty_bytes=600MiB", "thp=always", "governor=powersave", "swappiness=10")
	ratio := Object{Path: "/proc/sys/vm/dirty_ratio"}
	if diff := cmp.Diff([]Step{{Setting: "dirty_ratio", Object: ratio, From: "20", To: "0", Note: "with dirty_bytes"}},
		p.Sides); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"min_free_kbytes"}, p.Moves); diff != "" { // the governor is powersave already
		t.Error(diff)
	}
	if p := b.plan("max_freq=2GHz", "min_freq=1.6GHz"); p.Sides != nil || p.Moves != nil {
		t.Errorf("what is asked for is not beside it: %+v", p)
	}
	moved := func() (list []string) {
		out := testkit.Must(verify(b.sys))(t)
		for _, o := range out {
			if o.Result == Moved {
				list = append(list, o.Setting+" "+o.From+" "+o.Read+" "+string(o.Result)+" "+o.Reason)
			}
		}
		return list
	}
	b.must("set", "dirty_bytes=600MiB", "thp=always", "swappiness=10")
	both := []string{"min_free_kbytes 5000 67584 moved with thp", "dirty_ratio 20 0 moved with dirty_bytes"}
	testkit.Same(t, both, moved())
	b.m.files[minFree] = "9000"
	testkit.Same(t, both[1:], moved())
	b.m.files[minFree] = "67584"
	b.revert("", ReachOurs)
	testkit.Same(t, []string(nil), moved())
}

// Limits of which the kernel keeps the one that is written last are not set together.
func TestExclusive(t *testing.T) {
	b := newBench(t)
	for _, pair := range [][2]string{{"dirty_bytes", "dirty_ratio"},
		{"dirty_background_bytes", "dirty_background_ratio"}} {
		for i := range 2 {
			_, err := NewPlan(b.sys, []Assignment{{pair[i], "", "10000"}, {pair[1-i], "", "10"}})
			if err == nil || !strings.Contains(err.Error(), "exclude each other") || !strings.Contains(err.Error(), pair[0]) ||
				!strings.Contains(err.Error(), pair[1]) {
				t.Errorf("%s and %s: %v", pair[i], pair[1-i], err)
			}
		}
	}
	if _, err := NewPlan(b.sys, []Assignment{{"dirty_bytes", "", "10000"},
		{"dirty_background_ratio", "", "5"}}); err != nil {
		t.Error(err)
	}
}

// Under the governor performance a driver offers one EPP; with another governor in the same plan, all.
func TestPlanWithAGovernorThatFreesEPP(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		b.m.files[policyDir(i)+"scaling_governor"] = "performance"
		b.m.files[policyDir(i)+"energy_performance_preference"] = "performance"
		b.m.files[policyDir(i)+"energy_performance_available_preferences"] = "performance"
	}
	if _, err := NewPlan(b.sys, []Assignment{{"epp", "", "power"}}); err == nil {
		t.Error("epp=power was planned under the governor performance")
	}
	before := b.m.values()
	b.must("set", "epp=power", "governor=powersave")
	b.value(policyDir(0)+"energy_performance_preference", "power")
	b.revert("", ReachOurs)
	testkit.Same(t, before, b.m.values())
}

// work is what a process does: it sets, an experiment sets other objects and puts back, it sets again, and
// at the end all is put back.
func work(sys *System) error {
	j, err := OpenJournal(sys, "/j")
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			panic(r) // the kernel unlocks
		}
		_ = j.Close()
	}()
	ctx := context.Background()
	set := func(owner string, want ...string) error {
		var list []Assignment
		for _, w := range want {
			name, v, _ := strings.Cut(w, "=")
			name, object, _ := strings.Cut(name, "@")
			list = append(list, Assignment{name, object, v})
		}
		p, err := NewPlan(sys, list)
		if err != nil {
			return err
		}
		_, err = Apply(ctx, sys, j, owner, p, false)
		return err
	}
	revert := func(owner string) error {
		out, err := Revert(ctx, sys, j, owner, ReachOurs)
		for _, o := range out {
			if o.Result == Failed || o.Result == Gone {
				err = errors.Join(err, fmt.Errorf("%s: %s: %s", o.Path, o.Result, o.Reason))
			}
		}
		return err
	}
	for _, f := range []func() error{
		func() error {
			return set("set", "governor=performance", "min_freq=1600000", "max_freq=2000000", "thp=never",
				"dirty_bytes=629145600", "platform_profile=performance")
		},
		func() error { return set("/exp", "io_scheduler=none", "swappiness=10", "smt=off") },
		func() error {
			return set("set", "governor=ondemand", "epp=balance_power", "max_freq=800000", "dirty_ratio=40")
		},
		func() error { return set("/exp", "io_scheduler=mq-deadline", "swappiness=1") },
		func() error { return revert("/exp") },
		func() error { return set("/exp", "swappiness=20") },
		func() error { return set("set", "governor@policy0=performance") },
		func() error { return revert("/exp") },
		func() error { return revert("set") },
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// putBack puts back what a process has left.
func putBack(sys *System) error {
	j, err := OpenJournal(sys, "/j")
	if err != nil {
		return err
	}
	if p := j.Problem(); p != nil {
		return p
	}
	out, err := Revert(context.Background(), sys, j, "", ReachOurs)
	for _, o := range out {
		if o.Result == Failed || o.Result == Gone {
			err = errors.Join(err, fmt.Errorf("%s: %s: %s", o.Path, o.Result, o.Reason))
		}
	}
	return errors.Join(err, j.Close())
}

// process runs f until it ends or is killed.
func (m *machine) process(at fate, f func(*System) error) (died bool, err error) {
	sys := m.system()
	m.fate = at
	defer func() {
		m.fate = fate{}
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			died = true
		}
	}()
	return false, f(sys)
}

func TestWorkPutsBack(t *testing.T) {
	m := newMachine(1)
	was := m.values()
	testkit.Must(m.process(fate{}, work))(t)
	testkit.Same(t, was, m.values())
	if len(m.writes) < 30 {
		t.Errorf("only %d writes: %q", len(m.writes), m.writes)
	}
	testkit.Is(t, 0, len(m.disk), "the journal is still there", m.disk)
	t.Logf("%d calls, %d writes", m.calls, len(m.writes))
}

// A plan of what root could write has what this user may not write, and marks it.
func TestPlanOfAnotherUser(t *testing.T) {
	b := newBench(t)
	b.sys.FS = barred{b.sys.FS}
	if p := b.plan("swappiness=10"); len(p.Steps) > 0 || len(p.Skipped) != 1 {
		t.Errorf("a user who may not write it would set it: %+v", p)
	}
	b.sys.Planning = true
	if p := b.plan("swappiness=10"); len(p.Steps) != 1 || p.Barred() != 1 || p.Skipped != nil {
		t.Errorf("%+v", p)
	}
}

// barred are files that this user may read alone.
type barred struct{ FS }

func (barred) Writable(string) error { return syscall.EACCES }
