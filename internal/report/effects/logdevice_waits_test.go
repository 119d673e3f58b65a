package effects

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

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
	testkit.Same(t, []string{"on CPU, on CPU", "IO:WALSync, log wait", "Client:ClientRead, application", "LWLock:WALWrite, log wait", "Lock:rare0, locks", "Lock:rare1, locks", "3 other events", "sampled"}, order)
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
		for _, line := range strings.Split(b.String(), "\n") {
			if name == "text" && utf8.RuneCountInString(line) > 80 {
				t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
			}
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
