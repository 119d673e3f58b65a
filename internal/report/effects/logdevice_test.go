package effects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
)

// logRecord has so many blocks of two devices at one size, with the gain and the share
// of log waits given.
func logRecord(blocks int, gain, share float64) (*result.Experiment, []result.Run) {
	x := &result.Experiment{Name: "log", Section: "log", Evidence: result.Measured, Workload: "logcommit",
		Places:    []result.Place{{Factor: "log", Level: "disk", On: "/log on /dev/vda (ext4)"}, {Factor: "log", Level: "fast", On: "/dev/shm on tmpfs", Volatile: true, Cautions: []string{"factor log: a caution"}}},
		Factors:   []result.Factor{{Name: "log", Kind: "parameter", Levels: []string{"disk", "fast"}, Baseline: "disk", Change: result.Online}},
		Responses: []result.Response{{Name: "wall", Title: "Elapsed time", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02, Primary: true}, {Name: "log_share", Better: "lower", Compare: result.Difference, Margin: 0.01}, {Name: "log_wait", Title: "Waiting for the log", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02}},
		Contrasts: []result.Contrast{{Factors: []string{"log"}, Levels: []string{"fast"}, Primary: true}},
		Design:    result.Design{Kind: "rcbd", Alpha: 0.05, Looks: []int{blocks}, Repeats: 1},
		Cells:     []result.Cell{{Levels: map[string]string{"log": "disk"}}, {Levels: map[string]string{"log": "fast"}}}}
	var runs []result.Run
	for b := range blocks {
		x.Blocks = append(x.Blocks, result.Block{Plots: [][]int{{0, 1}}})
		for c := range 2 {
			wall := 10 + 0.01*float64(b)
			if c == 1 {
				wall *= 1 - gain + 0.0005*float64(b%3)
			}
			runs = append(runs, result.Run{Seq: len(runs), Block: b, Slot: c, Cell: c, Attempt: 1, Status: result.OK,
				Values: map[string]float64{"wall": wall, "log_share": share + 0.001*float64(b%4), "log_wait": share * wall}})
		}
	}
	return x, runs
}

func TestLogDevice(t *testing.T) {
	for _, c := range []struct {
		blocks      int
		gain, share float64
		verdict     string
		exceeds     bool
	}{
		{10, 0.10, 0.20, "within the bound", false},
		{10, 0.30, 0.20, "BEYOND the bound", true},
		{10, -0.10, 0.20, "slower", false},
		{10, 0, 0.20, "no gain seen", false},
		{3, 0.30, 0.20, "too few blocks", false},
	} {
		x, runs := logRecord(c.blocks, c.gain, c.share)
		a := analysis.Analyse(x, runs, &result.End{Blocks: c.blocks})
		s := newLogDevice(a, runs)
		if got := len(s.verdict()) == 1; got != c.exceeds {
			t.Errorf("gain %v of share %v: verdict %q", c.gain, c.share, s.verdict())
		}
		tables, lines := parts(s)
		last := tables[len(tables)-1]
		if got := last.Rows[0].Cells[3].Text; got != c.verdict {
			t.Errorf("gain %v of share %v, %d blocks: %q, want %q", c.gain, c.share, c.blocks, got, c.verdict)
		}
		if c.blocks > 6 && c.gain > 0 {
			if d := s.Rows[0].Pairs[0].Gain.Value - c.gain; d > 0.002 || d < -0.002 {
				t.Errorf("gain %v came out as %v", c.gain, s.Rows[0].Pairs[0].Gain.Value)
			}
		}
		if text := fmt.Sprint(lines); !strings.Contains(text, "loses everything with the power") || strings.Contains(text, "disk is memory") {
			t.Errorf("notes %q", lines)
		}
		if fmt.Sprint(s.LogDevice) == "" {
			t.Error("no JSON")
		}
	}
}

// Where the baseline is not the slowest log, what others give in place of that one stands
// beside its own bound; parts that add up keep others out; the schema knows it all.
func TestLogDeviceFromTheSlowest(t *testing.T) {
	x, _ := logRecord(0, 0, 0)
	x.Factors[0].Levels = append(x.Factors[0].Levels, "san")
	x.Places = append(x.Places, result.Place{Factor: "log", Level: "san", On: "emulated: each sync takes longer", Emulated: true})
	x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"log": "san"}})
	x.Responses = []result.Response{{Name: "duration", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02, Primary: true},
		{Name: "log_write_avg", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.1}, {Name: "log_gain_bound", Better: "lower", Compare: result.Difference, Margin: 0.01},
		{Name: "app_time", Unit: "s", Better: "lower", Compare: result.Difference, Margin: 1}, {Name: "part_locks", Unit: "s", Better: "lower", Compare: result.Difference, Margin: 1}}
	x.Design.Looks = []int{10}
	var runs []result.Run
	for b := range 10 {
		x.Blocks = append(x.Blocks, result.Block{Plots: [][]int{{0, 1, 2}}})
		for c, v := range [][3]float64{{10, 250e-6, 0.1}, {9.8, 20e-6, 0.03}, {14, 1500e-6, 0.33}} {
			noise := 1 + 0.001*float64(b%3)
			runs = append(runs, result.Run{Seq: len(runs), Block: b, Slot: c, Cell: c, Attempt: 1, Status: result.OK,
				Values: map[string]float64{"duration": v[0] * noise, "log_write_avg": v[1], "log_gain_bound": v[2] * noise, "app_time": 1, "part_locks": 0}})
		}
	}
	a := analysis.Analyse(x, runs, &result.End{Blocks: 10})
	s := newLogDevice(a, runs)
	got := map[string]string{}
	for _, p := range s.Rows[0].Pairs {
		got[p.From+" "+p.To] = fmt.Sprintf("%.3f of %.2f: %s", p.Gain.Value, p.Bound.Value, boundWord(&p))
	}
	want := map[string]string{"disk fast": "0.020 of 0.10: within the bound", "disk san": "-0.400 of 0.10: slower",
		"san disk": "0.286 of 0.33: within the bound", "san fast": "0.300 of 0.33: within the bound"}
	testkit.Same(t, want, got)
	if len(s.Parts) != 1 || s.Parts[0].Name != "part_locks" {
		t.Errorf("parts %+v", s.Parts)
	}
	text := printed(t, s)
	for _, want := range []string{"san (emulated) to disk", "was in commits, or waited"} {
		testkit.Has(t, text, want)
	}
	conforms(t, s.LogDevice)
	x.Responses[1].Name = "other" // as of a server that does not time its log
	if got := newLogDevice(analysis.Analyse(x, runs, &result.End{Blocks: 10}), runs).Rows[0].Pairs; len(got) != 4 {
		t.Errorf("without times of log writes: %+v", got)
	}
}

// conforms compares a section with its part of the report's schema.
func conforms(t *testing.T, section any) {
	t.Helper()
	conform.To(t, "report.schema.json#/$defs/LogDevice", testkit.Must(json.Marshal(section))(t))
}

// A record without a duration or a factor shows that, and does not fail.
func TestLogDeviceOfAnOddRecord(t *testing.T) {
	x, runs := logRecord(8, 0.1, 0.2)
	x.Responses = x.Responses[1:2]
	s := newLogDevice(analysis.Analyse(x, runs, nil), runs)
	if tables, lines := parts(s); len(tables) != 0 || len(lines) != 1 {
		t.Errorf("%+v %q", tables, lines)
	}
	x.Factors, x.Contrasts = nil, nil
	_ = newLogDevice(analysis.Analyse(x, runs, nil), runs)
}

// Parts add up to the run time that is shown, whatever its distribution, with what is
// unknown in some blocks, and where they overlap.
func TestLogPartsAddUp(t *testing.T) {
	x, runs := logRecord(8, 0.1, 0.2)
	x.Responses[0].Name = "duration"
	part := func(name string) result.Response {
		return result.Response{Name: name, Title: name, Unit: "s", Better: "lower", Compare: result.Difference, Margin: 1}
	}
	x.Responses = append(x.Responses[:1], part("part_application"), part("part_log_wait"), part("part_locks"), part("part_unexplained"))
	for i := range runs {
		d := []float64{1, 9, 2, 30}[runs[i].Block%4]
		runs[i].Values = map[string]float64{"duration": d, "part_application": 0.5, "part_log_wait": d / 2, "part_locks": 0.1, "part_unexplained": d/2 - 0.6}
		if runs[i].Block == 3 { // its time is in the rest
			delete(runs[i].Values, "part_locks")
			runs[i].Values["part_unexplained"] = d/2 - 0.5
		}
		if runs[i].Cell == 1 {
			runs[i].Values["part_log_wait"] += 0.25
		}
	}
	s := newLogDevice(analysis.Analyse(x, runs, &result.End{Blocks: 8}), runs)
	for _, c := range s.Rows[0].Cells {
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.Value
		}
		if math.Abs(c.Mean.Value-10.5) > 1e-9 || math.Abs(sum+c.Rest.Value-c.Mean.Value) > 1e-9 || math.Abs(c.Rest.Value+[]float64{0, 0.25}[map[string]int{"fast": 1}[c.Level]]) > 1e-9 {
			t.Errorf("%s: %g s, parts of %g s and a rest of %g s", c.Level, c.Mean.Value, sum, c.Rest.Value)
		}
	}
	tables, _ := parts(s)
	last := tables[len(tables)-1].Rows
	if got := last[len(last)-1].Cells; got[0].Text != "counted twice" || got[2].Text != "-250 ms" {
		t.Errorf("%+v", got)
	}
}

// Only levels that are emulated are called so, whatever the comparisons rest on.
func TestLogDeviceEmulated(t *testing.T) {
	for _, c := range []struct {
		evidence result.Evidence
		disk     bool // is emulated
		heads    string
		label    string
	}{
		{result.Measured, false, "[disk fast]", "blocks, measured. "},
		{result.Emulated, true, "[disk (emulated) fast]", "blocks, measured where no device is marked as emulated. "},
		{result.Measured, true, "[disk (emulated) fast]", "blocks, measured where no device is marked as emulated. "},
		{result.Emulated, false, "[disk (emulated) fast (emulated)]", "blocks, emulated. "},
	} {
		x, runs := logRecord(8, 0.1, 0.2)
		x.Evidence, x.Places[0].Emulated = c.evidence, c.disk
		s := newLogDevice(analysis.Analyse(x, runs, &result.End{Blocks: 8}), runs)
		_, lines := parts(s)
		if got := fmt.Sprint(s.called("disk"), " ", s.called("fast")); "["+got+"]" != c.heads || !strings.Contains(lines[0], c.label) {
			t.Errorf("%+v: %s; %s", c, got, lines[0])
		}
	}
}

// What is advised repeats the same experiment: directories of levels are part of it.
func TestNextKeepsLevels(t *testing.T) {
	x, runs := logRecord(2, 0.1, 0.2)
	x.BuiltIn, x.Overrides = "log-device", map[string]string{"blocks": "2", "seed": "7", "level.delay": "delay:1ms", "level.second": "/mnt/n vme", "workload.engine": "mariadb"}
	r := Report{Dir: "log", Analysis: analysis.Analyse(x, runs, &result.End{Blocks: 2})}
	got := fmt.Sprint(r.steps())
	want := "hostlab run log-device --set level.delay=delay:1ms --set 'level.second=/mnt/n vme' --set workload.engine=mariadb --blocks 6 --out log-2"
	testkit.Has(t, got, want)
}

// Directories, files and values of parameters are other people's words.
func TestNextKeepsHostileNamesData(t *testing.T) {
	for _, name := range testkit.Hostile {
		x, runs := logRecord(2, 0.1, 0.2)
		x.BuiltIn, x.File, x.Overrides = "", name+".toml", map[string]string{"workload.note": name, "level." + name: "1"}
		r := Report{Dir: name, Restore: true, Analysis: analysis.Analyse(x, runs, &result.End{Blocks: 2})}
		for _, s := range append(r.steps(), r.toSend()...) {
			testkit.Intact(t, s.Line, name)
			testkit.Intact(t, strings.Join(screen.Commands(s.Line, 40), "\n"), name)
		}
	}
}

// A record that ended before two devices could be compared has no tables of nothing.
func TestLogDeviceWithoutBlocks(t *testing.T) {
	for _, n := range []int{0, 1} {
		x, runs := logRecord(2, 0.1, 0.2)
		runs = runs[:n]
		s := newLogDevice(analysis.Analyse(x, runs, nil), runs)
		if tables, lines := parts(s); len(tables) > 0 || len(lines) != 1 || !strings.Contains(lines[0], "nothing to compare") {
			t.Errorf("%d runs: %+v %q", n, tables, lines)
		}
		_ = s.LogDevice
	}
	// One size has runs, the other none yet.
	x, runs := logRecord(2, 0.1, 0.2)
	x.Factors = append(x.Factors, result.Factor{Name: "size", Kind: "parameter", Levels: []string{"small", "large"}, Baseline: "small"})
	for i := range x.Cells {
		x.Cells[i].Levels["size"] = "small"
		x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"log": x.Cells[i].Levels["log"], "size": "large"}})
	}
	s := newLogDevice(analysis.Analyse(x, runs, nil), runs)
	tables, _ := parts(s)
	for _, g := range tables {
		if strings.HasPrefix(g.Title, "What the time went to") && strings.Contains(g.Title, "large") {
			t.Errorf("%+v", g)
		}
	}
}

// sampledRecord is logRecord with looks at the job's session: its waits for the log go
// away with the fast device.
func sampledRecord(blocks int) (*result.Experiment, []result.Run) {
	x, runs := logRecord(blocks, 0.2, 0.3)
	for i := range runs {
		r := &runs[i]
		d := r.Values["wall"]
		r.Waits = &result.Waits{Looks: 500, Events: []result.Wait{{Name: "on CPU", Part: "cpu", Seconds: 0.5 * d}, {Name: "Client:ClientRead", Part: "application", Seconds: 0.1 * d}}}
		if r.Cell == 0 {
			r.Waits.Events = append(r.Waits.Events, result.Wait{Name: "IO:WALSync", Part: "log", Seconds: 0.3 * d}, result.Wait{Name: "LWLock:WALWrite", Part: "log", Seconds: 0.1 * d})
		} else {
			r.Waits.Events = append(r.Waits.Events, result.Wait{Name: "IO:WALSync", Part: "log", Seconds: 0.05 * d})
		}
		for n := range 5 { // few, each in one look
			r.Waits.Events = append(r.Waits.Events, result.Wait{Name: fmt.Sprint("Lock:rare", n), Part: "locks", Seconds: 0.001 * d})
		}
	}
	return x, runs
}

// The report has the wait events before and after in the server's words, beside the
// parts, with what they were seen in.
func TestLogDeviceWaitEvents(t *testing.T) {
	x, runs := sampledRecord(8)
	a := analysis.Analyse(x, runs, &result.End{Blocks: 8})
	s := newLogDevice(a, runs)
	grids, _ := parts(s)
	at := slices.IndexFunc(grids, func(g *document.Table) bool { return strings.HasPrefix(g.Title, "Wait events in the server's words") })
	if at < 1 || !strings.HasPrefix(grids[at-1].Title, "What the time went to") {
		t.Fatalf("no events beside the parts: %+v", grids)
	}
	g := grids[at]
	got := map[string][][]string{}
	var order []string
	for _, r := range g.Rows {
		name := r.Cells[0].Text
		order = append(order, name)
		for _, c := range r.Cells[1:] {
			got[name] = append(got[name], append([]string{c.Text}, c.More...))
		}
	}
	testkit.Same(t, []string{"on CPU, on CPU", "IO:WALSync, log wait", "Client:ClientRead, wait for clients", "LWLock:WALWrite, log wait", "Lock:rare0, locks", "Lock:rare1, locks", "3 other events", "sampled"}, order)
	want := [][]string{{"3.01 s", "30.0 %"}, {"402 ms", "5.0 %"}}
	testkit.Same(t, want, got["IO:WALSync, log wait"])
	testkit.Same(t, [][]string{{"1.00 s", "10.0 %"}, {"not seen"}}, got["LWLock:WALWrite, log wait"])
	testkit.Same(t, [][]string{{"8 runs", "4000 looks"}, {"8 runs", "4000 looks"}}, got["sampled"])
	if !strings.Contains(g.Lead, "sampled every 15.3 ms") { // ms: what a look stood for
		t.Errorf("lead %q", g.Lead)
	}
	conforms(t, s.LogDevice)
	set := &Set{Reports: []Report{{Dir: "log", Analysis: a}}}
	for name, write := range map[string]func(io.Writer, *Set) error{"html": WriteHTML, "json": WriteJSON, "markdown": WriteMarkdown, "text": func(w io.Writer, s *Set) error { return WriteText(w, s, Options{}) }} {
		var b bytes.Buffer
		testkit.OK(t, write(&b, set))
		for _, word := range []string{"IO:WALSync", "LWLock:WALWrite"} {
			testkit.Has(t, b.String(), word, name)
		}
		if name == "text" {
			testkit.Fits(t, b.String(), 80, nil)
		}
	}
}

// Runs in which nobody looked, as all of an older record, take no part in shares; a
// record without any has no table of events, and says so where a server was asked.
func TestLogDeviceWithoutWaitEvents(t *testing.T) {
	x, runs := sampledRecord(4)
	for i := range runs {
		if runs[i].Block == 0 {
			runs[i].Waits, runs[i].Values["wall"] = nil, 1000
		}
	}
	w := newLogDevice(analysis.Analyse(x, runs, nil), runs).Rows[0].Cells[0].Waits
	if share := w.Seconds(analysis.Event{Name: "IO:WALSync", Part: "log"}) / w.Mean; w.Runs != 3 || share < 0.299 || share > 0.301 {
		t.Errorf("%d runs, share %g", w.Runs, share)
	}
	for i := range runs {
		runs[i].Waits = nil
	}
	s := newLogDevice(analysis.Analyse(x, runs, nil), runs)
	tables, lines := parts(s)
	for _, g := range tables {
		if strings.Contains(g.Title, "Wait events") {
			t.Errorf("%+v", g)
		}
	}
	testkit.Has(t, fmt.Sprint(lines), "no wait events", lines)
	conforms(t, s.LogDevice)
}
