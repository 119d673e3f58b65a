package setting

import (
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// What set refuses on any host a profile for other hosts does not take either.
func TestOffline(t *testing.T) {
	for _, c := range []struct{ want, err string }{ // err: how it begins; "" none
		{"dirty_bytes=600MiB dirty_ratio=10", "dirty_bytes and dirty_ratio exclude each other"},
		{"min_freq=3GHz max_freq=2GHz", "min_freq cannot be 3 GHz: max_freq is to be 2 GHz, which is below it"},
		{"max_freq=10% min_freq=50%", "min_freq cannot be 50%: max_freq is to be 10%, which is below it"},
		{"max_freq=min min_freq=max", "min_freq cannot be max"},
		{"max_freq=60% min_freq=max", "min_freq cannot be max"},
		{"max_freq=3GHz max_freq@policy4=2GHz min_freq=2.5GHz", "min_freq of policy4 cannot be 2.5 GHz"},
		{"max_freq=2GHz min_freq@policy4=2.5GHz", "min_freq of policy4 cannot be 2.5 GHz"},
		{"max_freq@policy4=2GHz max_freq=3GHz min_freq=2.5GHz", ""}, // the last word counts
		{"max_freq=2GHz min_freq=2GHz", ""},
		{"max_freq=2GHz min_freq=60%", ""}, // of what is not known
		{"max_freq=60% min_freq=min", ""},
		{"thp=neverr", `thp: "neverr": expected always, madvise, never; did you mean never?`},
		{"thp_defrag=bla", `thp_defrag: "bla": expected`},
		{"governor=bla", `governor: "bla": expected performance`},
		{"governor@policy0=bla", `governor of policy0: "bla"`},
		{"platform_profile=foo", `platform_profile: "foo": expected`},
		{"io_scheduler@sda=nonne", `io_scheduler of sda: "nonne"`},
		{"epp=fast", `epp: "fast": expected`},
		{"swappiness@sda=10", "swappiness@sda: swappiness has one value for the whole machine; leave out @sda"},
		{"smt@cpu1=off", "smt@cpu1: smt has one value"},
		{"swappines=10", "swappines: there is no such setting; did you mean swappiness?"},
		{"swappiness=", "swappiness: no value"},
		{"clocksource=kvm-clock io_scheduler=noop governor=schedutil boost@policy1=off cpu_online@cpu3=off epb@cpu0=0", ""},
	} {
		var want []Assignment
		for _, text := range strings.Fields(c.want) {
			left, value, _ := strings.Cut(text, "=")
			name, object, _ := strings.Cut(left, "@")
			want = append(want, Assignment{name, object, value})
		}
		_, err := Offline(want)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.want, err, c.err)
		}
	}
	got, err := Offline([]Assignment{{"smt", "", "no"}, {"max_freq", "policy1", "2.4GHz"}, {"max_freq", "", "60 %"}})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Same(t, []Assignment{{"smt", "", "off"}, {"max_freq", "policy1", "2400000"}, {"max_freq", "", "60%"}}, got)
}
