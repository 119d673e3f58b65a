//go:build system

package runner

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/delayfs"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// aFactor has a level for each directory, in the order of their names.
func aFactor(dirs map[string]string) experiment.Factor {
	f := experiment.Factor{Factor: result.Factor{Name: "log", Kind: experiment.KindParameter}, Parameter: "dir",
		Directories: map[string]experiment.Directory{}}
	for _, l := range slices.Sorted(maps.Keys(dirs)) {
		text := dirs[l]
		f.Levels = append(f.Levels, l)
		if text == "" {
			continue // a level that nobody named a directory for
		}
		d := experiment.Directory{Dir: text}
		if rest, slow := strings.CutPrefix(text, "delay:"); slow {
			delay, dir, _ := strings.Cut(rest, ":")
			d.Dir = dir
			d.Delay, _ = time.ParseDuration(delay)
		}
		f.Directories[l] = d
	}
	f.Baseline = f.Levels[0]
	return f
}

func TestLookAt(t *testing.T) {
	base := t.TempDir()
	sub := filepath.Join(base, "sub")
	testkit.OK(t, os.Mkdir(sub, 0o700))
	file := filepath.Join(base, "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	hers := filepath.Join(base, "hers")
	testkit.OK(t, errors.Join(os.Mkdir(hers, 0o700), os.Chown(hers, 54321, 54321))) // takes root
	for name, c := range map[string]struct {
		dirs     map[string]string
		lacks    map[string]string // level -> what its reason holds
		cautions map[string]string // level -> what its caution holds
	}{
		"one device twice": {map[string]string{"a": base, "b": "sub"}, nil,
			map[string]string{"b": "factor log: levels a and b lie on the same device ("}},
		"and a third time": {map[string]string{"a": base, "b": sub, "c": experiment.OwnDirectory}, nil,
			map[string]string{"b": "levels a and b lie", "c": "levels a and c lie"}},
		"two devices": {map[string]string{"a": base, "b": "/dev/shm"}, nil, nil},
		"no directory": {map[string]string{"a": base, "b": ""},
			map[string]string{"b": "no directory was named for it: --set level.b=DIRECTORY"}, nil},
		"gone": {map[string]string{"a": base, "b": "gone"},
			map[string]string{"b": filepath.Join(base, "gone") + " cannot be used: "}, nil},
		"a file": {map[string]string{"a": base, "b": file}, map[string]string{"b": "not a directory"}, nil},
		"made up": {map[string]string{"a": base, "b": "/proc/self"},
			map[string]string{"b": "/proc/self cannot be used: "}, nil},
		"slowed, same device": {map[string]string{"a": base, "b": "delay:1ms:" + sub}, nil,
			map[string]string{"b": "level b is emulated: a file system of hostlab adds 1ms to each sync"}},
		"slowed alike": {map[string]string{"a": "delay:1ms", "b": "delay:1ms:" + sub}, nil,
			map[string]string{"a": "level a is emulated", "b": "levels a and b lie on the same device ("}},
		"slowed otherwise": {map[string]string{"a": "delay:1ms", "b": "delay:2ms:" + sub}, nil,
			map[string]string{"a": "level a is emulated", "b": "adds 2ms to each sync, in place of a slow device"}},
		"not what it is called": {map[string]string{"dax": "/dev/shm", "pmem": "/dev/shm", "tmpfs": "/dev/shm"}, nil,
			map[string]string{"dax": "has no DAX", "pmem": "is not on persistent memory", "tmpfs": "lie on the same device"}},
		"slowed, another's": {map[string]string{"a": base, "b": "delay:1ms:" + hers},
			map[string]string{"b": "hers belongs to uid 54321, who could replace what root writes there; name a directory of root's"}, nil},
		"slowed, what is gone": {map[string]string{"a": base, "b": "delay:1ms:gone"},
			map[string]string{"b": "gone cannot be used: "}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "slowed") && delayfs.Lacking() != "" {
				c.lacks, c.cautions = map[string]string{}, nil
				for l, dir := range c.dirs {
					if strings.HasPrefix(dir, "delay:") {
						c.lacks[l] = delayfs.Lacking()
					}
				}
			}
			f := aFactor(c.dirs)
			here := lookAt(&experiment.Study{Dir: base, Out: filepath.Join(base, "out", "of", "this"),
				Factors: []experiment.Factor{f}}, f)
			got := map[string]string{}
			for _, p := range here.Places {
				if len(p.Cautions) > 0 {
					got[p.Level] = strings.Join(p.Cautions, "; ")
				}
				if p.On == "" {
					t.Errorf("%q tells nothing", p.Level)
				}
				if dir := c.dirs[p.Level]; p.Factor != "log" || p.Emulated != strings.HasPrefix(dir, "delay:") ||
					p.Volatile != (dir == "/dev/shm") {
					t.Errorf("%s: %+v", dir, p)
				}
			}
			for what, list := range map[string][2]map[string]string{"lacks": {here.Lacks, c.lacks},
				"cautions": {got, c.cautions}} {
				testkit.Is(t, len(list[1]), len(list[0]), what, list[0], list[1])
				for level, want := range list[1] {
					if text := list[0][level]; !strings.Contains(text, want) || strings.Contains(text, "\n") {
						t.Errorf("%s of %s: %q, want %q in one line", what, level, text, want)
					}
				}
			}
		})
	}
}

// Plain levels are their directories, the record's own is the workload's to make, and
// what a killed session left in a directory of the user's is removed, nothing else.
func TestPlaces(t *testing.T) {
	testkit.Root(t)
	base, record := t.TempDir(), t.TempDir()
	for _, dir := range []string{"plain", "behind", "behind/.hostlab-delay-id/at", "behind/.hostlab-delay-other",
		"behind/theirs"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(base, dir), 0o700))
	}
	testkit.OK(t, os.MkdirAll(filepath.Join(record, "slow", "0", "behind"), 0o700))
	f := aFactor(map[string]string{"a": experiment.OwnDirectory, "b": "plain", "c": "delay:1ms:behind"})
	held := testkit.Must(os.OpenRoot(record))(t)
	defer held.Close()
	p := testkit.Must(newPlaces(&experiment.Study{Dir: base, Factors: []experiment.Factor{f}}, held, "id"))(t)
	left, err := filepath.Glob(filepath.Join(base, "behind", "*"))
	hidden, _ := filepath.Glob(filepath.Join(base, "behind", ".hostlab*"))
	want := []string{filepath.Join(base, "behind", ".hostlab-delay-other"), filepath.Join(base, "behind", "theirs")}
	if diff := cmp.Diff(want, append(hidden, left[len(left)-1])); diff != "" || err != nil {
		t.Errorf("left %v", diff)
	}
	if _, err := os.Lstat(filepath.Join(record, "slow")); !os.IsNotExist(err) {
		t.Errorf("the record's mounts: %v", err)
	}
	for level, want := range map[string]string{"a": "", "b": filepath.Join(base, "plain")} {
		testkit.Is(t, want, testkit.Must(p.directory(t.Context(), f, level))(t), "level", level)
	}
	if got, err := p.directory(t.Context(), f, "d"); err == nil || got != "" {
		t.Errorf("a level without a directory: %q", got)
	}
	if delayfs.Lacking() == "" {
		slow(t, p, f, filepath.Join(base, "behind", ".hostlab-delay-id"))
	}
	for range 2 {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(base, "behind", ".hostlab-delay-id")); !os.IsNotExist(err) {
		t.Errorf("behind the mount: %v", err)
	}
}

// slow looks at a level that is slowed: it is mounted once, and shows what is behind it.
func slow(t *testing.T, p *places, f experiment.Factor, behind string) {
	t.Helper()
	first := testkit.Must(p.directory(t.Context(), f, "c"))(t)
	testkit.Is(t, first, testkit.Must(p.directory(t.Context(), f, "c"))(t), "mounted again")
	if err := os.WriteFile(filepath.Join(first, "x"), []byte("y"), 0o600); err != nil {
		t.Error(err)
	}
	testkit.Is(t, "y", string(testkit.Must(os.ReadFile(filepath.Join(behind, "x")))(t)), "behind it")
}
