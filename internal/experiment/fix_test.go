package experiment

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// A parameter that the command line gives is not varied any more, and what is compared follows.
func TestFix(t *testing.T) {
	s := testkit.Must(Find("log-device", Overrides{Set: map[string]string{"workload.size": "small", "settle": "3s"}}, everything()))(t)
	if len(s.Factors) != 1 || s.Factors[0].Name != "log" || workload.Value(s.Workload.Params, "size") != "small" {
		t.Errorf("factors %+v, size %v", s.Factors, workload.Value(s.Workload.Params, "size"))
	}
	if f := s.Factors[0]; f.Settle != 3*time.Second || f.Unsettled || s.Overrides["settle"] != "3s" {
		t.Errorf("settles %v, %v, %v", f.Settle, f.Unsettled, s.Overrides)
	}
	testkit.Is(t, len(s.Factors[0].Levels)-1, len(s.Contrasts), "contrasts", s.Contrasts)
	const two = `[study]
name = "t"
[[factor]]
name = "a"
parameter = "effect"
levels = [1, 2]
[[factor]]
name = "b"
parameter = "jitter"
levels = [0.1, 0.2]
[workload]
name = "null"
`
	for text, c := range map[string]struct {
		set       map[string]string
		contrasts []string // what is left of them, else the error
	}{
		`[[contrast]]
factor = "a"
at = {b = "0.2"}`: {map[string]string{"workload.jitter": "0.2"}, []string{"a"}},
		`[[contrast]]
factor = "b"`: {map[string]string{"workload.jitter": "0.2"}, []string{"a"}}, // a is all that is left
		`[[contrast]]
interaction = ["a", "b"]`: {map[string]string{"workload.jitter": "0.2"}, []string{"a"}},
		`# both`: {map[string]string{"workload.jitter": "0.2", "workload.effect": "1"}, nil},
	} {
		s, err := Parse("t.toml", t.TempDir(), []byte(two+text), Overrides{Set: c.set}, everything())
		if c.contrasts == nil {
			testkit.Fails(t, err, "nothing is left to vary", text)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, x := range s.Contrasts {
			if got = append(got, x.Factors...); len(x.At) > 0 {
				t.Errorf("%s: at %v", text, x.At)
			}
		}
		if !slices.Equal(got, c.contrasts) {
			t.Errorf("%s: compares %v", text, got)
		}
	}
	for set, want := range map[string]string{"settle=soon": "settle",
		"workload.log_dir=/tmp": "is given here and varied by factor log"} {
		key, value, _ := strings.Cut(set, "=")
		testkit.Refused(Find("log-device", Overrides{Set: map[string]string{key: value}}, everything()))(t, want, set)
	}
}

// Quick periods are short on each study of a live service, and their pairs still show how long it takes to settle.
func TestQuick(t *testing.T) {
	for _, name := range Names() {
		s, err := Find(name, Overrides{Quick: true}, everything())
		plain, perr := Find(name, Overrides{}, everything())
		if perr != nil {
			continue // it wants something to be set
		}
		if plain.Harm == nil {
			testkit.Fails(t, err, "--quick", name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := s.Factors[0]
		if s.Paced(0) != quickPeriod || s.Paced(100) != quickPeriod || s.Harm.Every != quickLook || s.Budget != quickEnd ||
			s.Quick() == "" || plain.Quick() != "" {
			t.Errorf("%s: periods %v, %v, looks %v, budget %v", name, s.Paced(0), s.Paced(100), s.Harm.Every, s.Budget)
		}
		if !plain.Factors[0].Unsettled {
			continue
		}
		if f.Settle != quickPeriod || !f.Unsettled || s.Pilot() == nil {
			t.Errorf("%s: settles %v, a guess %v", name, f.Settle, f.Unsettled)
		}
		if looks := lead + int((f.Settle+s.Paced(0))/s.Harm.Every); looks < 2*lead {
			t.Errorf("%s: %d looks at a change show nothing of how the service settles", name, looks)
		}
	}
	s, err := Find("live-thp", Overrides{Quick: true, Set: map[string]string{"workload.for": "7s"}}, everything())
	if err != nil || workload.Value(s.Workload.Params, "for") != workload.Seconds(7) {
		t.Errorf("what is set stands: %v, %v", err, s)
	}
}
