package report_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"hostlab/internal/assess"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/report"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// crowded is Service with as much to say as can be: levers that are all open, long names, warnings and findings.
func crowded() *report.Assessment {
	a := Service()
	m := a.Minute
	m.Service.Kind, m.Service.Name = service.Unit, strings.Repeat("a-long-name-", 5)+".service"
	m.Service.Why = "the one of 12 database servers here that has used the most CPU time"
	m.Takers, m.Counted = []assess.Taker{{Taker: proc.Taker{PID: 4711, Name: "nightly", Processes: 3, Seconds: 60,
		Group: "/system.slice/" + strings.Repeat("batch-", 8) + ".service"}}}, true
	for i := range 8 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("warning %d of counters and samples that add up to %d %% of the "+
			"elapsed time, which is more than all of it", i, 110+i))
		m.Report.Missing = append(m.Report.Missing, strings.Repeat("something that could not be seen ", 4))
	}
	a.Levers = m.Join(a.Levers)
	for i := range a.Levers {
		l := &a.Levers[i]
		if l.AtMost != nil && *l.AtMost < lever.Margin {
			l.Gains(0.5, 0.1, 0.3, 1)
		}
		if l.Next.Command == "" {
			l.Next = lever.Next{Command: "echo '40000 100000' | sudo tee /sys/fs/cgroup/" + strings.Repeat("x", 40),
				Note: strings.Repeat("a note ", 20)}
		}
	}
	a.Verdict.Text, a.Verdict.First = m.Verdict(a.Levers), m.First(a.Levers)
	return a
}

// TestOneScreen: without --all, a report has at most 40 lines of 80 columns, commands apart, and a small terminal shows
// its answer at the end, too.
func TestOneScreen(t *testing.T) {
	all := maps.Clone(samples)
	all["crowded"] = crowded
	for name, make := range all {
		for _, files := range [][]string{nil, {"Report: /root/.local/state/hostlab/assess-20261121-093000.html",
			"Data: a.json", "Saved: a.txtar", "From b.txtar"}} {
			a := make()
			var b bytes.Buffer
			o := document.TextOptions{Width: document.ScreenColumns, Rows: document.Rows}
			testkit.OK(t, document.WriteText(&b, a.Brief(files...), o))
			text := b.String()
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) > 40 {
				t.Errorf("%s: %d lines:\n%s", name, len(lines), text)
			}
			testkit.Fits(t, text, 80, command.MatchString, name)
			answer := strings.Join(screen.WrapFigures(a.Verdict.Text, document.ScreenColumns), "\n") + "\n"
			if !strings.HasPrefix(text, answer) || len(lines) > document.Rows && !strings.HasSuffix(text, "\n\n"+answer) {
				t.Errorf("%s: the answer is not first and last:\n%s", name, text)
			}
			for _, want := range append(files, "--all prints") {
				testkit.Has(t, strings.Join(strings.Fields(text), " "), want, name)
			}
		}
	}
}

// TestOneScreenSays: of a service one screen has the bar, a row a lever, steps, what the server tells, and what was not
// seen.
func TestOneScreenSays(t *testing.T) {
	var b bytes.Buffer
	testkit.OK(t, document.WriteText(&b, Service().Brief(), document.TextOptions{}))
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"WHERE ITS TIME WENT", "│on CPU 38 %", "WHAT COULD BE GAINED",
		"lever likely at most verdict", "WHAT TO DO NEXT", "FINDINGS", "STO-002, medium", "max_wal_size", "Not measured: ",
		"other programs", "1 more. --all"} {
		testkit.Has(t, text, want, &b)
	}
	if strings.Contains(text, "WAIT EVENTS") {
		t.Errorf("details:\n%s", &b)
	}
}
