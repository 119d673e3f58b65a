package assess

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/predict"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/trace"
)

// twoCPUs is a host with a governor in force.
func twoCPUs(governor string) *host.Facts {
	f := &host.Facts{}
	f.Topology.Threads, f.Topology.Cores, f.Topology.Sockets = host.Known(2, "", ""), host.Known(2, "", ""),
		host.Known(1, "", "")
	known := func(hz int64) host.Fact[int64] { return host.Known(hz, "Hz", "") }
	f.Frequency.Policies = []host.Policy{{Driver: host.Known("acpi-cpufreq", "", ""),
		Governor:  host.Known(governor, "", ""),
		Governors: host.Known("performance powersave schedutil ondemand", "", ""), Base: known(3e9), HWMax: known(3e9),
		HWMin: known(15e8)}}
	return f
}

// bursty is a record of bursts on two CPUs, each a third of the time busy.
func bursty(busy float64) *trace.Result {
	rng := rand.New(rand.NewPCG(1, 1))
	r := &trace.Result{Target: "it", Started: time.Now(), Seen: 30, Length: 60}
	for cpu := range 2 {
		for at := 0.0; at < 60; {
			b := burstlog.Burst{CPU: cpu, At: at, Busy: busy*rng.ExpFloat64() + 1e-9, Idle: 2*busy*rng.ExpFloat64() + 1e-9,
				Service: 0.5}
			r.Bursts = append(r.Bursts, b)
			at += b.Busy + b.Idle
		}
		r.CPUs = append(r.CPUs, trace.CPU{Number: cpu, Busy: 1.0 / 3, Run: 1.0 / 6})
	}
	return r
}

// TestPolicies: half of the clock takes twice the CPU time; the one in force is named, and full
// speed is compared with itself only where it is in force.
func TestPolicies(t *testing.T) {
	p := predictPolicies(t.Context(), bursty(0.05), nil, twoCPUs("schedutil"))
	by := map[string]Policy{}
	for _, x := range p.Rows {
		by[x.Name] = x
		testkit.Is(t, (x.Name == "schedutil"), x.Today, x.Name, "today's")
	}
	if x := by["powersave"]; x.CPUSeconds == nil || x.CPUSeconds.Value < 1.95 || x.CPUSeconds.Value > 2.05 ||
		x.N != burstlog.Stretches || x.Evidence != result.Simulated {
		t.Errorf("powersave: %+v", x)
	}
	if x := by["ondemand"]; x.CPUSeconds == nil || !(x.CPUSeconds.Value > 1 && x.CPUSeconds.Value < 2) ||
		!x.CPUSeconds.HasInterval() {
		t.Errorf("ondemand: %+v", x)
	}
	if _, there := by["performance"]; there || p.Beyond != nil || !strings.Contains(p.Basis, "50 %") {
		t.Errorf("%+v", p)
	}
	if p := predictPolicies(t.Context(), bursty(0.05), nil, twoCPUs("performance")); !p.Rows[0].Today ||
		p.Rows[0].CPUSeconds.Value != 1 {
		t.Errorf("full speed is in force: %+v", p.Rows[0])
	}
}

// TestPoliciesOfBusyThreads: a thread that never sleeps holds its CPU at full speed under a governor that follows
// the load,
// whatever the short bursts of another CPU cost, and however long the recording is against them.
func TestPoliciesOfBusyThreads(t *testing.T) {
	for name, c := range map[string]struct {
		busy  float64                          // of each CPU beside the thread
		never func(cpu int) (from, to float64) // when a thread that never sleeps runs there
	}{
		"on one CPU beside short bursts":  {100e-6, func(cpu int) (float64, float64) { return float64(60 * cpu), 60 }},
		"on one CPU beside longer bursts": {3e-3, func(cpu int) (float64, float64) { return float64(60 * cpu), 60 }},
		"on both CPUs":                    {100e-6, func(int) (float64, float64) { return 0, 60 }},
		"for half of the time on each": {100e-6, func(cpu int) (float64, float64) {
			return float64(30 * cpu), float64(30 + 30*cpu)
		}},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		r := &trace.Result{Target: "it", Started: time.Now(), Seen: 60, Length: 60,
			CPUs: []trace.CPU{{Number: 0}, {Number: 1}}}
		for cpu := range 2 {
			from, to := c.never(cpu)
			for at := 0.0; at < 60; {
				b := burstlog.Burst{CPU: cpu, At: at, Busy: c.busy*rng.ExpFloat64() + 1e-9, Idle: 50*c.busy*rng.ExpFloat64() + 1e-9}
				if at <= to && at+b.Busy+b.Idle > from {
					b.Busy, b.Idle = to-at, 1e-6
				}
				r.Bursts = append(r.Bursts, b)
				at += b.Busy + b.Idle
				r.CPUs[cpu].Busy += b.Busy / 60
			}
		}
		for _, x := range predictPolicies(t.Context(), r, nil, twoCPUs("schedutil")).Rows {
			follows := x.Name == "schedutil" || x.Name == "ondemand"
			switch {
			case x.CPUSeconds == nil:
				t.Errorf("%s: %s: %s", name, x.Name, x.Reason)
			case follows && x.CPUSeconds.High > 1.1 || x.Name == "powersave" && x.CPUSeconds.Low < 1.9:
				t.Errorf("%s: %s takes %s %s the CPU time", name, x.Name, x.CPUSeconds.Text(), x.CPUSeconds.Interval())
			}
		}
	}
}

// TestPoliciesAreThoseOfPredict: a record that 'hostlab predict' reads gives what assess says of the same bursts.
func TestPoliciesAreThoseOfPredict(t *testing.T) {
	r, facts := bursty(0.02), twoCPUs("schedutil")
	var file bytes.Buffer
	testkit.OK(t, r.WriteBursts(&file))
	q := predict.Question{Options: model.Options{Seed: 1}}
	var err error
	if q.Workload, err = predict.ReadWorkload("it.jsonl", &file, true); err != nil {
		t.Fatal(err)
	}
	if q.Machine, err = predict.FromFacts(facts, "this host"); err != nil {
		t.Fatal(err)
	}
	q.Baseline, _ = model.ParsePolicy("performance")
	schedutil, _ := model.ParsePolicy("schedutil")
	q.Policies = []model.Policy{schedutil}
	c := testkit.Must(predict.Compare(t.Context(), q))(t)
	for _, x := range predictPolicies(t.Context(), r, nil, facts).Rows {
		if want := c[0].Rows[0].Ratio[model.CPUSeconds]; x.Name == "schedutil" &&
			math.Abs(x.CPUSeconds.Value/want.Value-1) > 0.02 {
			t.Errorf("assess has %s, predict %s", x.CPUSeconds.Text(), want.Text())
		}
	}
}

// TestPoliciesOfFewBursts: bursts of one moment make no interval, nor does a handful over the minute.
func TestPoliciesOfFewBursts(t *testing.T) {
	moment, handful := bursty(0.01), bursty(0.05)
	moment.Bursts = moment.Bursts[:40]
	few := handful.Bursts[:0]
	for i := 0; i < len(handful.Bursts); i += len(handful.Bursts) / 20 {
		few = append(few, handful.Bursts[i])
	}
	handful.Bursts = few
	for name, r := range map[string]*trace.Result{"a moment's": moment, "a handful": handful} {
		for _, x := range predictPolicies(t.Context(), r, nil, twoCPUs("schedutil")).Rows {
			if x.CPUSeconds != nil || !strings.Contains(x.Reason, "too few for an interval") {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

// TestPoliciesUnseen: without bursts each policy says why, and has no figures.
func TestPoliciesUnseen(t *testing.T) {
	for name, p := range map[string]Policies{
		"refused": predictPolicies(t.Context(), nil, errors.New("loading programs takes root"), twoCPUs("schedutil")),
		"empty":   predictPolicies(t.Context(), &trace.Result{Length: 1}, nil, twoCPUs("schedutil")),
	} {
		if len(p.Rows) == 0 {
			t.Errorf("%s: no rows", name)
		}
		for _, x := range p.Rows {
			if x.CPUSeconds != nil || x.Evidence != "" || !strings.HasPrefix(x.Reason, "the service's bursts are not known: ") {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}
