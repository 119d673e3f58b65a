package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

func TestParseList(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"", []int{}},
		{"\n", []int{}},
		{"5", []int{5}},
		{"0-3,8\n", []int{0, 1, 2, 3, 8}},
		{"0-10:2/4", []int{0, 1, 4, 5, 8, 9}},
		{"0-3,", nil},
		{"3-1", nil},
		{"-1", nil},
		{"0-", nil},
		{"a", nil},
		{"0-3:0/4", nil},
		{"0-3:2", nil},
		{"0-99999999", nil},
		{"0-99999999999999999999", nil},
	} {
		got, err := ParseList(c.text)
		testkit.Is(t, (c.want == nil), (err != nil), c.text, "error", err)
		if d := cmp.Diff(c.want, got); c.want != nil && d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

func TestListRoundTrip(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		list := ascending(rapid.SliceOf(rapid.IntRange(0, 600)).Draw(t, "list"))
		got, err := ParseList(FormatList(list))
		if err != nil || !slices.Equal(got, list) {
			t.Fatalf("%v became %q and then %v, %v", list, FormatList(list), got, err)
		}
	})
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{"", "0-3,8", "0-10:2/4", "5,4,3", "0-65535,0-65535", "1-:/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseList(s)
		if err != nil {
			return
		}
		if len(list) > 2*maxListed {
			t.Fatalf("%d numbers", len(list))
		}
		set := ascending(list)
		again, err := ParseList(FormatList(set))
		if err != nil || !slices.Equal(again, set) {
			t.Fatalf("%q: %v became %v, %v", s, set, again, err)
		}
	})
}

func FuzzParseChoice(f *testing.F) {
	for _, s := range []string{"always [madvise] never", "none", "[a] [b]", "[]", "a b", "[none]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseChoice(s)
		if err == nil && (c.Active == "" || !c.Has(c.Active)) {
			t.Fatalf("%q is in force, but not among %q", c.Active, c.Offers)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"48K", "1M", "0", "", "K", "9223372036854775807G", "-1K", "1KK", "1.5M"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseSize(s); err == nil && n < 0 {
			t.Fatalf("%q is %d bytes", s, n)
		}
	})
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{"48K": 48 << 10, "307200K": 300 << 20, "2M": 2 << 20, "512": 512, "": -1, "K": -1, "1KK": -1, "-1K": -1, "9999999999999G": -1} {
		got, err := parseSize(s)
		if err != nil {
			got = -1
		}
		testkit.Is(t, want, got, s, err)
	}
}

func TestReadStates(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"denied": "!errno EACCES\n", "gone": "!errno ENODEV\n", "unsupported": "!errno EOPNOTSUPP\n", "broken": "!errno EIO\n",
		"odd": "!errno EWHAT\n", "closed": "!errno EACCES\n", "fine": " 42 \n", "file": "x\n", "big": strings.Repeat("x", maxFile+1),
		"parts": strings.Repeat("y", 200<<10),
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	tree, end := Tree{Root: dir}.begin(context.Background())
	defer end()
	for _, c := range []struct {
		path, reason string
		state        State
	}{
		{"/denied", "permission denied", StateDenied},
		{"/gone", "no such device", StateAbsent},
		{"/unsupported", "operation not supported", StateAbsent},
		{"/broken", "input/output error", StateError},
		{"/odd", `recorded failure "EWHAT"`, StateError},
		{"/missing", "no such file or directory", StateAbsent},
		{"/closed/below/it", "permission denied", StateDenied},
		{"/file/below", "not a directory", StateError},
		{"/big", "larger than 16 MiB", StateError},
		{"/fine", "", StateOK},
	} {
		f := tree.Text(c.path)
		if f.State != c.state || f.Reason != c.reason || f.Source != c.path {
			t.Errorf("%s: %s %q (%s), want %s %q", c.path, f.State, f.Reason, f.Source, c.state, c.reason)
		}
	}
	if b, err := tree.Read("/parts"); err != nil || len(b) != 200<<10 {
		t.Errorf("%d bytes of a file of 200 KiB, %v", len(b), err)
	}
	if _, err := tree.Dir("/closed"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("listing a closed directory: %v", err)
	}
	if v, ok := tree.Int("/fine", "Hz", 1000).Get(); v != 42000 || !ok {
		t.Errorf("42 kHz are %d", v)
	}
	testkit.Is(t, StateError, tree.Int("/fine", "Hz", 1<<62).State, "an overflow is")
}

func TestInterruptedReadsAreErrors(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	ctx, cancel := context.WithCancel(context.Background())
	tree, end := Tree{Root: dir}.begin(ctx)
	defer end()
	cancel()
	if f := tree.Text("/a"); f.State != StateError || !strings.Contains(f.Reason, "interrupted") {
		t.Errorf("%s %s: what was not read must not look absent", f.State, f.Reason)
	}
}

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
