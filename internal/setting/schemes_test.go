package setting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

const (
	balanced = "381b4222-f694-41f0-9685-ff5bb260df2e"
	high     = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"
)

// powerStore is what Windows keeps of power schemes, which a power cut does not change. Each call may be a process's
// last.
type powerStore struct {
	m        *machine
	inForce  string            // the GUID
	acts     string            // the scheme whose values act: what is written to it acts when it is activated again
	names    map[string]string // by scheme
	explicit map[string]string // by "scheme source setting"; others have a default
	policy   bool
	clamp    uint32 // 0: none
}

func newPowerStore(m *machine) *powerStore {
	return &powerStore{m: m, inForce: balanced, acts: balanced,
		names:    map[string]string{balanced: "Balanced", high: "Höchstleistung"},
		explicit: map[string]string{balanced + " dc " + powerGUIDs["PERFEPP"]: "70"}}
}

func (r *powerStore) state() map[string]string {
	all := maps.Clone(r.explicit)
	maps.Copy(all, r.names)
	all["in force"], all["acts"] = r.inForce, r.acts
	return all
}

func (r *powerStore) call(op string, do func() error) error {
	err := r.m.call(op, "power", do, nil)
	if failed, ok := errors.AsType[syscall.Errno](err); ok {
		return failed
	}
	return err
}

func (r *powerStore) active() (guid string, err error) {
	err = r.call("active", func() error { guid = r.inForce; return nil })
	return guid, err
}

func (r *powerStore) has(scheme string) error {
	if _, ok := r.names[scheme]; !ok {
		return codeMissing
	}
	return nil
}

func (r *powerStore) activate(scheme string) error {
	return r.call("activate", func() error {
		if err := r.has(scheme); err != nil {
			return err
		}
		r.inForce, r.acts = scheme, scheme
		return nil
	})
}

func (r *powerStore) schemes() (list []string, err error) {
	err = r.call("schemes", func() error { list = slices.Sorted(maps.Keys(r.names)); return nil })
	return list, err
}

func (r *powerStore) name(scheme string) (name string, err error) {
	err = r.call("name", func() error { name = r.names[scheme]; return r.has(scheme) })
	return name, err
}

func (r *powerStore) rename(scheme, name string) error {
	return r.call("rename", func() error { r.names[scheme] = name; return nil })
}

func (r *powerStore) duplicate(from, to string) error {
	return r.call("duplicate", func() error {
		if r.has(to) == nil {
			return syscall.Errno(183)
		}
		r.names[to] = r.names[from]
		for key, v := range r.explicit {
			if rest, ok := strings.CutPrefix(key, from); ok {
				r.explicit[to+rest] = v
			}
		}
		return r.has(from)
	})
}

func (r *powerStore) remove(scheme string) error {
	return r.call("remove", func() error {
		if r.inForce == scheme {
			return codeDenied
		}
		if err := r.has(scheme); err != nil {
			return err
		}
		delete(r.names, scheme)
		maps.DeleteFunc(r.explicit, func(key, _ string) bool { return strings.HasPrefix(key, scheme) })
		return nil
	})
}

func (r *powerStore) read(scheme, setting, source string) (n uint32, err error) {
	err = r.call("read", func() error {
		n = 50
		if v := r.explicit[scheme+" "+source+" "+setting]; v != "" {
			_, err := fmt.Sscan(v, &n)
			return err
		}
		return r.has(scheme)
	})
	return n, err
}

func (r *powerStore) write(scheme, setting, source string, value uint32) error {
	return r.call("write", func() error {
		if r.clamp > 0 {
			value = min(value, r.clamp)
		}
		r.explicit[scheme+" "+source+" "+setting] = fmt.Sprint(value)
		if r.inForce == scheme {
			r.acts = "stale"
		}
		return r.has(scheme)
	})
}

func (r *powerStore) allowed(string, string) error {
	return r.call("allowed", func() error {
		if r.policy {
			return codePolicy
		}
		return nil
	})
}

// process is one of hostlab on Windows.
func (r *powerStore) process(at fate, f func(*System) error) (died bool, _ error) {
	return r.m.process(at, func(sys *System) error {
		sys.FS, sys.settings = powerSchemes{r}, func() []Setting { return windowsSettings }
		sys.Boot = func() string { return "" }
		return f(sys)
	})
}

func powerSet(want ...Assignment) func(*System) error {
	return func(sys *System) error {
		j, err := OpenJournal(sys, "/j")
		if err != nil {
			return err
		}
		p, err := NewPlan(sys, want)
		if err != nil {
			return errors.Join(err, j.Close())
		}
		if len(p.Skipped) > 0 {
			return errors.Join(errors.New(p.Skipped[0].Reason), j.Close())
		}
		_, err = Apply(context.Background(), sys, j, "set", p, false)
		return errors.Join(err, j.Close())
	}
}

// powerWork sets values, an experiment sets others over them, and all is put back.
func powerWork(sys *System) error {
	for _, f := range []func(*System) error{powerSet(Assignment{"PERFEPP", "", "0"},
		Assignment{"PROCTHROTTLEMIN", "ac", "100%"}),
		powerSet(Assignment{"PERFEPP", "", "100"}), powerSet(Assignment{"power_scheme", "", "SCHEME_MIN"}), putBack} {
		if err := f(sys); err != nil {
			return err
		}
	}
	return nil
}

// Every call of a process on Windows is its last, before and after it took effect, by a kill and by a power cut. The
// next one puts back all: no scheme and no explicit value is left, and what is in force acts.
func TestPowerKillAtEveryCall(t *testing.T) {
	t.Parallel()
	r := newPowerStore(newMachine(1))
	testkit.Must(r.process(fate{}, powerWork))(t)
	if diff := cmp.Diff(newPowerStore(nil).state(), r.state()); diff != "" {
		t.Fatalf("without a kill:\n%s", diff)
	}
	calls, kills := r.m.calls, 0
	for call := 1; call <= calls; call++ {
		for variant := range 4 {
			at := fate{call: call, after: variant&1 != 0, cut: variant&2 != 0}
			r := newPowerStore(newMachine(uint64(4*call + variant)))
			was := r.state()
			if died, err := r.process(at, powerWork); !died {
				t.Fatalf("%+v: it lived: %v", at, err)
			}
			kills++
			if died, err := r.process(fate{call: 1 + r.m.rand.IntN(150), after: variant&1 != 0}, putBack); died {
				kills++
			} else if err != nil {
				t.Fatalf("%+v: %v", at, err)
			}
			if _, err := r.process(fate{}, putBack); err != nil {
				t.Fatalf("%+v: %v", at, err)
			}
			if diff := cmp.Diff(was, r.state()); diff != "" {
				t.Fatalf("%+v: left changed:\n%s", at, diff)
			}
		}
	}
	t.Logf("%d kills at %d calls: all as before", kills, calls)
}

// What a plan takes, and what it refuses before anything is written.
func TestPowerPlans(t *testing.T) {
	for _, c := range []struct {
		want  []Assignment
		steps string
		err   string
	}{
		{[]Assignment{{"PERFEPP", "", "50"}}, "power_scheme_copy 0>1, power_scheme " + balanced + ">" + hostlabScheme +
			", PERFEPP 70>50", ""},
		{[]Assignment{{"PERFEPP", "ac", "50"}}, "", ""},
		{[]Assignment{{"power_scheme", "", "High performance"}}, "power_scheme " + balanced + ">" + high, ""},
		{[]Assignment{{"power_scheme", "", "höchstleistung"}}, "power_scheme " + balanced + ">" + high, ""},
		{[]Assignment{{"power_scheme", "", "SCHEME_MAX"}}, "", "no such scheme; it has Balanced, Höchstleistung"},
		{[]Assignment{{"power_scheme", "", "SCHEME_MIN"}, {"PERFEPP", "", "1"}}, "", "cannot be set at once"},
		{[]Assignment{{"PERFBOOSTMODE", "dc", "aggressive"}},
			"power_scheme_copy 0>1, power_scheme " + balanced + ">" + hostlabScheme +
				", PERFBOOSTMODE 50>2", ""},
		{[]Assignment{{"PERFEPP", "", "101"}}, "", "expected a whole number from 0 to 100"},
		{[]Assignment{{"governor", "", "performance"}}, "", "governor is a setting of Linux"},
	} {
		r := newPowerStore(newMachine(1))
		_, err := r.process(fate{}, func(sys *System) error {
			p, err := NewPlan(sys, c.want)
			if err != nil {
				return err
			}
			var steps []string
			for _, s := range p.Steps {
				steps = append(steps, s.Setting+" "+s.From+">"+s.To)
			}
			testkit.Is(t, c.steps, strings.Join(steps, ", "), c.want)
			return nil
		})
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v: %v, want %q", c.want, err, c.err)
		}
	}
	r := newPowerStore(newMachine(1))
	r.policy = true
	was := r.state()
	_, err := r.process(fate{}, powerSet(Assignment{"PERFEPP", "", "0"}))
	if err == nil || !strings.Contains(err.Error(), "group policy") || cmp.Diff(was, r.state()) != "" ||
		len(r.m.disk[`/j/`+journalFile].bytes()) > 0 {
		t.Errorf("under a policy: %v, %v", err, cmp.Diff(was, r.state()))
	}
	for fixed, want := range map[bool]string{true: fixedByPolicy, false: ""} {
		r.policy = fixed
		_, err := r.process(fate{}, func(sys *System) error {
			epp, err := Named("PERFEPP")
			if err != nil {
				return err
			}
			states, err := epp.Read(sys)
			if len(states) != 2 || states[0].Fixed != want || states[1].Fixed != want {
				t.Errorf("read under a policy %t: %+v", fixed, states)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// bytes is what a file holds; nil where there is none.
func (f *inode) bytes() []byte {
	if f == nil {
		return nil
	}
	return f.data
}

// A scheme that somebody else activates is left as it is, and nothing is written to it.
func TestPowerForeignScheme(t *testing.T) {
	r := newPowerStore(newMachine(1))
	testkit.Must(r.process(fate{}, powerSet(Assignment{"PERFEPP", "", "0"})))(t)
	r.inForce, r.acts = high, high
	was := r.state()
	if _, err := r.process(fate{}, powerSet(Assignment{"PERFEPP", "", "1"})); err == nil ||
		!strings.Contains(err.Error(), "revert' as the user who set it") {
		t.Errorf("with an old copy: %v", err)
	}
	testkit.Must(r.process(fate{}, putBack))(t)
	maps.DeleteFunc(was, func(key, _ string) bool { return strings.HasPrefix(key, hostlabScheme) })
	testkit.Same(t, was, r.state(), "the copy is to go, and nothing else")
}
