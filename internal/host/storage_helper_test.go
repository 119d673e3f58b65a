package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// tree lays out a machine from a txtar archive. Three names are special: those
// that end in "/" are empty folders, "a/b -> target" is a link, and a file that
// holds "!errno EACCES" cannot be read. A ␀ in a file stands for a NUL.
func tree(t testing.TB, archive string) Tree {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name, target, link := strings.Cut(f.Name, " -> ")
		full := filepath.Join(root, name)
		dir := filepath.Dir(full)
		if strings.HasSuffix(name, "/") {
			dir = full
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, full)
		case !strings.HasSuffix(name, "/"):
			err = os.WriteFile(full, []byte(strings.ReplaceAll(string(f.Data), "␀", "\x00")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
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
