package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestExtractArchive(t *testing.T) {
	tree := host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, `A recorded machine.
-- sys/devices/sda/size --
4096
-- sys/block/sda -> ../devices/sda --
-- sys/block/gone -> ../devices/gone --
-- etc/self -> /proc/1 --
-- proc/1/comm --
init
-- proc/loop -> loop --
-- dev/shm/ --
`)}
	for path, want := range map[string]string{"/sys/block/sda/size": "4096", "/etc/self/comm": "init"} {
		if got := tree.Text(path); got.Value != want {
			t.Errorf("%s: %s", path, stateText(got))
		}
	}
	if target, err := os.Readlink(filepath.Join(tree.Root, "etc/self")); err != nil || filepath.IsAbs(target) {
		t.Errorf("an absolute link was written as %q, %v", target, err)
	}
	if names, err := tree.Dir("/dev/shm"); err != nil || len(names) != 0 {
		t.Errorf("the empty directory: %v, %v", names, err)
	}
	testkit.Is(t, host.StateAbsent, tree.Text("/sys/block/gone/size").State, "below a link that leads nowhere")
}

func TestExtractArchiveRefuses(t *testing.T) {
	for _, c := range []struct{ name, archive, want string }{
		{"text", "hello\n", "not a recorded machine"},
		{"an absolute name", "-- /etc/passwd --\nx\n", `member "/etc/passwd": expected a path below the root`},
		{"up", "-- a/../../b --\nx\n", "expected a path below the root"},
		{"a link that leads out", "-- a/l -> ../../etc --\n", "the link leads out of the archive"},
		{"through another link", "-- d/e/f/ --\n-- up -> d/e --\n-- d/e/top -> ../.. --\n-- l -> up/top/../etc --\n", "the link leads out of the archive"},
		{"a file through a link", "-- l -> ../.. --\n-- l/x --\ny\n", "path escapes"},
		{"no target", "-- l ->  --\n", ""},
		{"twice", "-- a --\n1\n-- a --\n2\n", "file exists"},
		{"a file for a folder", "-- a --\n1\n-- a/b --\n2\n", `member "a/b"`},
		{"an empty name", "-- ./ --\n", "expected a path below the root"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "in", "side")
			testkit.OK(t, os.MkdirAll(dir, 0o755))
			err := host.ExtractArchive([]byte(c.archive), dir)
			if c.want == "" {
				return // "->" without a target is a plain, if odd, name
			}
			testkit.Fails(t, err, c.want, "error")
			for _, d := range []string{parent, filepath.Join(parent, "in")} {
				if entries, _ := os.ReadDir(d); len(entries) != 1 {
					t.Errorf("something was written outside: %v", entries)
				}
			}
		})
	}
}
