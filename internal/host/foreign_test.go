package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hostlab/internal/testkit"
)

// Archives come from other people: what they hold stays in its folder, can be
// looked at, and is recorded again as an archive that can be extracted.
func FuzzExtractArchive(f *testing.F) {
	f.Add([]byte(odd))
	f.Add([]byte(named))
	f.Add([]byte("-- proc/self/mountinfo --\n1 0 8:1 / / rw - ext4 /dev/x rw\n-- sys/block -> . --\n-- a/ --\n-- a -> /b --\n"))
	f.Add([]byte("-- ../x --\n"))
	f.Add([]byte("-- l -> ../.. --\n-- l/x --\n"))
	f.Add([]byte(`-- sys/fs/cgroup/a\x2db.slice/cpu.max --` + "\nmax 1\n-- proc/self/cgroup --\n0::/a\\x2db.slice\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "in", "tree")
		testkit.OK(t, os.MkdirAll(dir, 0o755))
		err := ExtractArchive(data, dir)
		for _, outer := range []string{top, filepath.Dir(dir)} {
			if list, _ := os.ReadDir(outer); len(list) != 1 {
				t.Fatalf("%q wrote beside its folder: %v", data, list)
			}
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %q", err)
			}
			return
		}
		in := Tree{Root: dir}
		Collect(context.Background(), Options{Tree: in, Paths: []PathQuery{{Path: "/"}}})
		var b bytes.Buffer
		testkit.OK(t, Record(context.Background(), in, "", nil, &b))
		if len(txtar.Parse(b.Bytes()).Files) == 0 {
			return
		}
		if err := ExtractArchive(b.Bytes(), t.TempDir()); err != nil {
			t.Errorf("%q is recorded as %q: %v", data, b.Bytes(), err)
		}
	})
}

// No mask loses a line or changes what it has masked, and no configuration makes
// a setting without a name.
func FuzzRecordMask(f *testing.F) {
	f.Add("db7.corp", namedArgs, "31 22 0:44 / /mnt/n rw - nfs4 a:/b rw,addr=1.2.3.4\nx y fuse.z q rw", "[mysqld]\ndatadir = /x # y\n!include /z\n=1")
	f.Add("a-b", "x y\x00-D\x00/a\x00-c\x00data_directory=/b\n", " - \n - nfs a b", "[\n= \n-")
	f.Fuzz(func(t *testing.T, hostname, args, mounts, conf string) {
		m := &recordMask{seen: map[string]string{}, n: map[string]int{}, host: hostname, names: hostNames(hostname, wordsOf(nil))}
		for p, text := range map[string]string{"/proc/9/cmdline": args, "/proc/self/mountinfo": mounts, "/dev/x": args} {
			once := string(m.content(p, []byte(text)))
			if strings.Count(once, "\n") > strings.Count(text, "\n") {
				t.Errorf("%s %q becomes %q", p, text, once)
			}
			testkit.Is(t, once, string(m.content(p, []byte(once))), p, text, "becomes", "then")
		}
		values := parseConf(conf, []string{"mysqld", ""})
		if _, ok := values[""]; ok {
			t.Errorf("%q has a setting without a name", conf)
		}
	})
}

// Members by the million, or below thousands of directories each, are refused before any is written.
func TestExtractArchiveBounds(t *testing.T) {
	for want, data := range map[string]string{
		"more than 200000 members":  strings.Repeat("-- p --\n", maxMembers+2),
		"more than 24 directories":  "-- " + strings.Repeat("a/", 2000) + "b --\n",
		"recorded machine in txtar": "\n-- \n",
	} {
		dir := t.TempDir()
		err := ExtractArchive([]byte(data), dir)
		testkit.Fails(t, err, want)
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			t.Errorf("%s: it wrote %v", want, list)
		}
	}
}
