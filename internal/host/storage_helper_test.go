package host

import (
	"os"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// tree lays out a machine from a txtar archive in the form of ExtractArchive. A ␀
// in a file stands for a NUL.
func tree(t testing.TB, archive string) Tree {
	t.Helper()
	root := t.TempDir()
	testkit.OK(t, ExtractArchive([]byte(strings.ReplaceAll(archive, "␀", "\x00")), root))
	return Tree{Root: root}
}

// disk is the archive of a whole disk with the files that most tests want.
func disk(name, dev, hardware string, files map[string]string) string {
	at := "sys/devices/" + hardware + "/block/" + name
	s := "-- sys/block/" + name + " -> ../" + strings.TrimPrefix(at, "sys/") + " --\n" +
		"-- sys/class/block/" + name + " -> ../../" + strings.TrimPrefix(at, "sys/") + " --\n" +
		"-- sys/dev/block/" + dev + " -> ../../" + strings.TrimPrefix(at, "sys/") + " --\n" +
		"-- " + at + "/dev --\n" + dev + "\n" +
		"-- " + at + "/slaves/ --\n"
	if _, ok := files["size"]; !ok {
		s += "-- " + at + "/size --\n2048\n"
	}
	for f, content := range files {
		s += "-- " + at + "/" + f + " --\n" + content + "\n"
	}
	return s
}

// part is the archive of a partition of such a disk.
func part(name, dev, hardware, of string) string {
	at := "devices/" + hardware + "/block/" + of + "/" + name
	return "-- sys/class/block/" + name + " -> ../../" + at + " --\n" +
		"-- sys/dev/block/" + dev + " -> ../../" + at + " --\n" +
		"-- sys/" + at + "/partition --\n1\n-- sys/" + at + "/dev --\n" + dev + "\n"
}

// slave puts a device below a stacked one.
func slave(of, device string) string {
	return "-- sys/devices/virtual/block/" + of + "/slaves/" + device + " -> ../../../../../class/block/" + device + " --\n"
}

func mountinfo(lines ...string) string {
	return "-- proc/self/mountinfo --\n" + strings.Join(lines, "\n") + "\n"
}

// withPath makes a path part of a recording, as asking about it would have done.
func withPath(t testing.TB, tr Tree, path string) Tree {
	t.Helper()
	v, inView := viewOf(tr, path)
	resolved, err := v.resolve(inView)
	if err == nil {
		err = os.MkdirAll(tr.Join(v.root+resolved), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
