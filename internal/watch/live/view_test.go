package live

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/watch"
)

func made(cpus int) *View {
	nan := math.NaN()
	v := &View{Width: 80, Height: 24, Interval: time.Second, Info: watch.Info{Hostname: "db\x1b[31m1", States: map[int][]watch.IdleState{},
		Unknown: []watch.Unknown{{What: "effective frequency", Why: "hidden"}}}}
	s := &watch.Sample{At: time.Unix(1790000000, 0), Seconds: 1}
	for i := range s.Pressure {
		s.Pressure[i] = proc.Pressure{Some: math.NaN(), Full: math.NaN()}
	}
	for c := range cpus {
		b := float64(c) / float64(cpus)
		v.Info.States[c] = []watch.IdleState{{Name: "C1", Latency: 2e-6}, {Name: "C6", Latency: 133e-6}}
		s.CPUs = append(s.CPUs, watch.CPU{ID: c, User: 0.7 * b, System: 0.3 * b, Idle: 1 - b, Ratio: 0.5 + b/2, Effective: nan, States: []float64{0, 1 - b}, Deep: 1 - b})
	}
	v.Sample = s
	return v
}

func TestRenderFits(t *testing.T) {
	for _, cpus := range []int{0, 1, 2, 15, 16, 64, 512, 2048} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 10}, {20, 4}, {1, 1}, {0, 0}} {
			for _, keys := range []string{"", "m", "h", "s", "vm", "p"} {
				for _, colour := range []bool{false, true} {
					v := made(cpus)
					v.Width, v.Height, v.Color = size[0], size[1], colour
					v.Render()
					for _, k := range keys {
						v.Key(string(k))
					}
					out := v.Render()
					lines := strings.Split(out, "\n")
					if size[1] > 0 && len(lines) != size[1] {
						t.Errorf("%d CPUs, %v, %q: %d lines", cpus, size, keys, len(lines))
					}
					for _, l := range lines {
						if w := ansi.StringWidth(l); w > size[0] {
							t.Errorf("%d CPUs, %v, %q: %d columns: %s", cpus, size, keys, w, l)
						}
					}
					if !colour && strings.ContainsRune(out, '\x1b') {
						t.Errorf("%d CPUs, %v, %q: an escape without colour: %q", cpus, size, keys, out)
					}
				}
			}
		}
	}
}

func TestRenderShows(t *testing.T) {
	v := made(4)
	for _, want := range []string{"4 CPUs  every 1s", "busy 37 % (user 26, sys 11, iowait", "busiest quarter 50 %", "Clock    69 % of the highest (50 to 88)", "C6 62 %", "Waits    unknown", "###", "75%"} {
		if out := v.Render(); !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out := v.Render(); strings.Contains(out, "NaN") {
		t.Error(out)
	}
	v.Key("s")
	if rows := strings.Split(v.Render(), "\n"); !strings.HasPrefix(rows[7], "   3") {
		t.Errorf("sorted by busy, the first row is %q", rows[7])
	}
	v.Key("h")
	testkit.Has(t, v.Render(), "Unknown here: effective frequency: hidden")
	v = made(512)
	out := v.Render()
	if !strings.Contains(out, "busy of each CPU") || !strings.Contains(out, "  448  ") || !strings.Contains(out, "####") {
		t.Errorf("512 CPUs are no map:\n%s", out)
	}
	v.Key("m")
	v.Render()
	v.Key("end")
	if out := v.Render(); !strings.Contains(out, " 511  ") || !strings.Contains(out, "of 512") {
		t.Errorf("the last CPU is not reached:\n%s", out)
	}
	for range 600 {
		v.Key("up")
	}
	testkit.Has(t, v.Render(), "rows 1-", "the first CPU is not reached again")
}

func TestOffline(t *testing.T) {
	v := made(40)
	v.Height = 12
	v.Render()
	v.Key("m")
	v.Key("end")
	v.Sample.CPUs = v.Sample.CPUs[:3] // CPUs went offline while the end was shown
	testkit.Has(t, v.Render(), "   0  ", "nothing is shown")
}

// BenchmarkSample takes and shows a sample of 512 CPUs, without what the terminal costs.
func BenchmarkSample(b *testing.B) {
	dir := b.TempDir()
	testkit.OK(b, testkit.Made512(dir))
	s := testkit.Must(watch.Open(watch.Config{Tree: host.Tree{Root: dir}}))(b)
	defer s.Close()
	v := View{Width: 80, Height: 24, Color: true, Interval: time.Second, Info: s.Info()}
	now := time.Now()
	last := testkit.Must(s.Read(now))(b)
	for b.Loop() {
		now = now.Add(time.Second)
		r := testkit.Must(s.Read(now))(b)
		sample := watch.Between(s.Info(), last, r)
		last, v.Sample = r, &sample
		if len(v.Render()) < 80*8 {
			b.Fatal("nothing was shown")
		}
	}
}
