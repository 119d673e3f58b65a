package assess

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"hostlab/internal/emulate"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/pods"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Main(append(demo.Jobs(), emulate.Jobs()...))
	os.Exit(m.Run())
}

// TestWatchProcess: a process that does nothing but compute has all of its time on CPUs and
// in the queue for them, and its end is said.
func TestWatchProcess(t *testing.T) {
	running, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := exec.CommandContext(running, "sh", "-c", "while :; do :; done")
	testkit.OK(t, cmd.Start())
	go cmd.Wait() //nolint:errcheck // so that it does not stay as a zombie
	s := testkit.Must(service.Spec{Kind: service.Process, Name: fmt.Sprint(cmd.Process.Pid)}.Find(nil, nil))(t)
	m, err := Watch(context.Background(), s, nil, "a process tells no sessions", Options{For: time.Minute, CPUs: 2,
		Progress: func(done time.Duration) {
			if done > 2*time.Second { // of watching, however late it began
				stop()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if m.Ended == "" {
		t.Errorf("the process has ended; watched for %.1f s to the end of the minute", m.Report.Wall)
	}
	active := m.Report.Part(explain.DatabaseCPU).Seconds + m.Report.Part(explain.RunQueue).Seconds
	if wall := m.Report.Wall; active < 0.8*wall || active > 1.2*wall {
		t.Errorf("one busy loop: %.2f s on CPUs and ready, in %.2f s", active, wall)
	}
	for _, l := range m.Levers() {
		t.Logf("%-8s %-10s %s", l.Name, l.Verdict, l.Reason)
		if l.AtMost == nil && l.Reason == "" {
			t.Errorf("%s is unknown without a reason", l.Name)
		}
	}
}

// closed is a database that shows this user nothing of others.
type closed struct{}

func (closed) Server() explain.Server {
	return explain.Server{Vendor: "PostgreSQL", Hidden: true, Missing: []string{"sessions: grant pg_monitor"}}
}
func (closed) Sample(context.Context) ([]explain.Snapshot, error) { return nil, nil }
func (closed) Count(context.Context) (explain.Counters, error)    { return explain.Counters{}, nil }
func (closed) Account(explain.Growth) explain.Account             { return explain.Account{Log: explain.NoLog()} }
func (closed) Meaning(string) string                              { return "" }
func (closed) Close() error                                       { return nil }

// TestWatchHidden: where its sessions do not show, its processes do.
func TestWatchHidden(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testkit.OK(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	s := testkit.Must(service.Spec{Kind: service.Process, Name: fmt.Sprint(cmd.Process.Pid)}.Find(nil, nil))(t)
	m := testkit.Must(Watch(context.Background(), s, closed{}, "", Options{For: 2 * time.Second, CPUs: 2}))(t)
	if m.Connected || m.Why == "" || m.Report.Busy <= 0 ||
		!slices.Contains(m.Report.Missing, "sessions: grant pg_monitor") {
		t.Errorf("connected %v, why %q, %.2f s, missing %q", m.Connected, m.Why, m.Report.Busy, m.Report.Missing)
	}
}

// TestClaimsFirst: what a container may use is read when the minute begins; the process may have ended by its end.
func TestClaimsFirst(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	testkit.OK(t, cmd.Start())
	var b beside
	b.start(&service.Service{PID: cmd.Process.Pid, Containers: []pods.Container{{ID: "web", PID: cmd.Process.Pid, Group: "/lxc/web"}}})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	var m Minute
	b.fill(&m)
	if len(m.Claims) != 1 || m.Claims[0].Limits.OpenFiles.State != host.StateOK && m.Claims[0].Limits.OpenFiles.State != host.StateAbsent {
		t.Errorf("%+v", m.Claims)
	}
}
