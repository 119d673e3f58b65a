package host_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func render(t *testing.T, f *host.Facts) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, f.Document(time.Time{}, ""), document.TextOptions{}))
	return b.String()
}

// flat is a text without its layout.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestStatesAreSaid(t *testing.T) {
	f := &host.Facts{}
	f.Topology.SMTControl = host.Unknown[string]("/sys/x", fs.ErrPermission)
	f.Memory.Total = host.Unknown[int64]("/proc/meminfo", errors.New("no line MemTotal"))
	f.Kernel.Cmdline = host.Known("a\x1b[31m\nb\xff "+strings.Repeat("long", 30), "", "/proc/cmdline")
	f.Kernel.PressureCPU = host.Known(0.125, "", "/proc/pressure/cpu")
	f.Idle.States = []host.IdleState{{Name: host.Known("C6", "", "x"), Latency: host.Known(1e-4, "s", "x"), CPUs: []int{0, 1, 2}, Unread: []int{0, 1, 2},
		Disable: host.Unknown[bool]("x", fs.ErrPermission)}}
	for i := range 9 {
		f.Frequency.Policies = append(f.Frequency.Policies, host.Policy{ID: i, CPUs: host.Known([]int{i}, "", "x"),
			HWMax: host.Known(int64(1+i)*1e9, "Hz", "/policy1/x"), Governor: host.Known(strings.Repeat("g", i+1), "", "/policy1/y")})
	}
	b := render(t, f)
	for _, want := range []string{
		"SMT control denied: " + fs.ErrPermission.Error(),
		"total error: no line MemTotal",
		"a?[31m b? longlong",
		"pressure CPU 12.5 %",
		"0-2 0 C6 100 us 0-2 denied",
		"hardware max 1.00 GHz to 9.00 GHz, cpus 0-8",
		"and 3 other values",
	} {
		testkit.Has(t, flat(b), want, b)
	}
	for line := range strings.Lines(b) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

func TestOfflinePoliciesAreOneLine(t *testing.T) {
	f := &host.Facts{}
	f.Topology.Online = host.Known([]int{0}, "", "x")
	busy := host.Unknown[string]("x", errors.New("device or resource busy"))
	f.Frequency.Policies = []host.Policy{
		{ID: 0, CPUs: host.Known([]int{0}, "", "x"), Governor: host.Known("ondemand", "", "x"), PStates: host.Known([]int64{2401e6, 2400e6}, "Hz", "x")},
		{ID: 1, CPUs: host.Unknown[[]int]("x", errors.New("busy")), Governor: busy}, {ID: 2, CPUs: host.Known([]int{2}, "", "x"), Governor: busy},
	}
	b := render(t, f)
	for _, want := range []string{"without online CPU policies 1-2", "governor ondemand, cpu 0", "2401, 2400 MHz, cpu 0"} {
		testkit.Has(t, flat(b), want, b)
	}
	if strings.Contains(b, "busy") {
		t.Errorf("offline policies are listed line by line:\n%s", b)
	}
}
