package report

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/ring"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

var midnight = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// kept is a ring of stretches of so many transactions, each of which takes so long, s; -1: not counted.
func kept(t *testing.T, at func(i int) time.Time, n int, of func(i int) (transactions int64, each float64)) string {
	t.Helper()
	dir := t.TempDir()
	w := testkit.Must(ring.Open(dir, 48*time.Hour))(t)
	defer w.Close()
	for i := range n {
		count, each := of(i)
		busy := each * float64(max(1, count))
		r := explain.Report{Wall: 10, Elapsed: busy, Busy: busy, Transactions: count, Log: explain.NoLog(), Samples: 10,
			Parts: []explain.Part{{Name: explain.DatabaseCPU, Seconds: busy, Source: "test", Share: result.Estimate{Value: 1, Low: 1, High: 1}}}}
		m := &assess.Minute{Service: service.Service{Kind: service.Database, Name: "x", PID: 1}, Connected: true, Report: r,
			Readings: []service.Reading{{At: 10, CPU: busy}}, Unseen: map[string]string{}}
		text, err := result.RecordJSON(Kept{Schema, "0.2.0", "db7", m})
		if err == nil {
			err = w.Append(at(i), text)
		}
		testkit.OK(t, err)
	}
	return dir
}

func steadily(i int) time.Time { return midnight.Add(time.Duration(i) * KeptFor) }

// TestOver: a ring of a process ends with that process, and not with a session of it.
func TestOver(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	testkit.Start(t, cmd)
	said := []string{}
	k := &keeper{tell: func(text string) { said = append(said, text) }}
	k.Service = fmt.Sprintf("pid:%d", cmd.Process.Pid)
	k.last = testkit.Must(testkit.Must(service.Parse(k.Service))(t).Find(nil, nil))(t)
	if k.over() || len(said) > 0 {
		t.Errorf("it runs: %q", said)
	}
	testkit.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if !k.over() || len(said) != 1 {
		t.Errorf("it has ended: %q", said)
	}
}

// TestWorst finds the slow minutes of two hours, and not the quiet ones in which two transactions took long.
func TestWorst(t *testing.T) {
	dir := kept(t, steadily, 720, func(i int) (int64, float64) {
		switch {
		case i >= 400 && i < 460:
			return 300, 0.02
		case i >= 100 && i < 160:
			return 1, 0.5
		}
		return 1000, 0.005
	})
	h, err := ReadHistory(t.Context(), dir, midnight, midnight.Add(2*time.Hour))
	if err != nil || len(h.Minutes) != 720 {
		t.Fatal(len(h.Minutes), err)
	}
	worst, err := h.Worst(10 * time.Minute)
	if err != nil || !worst.From.Equal(steadily(400)) || len(worst.Minutes) != 60 {
		t.Fatalf("%v, %v", worst.From, err)
	}
	a, err := worst.Assessment()
	if err != nil || a.Account.Transactions != 60*300 || a.Host != "db7" || a.Seconds != 600 || len(a.Warnings) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	testkit.Refused(h.Worst(24*time.Hour))(t, "", "a day in two hours")
	dir = kept(t, steadily, 60, func(i int) (int64, float64) { return -1, []float64{1, 3}[min(1, i/30)] })
	if h, err = ReadHistory(t.Context(), dir, midnight, midnight.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if worst, err = h.Worst(5 * time.Minute); err != nil || !worst.From.Equal(steadily(30)) {
		t.Errorf("without transactions: %v, %v", worst, err)
	}
}

// TestSleep: a host that slept for three hours between two stretches has a gap, which no worst time and no judgement of the CPUs spans.
func TestSleep(t *testing.T) {
	dir := kept(t, func(i int) time.Time {
		if i >= 30 {
			return steadily(i).Add(3 * time.Hour)
		}
		return steadily(i)
	}, 90, func(i int) (int64, float64) { return 100, []float64{0.05, 0.01, 0.01}[i/30] }) // slow before it
	h := testkit.Must(ReadHistory(t.Context(), dir, midnight, midnight.Add(4*time.Hour)))(t)
	if worst, err := h.Worst(10 * time.Minute); err != nil || worst.From.Before(steadily(30).Add(3*time.Hour)) {
		t.Errorf("%v, %v", worst, err)
	}
	if worst, err := h.Worst(5 * time.Minute); err != nil || !worst.From.Equal(midnight) {
		t.Errorf("%v, %v", worst, err)
	}
	for _, m := range h.Minutes {
		m.Loads = &assess.Loads{Busy: []byte{10, 20}}
	}
	a, err := h.Assessment()
	if err != nil || a.Evenness.Missing != (3*time.Hour).Seconds() || a.Seconds != 900 || !strings.Contains(a.Warnings[0], "the host slept") {
		t.Errorf("%+v, %q, %v", a.Evenness, a.Warnings, err)
	}
}

// TestHistory: gaps are said, and a clock that was set back; what others put into a ring breaks nothing.
func TestHistory(t *testing.T) {
	dir := kept(t, func(i int) time.Time {
		if i >= 30 { // five minutes are missing, then the clock was set back by two
			return steadily(i + 18)
		}
		return steadily(i)
	}, 60, func(int) (int64, float64) { return 100, 0.01 })
	h, err := ReadHistory(t.Context(), dir, midnight, midnight.Add(20*time.Minute))
	if err != nil || len(h.Minutes) != 60 {
		t.Fatal(len(h.Minutes), err)
	}
	a, err := h.Assessment()
	if err != nil || a.Account.Transactions != 6000 || len(a.Warnings) != 1 || !strings.HasPrefix(a.Warnings[0], "Of 20 min, 10 min were kept") {
		t.Errorf("%q, %v", a.Warnings, err)
	}
	w := testkit.Must(ring.Open(dir, time.Hour))(t)
	defer w.Close()
	for _, text := range []string{`{}`, `{"schema":4}`, `[]`, `{"schema":4,"minute":{"unseen":{},"host":{"cpus":-1}}}`, `{"evil":1}`,
		`{"schema":4,"minute":{}}`} {
		testkit.OK(t, w.Append(midnight, []byte(text)))
	}
	for _, text := range []string{`"ends":{"windows":[],"own":null}`, `"ends":{"own":{"1":true},"clients":{"2":true}}`, `"newer":1`,
		`"takers":[{"name":"x","pid":1}],"asked":[{}],"full":[{}],"pools":[{}],"cloud":{"held":{"a":{"b":1}}},"clock":{},"wakeups":{},"siblings":{},"trips":{},"requests":{},"interrupts":{},"collector":{},"memory":{},"quota":{}`} {
		text = fmt.Sprintf(`{"schema":%d,"minute":{"service":{"kind":"database","name":"x"},"connected":true,"unseen":{},"report":{"wall":10,"transactions":-1,`+
			`"events":[{}],"statements":[{}],"blockers":[{}],"totals":{},"copies":{},"vacuum":{},"queue":{}},%s}}`, Schema, text)
		testkit.OK(t, w.Append(midnight, []byte(text)))
	}
	for _, bad := range []string{`"wall":-1e308`, `"wall":1e9`, `"wall":10,"busy":-1`, `"wall":10,"busy":1e308,"elapsed":1e308`,
		`"wall":10,"transactions":-9`, `"wall":10,"parts":[{"name":"cpu","seconds":-1}]`} {
		text := fmt.Sprintf(`{"schema":%d,"minute":{"unseen":{},"report":{%s}}}`, Schema, bad)
		testkit.OK(t, w.Append(midnight, []byte(text)))
	}
	testkit.OK(t, w.Append(midnight, []byte(fmt.Sprintf(`{"schema":%d,"minute":{"service":{"kind":"process","name":"other"},"unseen":{},"report":{"wall":10}}}`, Schema))))
	for range 2 { // the last ones are of x
		testkit.OK(t, w.Append(midnight, []byte(fmt.Sprintf(`{"schema":%d,"minute":{"service":{"kind":"database","name":"x"},"connected":true,"unseen":{},"report":{"wall":10}}}`, Schema))))
	}
	testkit.OK(t, w.Append(midnight, []byte(`{"schema":99,"minute":{"unseen":{}}}`)))
	if h, err = ReadHistory(t.Context(), dir, midnight, midnight.Add(20*time.Minute)); err != nil || h.Damaged != 12 || len(h.Minutes) != 67 || h.Other != 1 {
		t.Fatalf("%d minutes, %d damaged, %v", len(h.Minutes), h.Damaged, err)
	}
	if a, err = h.Assessment(); err != nil {
		t.Fatal(err)
	}
	a.Document()
	a.Brief()
	if _, err := h.Worst(time.Minute); err != nil {
		t.Error(err)
	}
	if said := strings.Join(a.Warnings, " "); !strings.Contains(said, "1 stretch is of another service") || !strings.Contains(said, "1 line is of another version") {
		t.Errorf("%q", said)
	}
	for _, x := range a.Minute.Takers {
		testkit.Is(t, 0, x.PID, "a process of the past is named by its number", x)
	}
	old := t.TempDir()
	w = testkit.Must(ring.Open(old, time.Hour))(t)
	defer w.Close()
	testkit.OK(t, w.Append(midnight, []byte(`{"schema":99}`)))
	h = testkit.Must(ReadHistory(t.Context(), old, midnight, midnight.Add(time.Minute)))(t)
	testkit.Refused(h.Assessment())(t, "1 line of about that time cannot be read")
}
