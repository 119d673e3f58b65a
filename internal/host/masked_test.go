package host

import (
	"context"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// What hides a setting must not look like a kernel without it.
func TestMaskedSettingsAreUnknown(t *testing.T) {
	const whole = "-- proc/meminfo --\nMemTotal: 8 kB\n-- proc/sys/kernel/x --\n-- sys/devices/system/cpu/online --\n0\n"
	tests := []struct{ name, archive, path, want string }{
		{"nothing is hidden", whole, "/proc/sys/vm/max_map_count", ""},
		{"no /proc", "-- sys/x --\n", "/proc/sys/vm/max_map_count", "/proc is missing or masked"},
		{"an empty /proc", "-- proc/ --\n", "/proc/cmdline", "/proc is missing or masked"},
		{"processes alone (subset=pid)", "-- proc/self/status --\n-- proc/12/stat --\n", "/proc/stat", "/proc is missing or masked"},
		{"a process that is gone", "-- proc/self/status --\n", "/proc/12/comm", ""},
		{"no /proc/sys", "-- proc/meminfo --\n", "/proc/sys/kernel/sem", "/proc/sys is missing or masked"},
		{"an empty /proc/sys", "-- proc/sys/ --\n-- proc/meminfo --\n", "/proc/sys/kernel/sem", "/proc/sys is missing or masked"},
		{"other files than those of /proc/sys", "-- proc/meminfo --\n", "/proc/pressure/cpu", ""},
		{"an empty /sys", "-- sys/ --\n", "/sys/kernel/mm/ksm/run", "/sys is missing or masked"},
		{"no CPU folder", "-- sys/kernel/x --\n", "/sys/devices/system/cpu/online", "/sys/devices/system/cpu is missing or masked"},
		{"no CPU folder, other file", "-- sys/kernel/x --\n", "/sys/kernel/mm/ksm/run", ""},
		{"outside of /proc and /sys", "-- x --\n", "/etc/hostname", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := tree(t, tt.archive)
			in, end := tr.begin(context.Background())
			defer end()
			for _, f := range []Fact[string]{tr.Text(tt.path), in.Text(tt.path), in.Text(tt.path), // the last is from memory
				headOf(tr, tt.path)} {
				if tt.want == "" {
					if f.State != StateAbsent || f.State == StateMasked {
						t.Errorf("%+v", f)
					}
				} else if f.State != StateMasked || f.Reason != tt.want {
					t.Errorf("%+v, want %q", f, tt.want)
				}
			}
		})
	}
}

func headOf(t Tree, path string) Fact[string] {
	_, err := t.head(path, 10)
	return Unknown[string](path, err)
}

// Each fact of a list that the checks judge is unknown where /proc and /sys are
// hidden, and none is called absent.
func TestCollectBehindMasks(t *testing.T) {
	f := Collect(context.Background(), Options{Tree: tree(t, "-- proc/ --\n-- sys/ --\n-- .dockerenv --\n")})
	m, k := f.Memory, f.Kernel
	for _, a := range []AnyFact{
		m.Total, m.SwapTotal, m.Swappiness, m.DirtyBytes, m.DirtyRatio, m.DirtyBackgroundBytes, m.DirtyBackgroundRatio,
		m.MaxMapCount, m.ShmMax, m.ShmAll, m.ShmMni, m.THPEnabled, k.Cmdline, k.Clocksource, k.Sem, k.PIDMax, k.AIOMaxNr,
		k.PressureCPU, f.Virt.Steal, f.Limits.Affinity, f.Limits.CPUQuota, f.Topology.Present, f.Topology.SMTControl,
	} {
		if _, _, source, st, why := a.Any(); st != StateMasked || why == "" {
			t.Errorf("%s: %s, %q", source, st, why)
		}
	}
	if c := f.Virt.Container; c.State == StateOK {
		t.Errorf("a file that an image may hold is no proof of a container: %+v", c)
	}
}

func TestSettingsAreAPageAtMost(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	tr := tree(t, "-- sys/a --\n"+long+"\n-- proc/sys/b --\n"+long[:4097]+"\n-- sys/page --\n"+long[:4096]+"\n-- proc/cmdline --\n"+long[:65537]+
		"\n-- proc/self/limits --\n"+long[:65537]+"\n-- sys/list --\n"+strings.Repeat("0,2,", 5000)+"4\n-- sys/lists --\n"+strings.Repeat("0,2,", 50000)+"4\n")
	for path, want := range map[string]string{
		"/sys/a":            "longer than a settings file can be (3145728 bytes)",
		"/proc/sys/b":       "longer than a settings file can be (4097 bytes)",
		"/sys/page":         "",
		"/proc/cmdline":     "longer than a settings file can be (65537 bytes)",
		"/proc/self/limits": "",
	} {
		f := tr.Text(path)
		if f.Reason != want || (want == "") != (f.State == StateOK) || want != "" && f.State != StateError {
			t.Errorf("%s: %s, %q", path, f.State, f.Reason)
		}
	}
	if f := tr.Choice("/sys/a"); f.State != StateError || !strings.HasPrefix(f.Reason, "longer than") {
		t.Errorf("%s, %q", f.State, f.Reason)
	}
	if f := tr.List("/sys/list"); f.State != StateOK {
		t.Errorf("a list of CPUs may be longer than a page: %+v", f.Reason)
	}
	testkit.Is(t, StateError, tr.List("/sys/lists").State)
}
