package noise

import (
	"bytes"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

func TestMadeUpNoiseIsTwoPercent(t *testing.T) {
	for _, m := range MadeUp() {
		rng := rand.New(rand.NewPCG(1, 2))
		var all []float64
		for range 100 {
			z := m.Series(rng, 200)
			all = append(all, RunToRun(z))
			if least, most := slices.Min(z), slices.Max(z); !(least > -5 && most < 5) {
				t.Fatalf("%s: from %v to %v", m.Name, least, most)
			}
		}
		// Outliers and shifts widen the middle of the differences a little.
		if got := stats.Median(all); got < 0.017 || got > 0.024 {
			t.Errorf("%s: %.2f %% from run to run, want about 2 %%", m.Name, 100*got)
		}
	}
}

func TestModelsDependOnTheirGeneratorAlone(t *testing.T) {
	recorded := Resampled(&Record{Label: "made"}, ramp(1000), true)
	for _, m := range append(MadeUp(), recorded) {
		a := m.Series(rand.New(rand.NewPCG(5, 6)), 90)
		b := m.Series(rand.New(rand.NewPCG(5, 6)), 90)
		if d := cmp.Diff(a, b); d != "" || len(a) != 90 {
			t.Errorf("%s: %d values, another series from the same seed:\n%s", m.Name, len(a), d)
		}
	}
}

// ramp is a series that rises by a thousandth from run to run.
func ramp(n int) Series {
	s := Series{Work: "ramp"}
	for i := range n {
		s.Nanos = append(s.Nanos, int64(1e9*math.Exp(float64(i)/1000)))
	}
	return s
}

func TestResamplingKeepsDrift(t *testing.T) {
	z := Resampled(&Record{}, ramp(1000), false).Series(rand.New(rand.NewPCG(1, 2)), 10*joint)
	seams := 0
	for i := range z[1:] {
		if step := z[i+1] - z[i]; math.Abs(step-0.001) > 1e-6 {
			seams++ // a new stretch, or the end of the circle
		}
	}
	if seams < 9 || seams > 19 {
		t.Errorf("%d seams in ten stretches, want 9 and at most 10 more where the circle ends", seams)
	}
}

func TestScaledNoiseIsTwoPercent(t *testing.T) {
	all := testkit.Must(Recorded())(t)
	if len(all) < 2 {
		t.Fatalf("%d records, want one of the quiet and one of the busy host at least", len(all))
	}
	for _, r := range all {
		for _, s := range r.Series {
			z := Resampled(r, s, true).Series(rand.New(rand.NewPCG(1, 2)), 5000)
			if got := stats.Spread(z); math.Abs(got-Sigma) > Sigma/4 {
				t.Errorf("%s/%s: scatters by %.2f %%, want 2 %%", r.Label, s.Work, 100*got)
			}
			if len(s.Nanos) < 1500 {
				t.Errorf("%s/%s: %d runs, want at least 1500", r.Label, s.Work, len(s.Nanos))
			}
		}
	}
}

func TestAutocorrelation(t *testing.T) {
	if got := Autocorrelation(ramp(1000).Logs(), 1); got < 0.99 {
		t.Errorf("of a ramp at lag 1: %.3f, want almost 1", got)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	if got := Autocorrelation(white(rng, 10_000), 1); math.Abs(got) > 0.03 {
		t.Errorf("of white noise at lag 1: %.3f, want 0", got)
	}
	if got := Autocorrelation(ar1(rng, 10_000), 1); math.Abs(got-0.8) > 0.03 {
		t.Errorf("of ar1 at lag 1: %.3f, want 0.8", got)
	}
}

func TestWriteAndRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made.json.gz")
	want := &Record{Label: "made", About: "nothing", When: time.Unix(1e9, 0).UTC(), Took: 1.5, Series: []Series{ramp(100)}}
	testkit.OK(t, want.Write(file))
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	f := testkit.Must(os.Open(file))(t)
	defer f.Close()
	got := testkit.Must(Read(f))(t)
	testkit.Same(t, want, got, "read back")
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"series":[{"work":"x","ns":[1,2]}]}`, `{"series":[{"work":"x","ns":[0` + strings.Repeat(",1", 200) + `]}]}`} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		testkit.Must(z.Write([]byte(text)))(t)
		testkit.OK(t, z.Close())
		if _, err := Read(&b); err == nil {
			t.Errorf("%.40q: no error", text)
		}
	}
}
