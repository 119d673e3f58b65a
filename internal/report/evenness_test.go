package report

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
	"hostlab/internal/watch"
)

// nightOf is a history of eight CPUs, quiet for so many stretches and then at work for some, as busy tells of each CPU.
func nightOf(t *testing.T, quiet, work int, busy func(cpu int) float64) *History {
	t.Helper()
	dir := kept(t, steadily, quiet+work, func(int) (int64, float64) { return 100, 0.01 })
	h := testkit.Must(ReadHistory(t.Context(), dir, midnight, midnight.Add(24*time.Hour)))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i, m := range h.Minutes {
		m.Loads = &assess.Loads{Pressure: new(0.01)}
		for cpu := range 8 {
			share := 0.01
			if i >= quiet {
				share = busy(cpu) * (0.5 + rng.Float64())
			}
			m.Loads.Busy = append(m.Loads.Busy, byte(assess.One*share))
		}
	}
	return h
}

// TestEvenness: the section tells of the night's question where the time has a night, and else of all of it.
func TestEvenness(t *testing.T) {
	two := func(cpu int) float64 {
		if cpu < 2 {
			return 0.6
		}
		return 0.02
	}
	all := func(int) float64 { return 0.3 }
	for name, c := range map[string]struct {
		quiet, work int
		busy        func(int) float64
		verdict     string
		want        string
	}{
		"a night, and two CPUs work":  {120, 360, two, watch.UnevenAlways, "The load was uneven in the first minutes after the quiet time, and just as uneven later"},
		"a night, and all CPUs work":  {120, 360, all, watch.Even, "After the quiet time the load spread over"},
		"ten minutes of two CPUs":     {0, 60, two, watch.UndecidedQuiet, "The CPUs were used unevenly: the busiest quarter of the CPUs did 9"},
		"ten minutes of all CPUs":     {0, 60, all, watch.UndecidedQuiet, "The CPUs were used as evenly as by chance"},
		"twenty seconds say nothing":  {0, 2, two, watch.UndecidedQuiet, ""},
		"a stretch alone has no time": {0, 1, two, "", ""},
	} {
		h := nightOf(t, c.quiet, c.work, c.busy)
		a := testkit.Must(h.Assessment())(t)
		if c.verdict == "" {
			if a.Evenness != nil {
				t.Errorf("%s: %+v", name, a.Evenness)
			}
			continue
		}
		testkit.Is(t, c.verdict, a.Evenness.Verdict, name)
		a.Before = a.Minute // so that the document has a change, too
		var b bytes.Buffer
		testkit.OK(t, document.WriteJSON(&b, a.Document().Data))
		conform.To(t, "assess.schema.json", b.Bytes(), name)
		b.Reset()
		testkit.OK(t, document.WriteText(&b, a.Document(), document.TextOptions{}))
		text := strings.Join(strings.Fields(b.String()), " ")
		if has := strings.Contains(text, "HOW EVENLY THE CPUS WERE USED"); has != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
	h := nightOf(t, 0, 60, all)
	h.At[30] = h.At[10] // the clock was set back
	h.Minutes[40].Loads.Busy = h.Minutes[40].Loads.Busy[:3]
	h.Minutes[41].Loads = nil
	if a := h.evenness(); a == nil || a.Samples != 58 || a.Whole.Offline != 5 {
		t.Errorf("%+v", a)
	}
}

// TestLoadsAreSmall: what CPUs did takes some 1.4 B a CPU of each stretch, before it is packed: of 64 CPUs less than 1 MB a day.
func TestLoadsAreSmall(t *testing.T) {
	m := assess.Minute{Unseen: map[string]string{}}
	before := testkit.Must(result.RecordJSON(&m))(t)
	m.Loads = &assess.Loads{Busy: make([]byte, 64), Pressure: new(0.0123)}
	after := testkit.Must(result.RecordJSON(&m))(t)
	if day := (len(after) - len(before)) * int(24*time.Hour/KeptFor); day > 1.2e6 {
		t.Errorf("%d B a day", day)
	}
	var back assess.Minute
	if err := json.Unmarshal(after, &back); err != nil || len(back.Loads.Busy) != 64 {
		t.Error(err)
	}
}
