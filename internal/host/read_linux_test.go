package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// A FIFO in a given tree has no writer: opening it must not wait for one.
func TestReadOfFIFO(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	done := make(chan Fact[string], 1)
	go func() { done <- Tree{Root: dir}.Word("/fifo") }()
	select {
	case f := <-done:
		testkit.Is(t, StateError, f.State, "a FIFO is")
	case <-time.After(time.Until(testkit.End(t))):
		t.Fatal("reading a FIFO hangs")
	}
}

// Links of a recorded tree lead to its own files, never to those of the machine
// that we run on.
func TestLinksStayInTheTree(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("ours"), 0o644))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "recorded"), []byte("theirs"), 0o644))
	for name, target := range map[string]string{
		"absolute": "/recorded", "up": "../../../../../../recorded", "out": filepath.Join(outside, "secret"), "folder": outside,
	} {
		testkit.OK(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	tree := Tree{Root: dir}
	for path, want := range map[string]string{"/absolute": "theirs", "/up": "theirs", "/out": "", "/folder/secret": "", "/../../recorded": "theirs"} {
		testkit.Is(t, want, tree.Text(path).Or(""), path, "reads")
	}
	if tree.Exists("/out") || !tree.Exists("/absolute") {
		t.Error("Exists follows a link out of the tree, or none within it")
	}
	testkit.Refused(tree.Dir("/folder"))(t, "", "Dir follows a link out of the tree")
}

// opened counts how often anybody opens some files from now on, other than to look at them (O_PATH).
func opened(t *testing.T, files ...string) func() int {
	t.Helper()
	fd := testkit.Must(unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC))(t)
	t.Cleanup(func() { unix.Close(fd) })
	for _, f := range files {
		if _, err := unix.InotifyAddWatch(fd, f, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	return func() int {
		n, _ := unix.Read(fd, make([]byte, 4096)) // EAGAIN: nothing
		return max(n, 0) / unix.SizeofInotifyEvent
	}
}

// What a process, its configuration or its files name is opened only where it is a regular file, and never below /dev, /proc
// or /sys: also by links, by "..", and through files that include others. What is not read is not known.
func TestNamedByAProcess(t *testing.T) {
	const mysqld, postgres = "/usr/sbin/mysqld␀--datadir=/data␀", "/usr/bin/postgres␀-D␀/data␀"
	conf := func(path, text string) string { return "-- " + strings.TrimPrefix(path, "/") + " --\n" + text + "\n" }
	for name, c := range map[string]struct{ comm, args, more, setting string }{
		"an option file":             {"mysqld", mysqld + "--defaults-file=/dev/x␀", "", "innodb_flush_method"},
		"by ..":                      {"mysqld", mysqld + "--defaults-file=/dev/../etc/../dev/x␀", "", "innodb_flush_method"},
		"by a link":                  {"mysqld", mysqld + "--defaults-file=/etc/link␀", "-- etc/link -> ../dev/x --\n", "innodb_flush_method"},
		"by a link of a directory":   {"mysqld", mysqld + "--defaults-file=/etc/link/x␀", "-- etc/link -> ../dev --\n", "innodb_flush_method"},
		"below a device":             {"mysqld", mysqld + "--defaults-file=/dev/x/y␀", "", ""},
		"of the kernel's":            {"mysqld", mysqld + "--defaults-file=/proc/x␀", "", "innodb_flush_method"},
		"of sysfs":                   {"mysqld", mysqld + "--defaults-file=/sys/x␀", "", "innodb_flush_method"},
		"another process's":          {"mysqld", mysqld + "--defaults-file=/proc/1/environ␀", "-- proc/1/environ --\n[mysqld]\ninnodb_flush_method=fsync\n", "innodb_flush_method"},
		"a FIFO":                     {"mysqld", mysqld + "--defaults-file=/etc/fifo␀", "", "innodb_flush_method"},
		"an extra file":              {"mysqld", mysqld + "--defaults-extra-file=/dev/x␀", "", "innodb_flush_method"},
		"an included file":           {"mysqld", mysqld + "--defaults-file=/etc/a␀", conf("/etc/a", "!include /dev/x"), "innodb_flush_method"},
		"what was persisted":         {"mysqld", mysqld, "-- data/mysqld-auto.cnf -> ../dev/x --\n", "innodb_flush_method"},
		"a directory of the kernel":  {"mysqld", "/usr/sbin/mysqld␀--datadir=/dev␀", conf("/dev/mysqld-auto.cnf", persistedV2), "innodb_flush_method"},
		"PostgreSQL's configuration": {"postgres", postgres + "-c␀config_file=/dev/x␀", "", "fsync"},
		"its include":                {"postgres", postgres, conf("/data/postgresql.conf", "include '/dev/x'"), "fsync"},
		"its relative include":       {"postgres", postgres, conf("/data/postgresql.conf", "include '../dev/x'"), "fsync"},
		"its FIFO":                   {"postgres", postgres + "-c␀config_file=/etc/fifo␀", "", "fsync"},
		"its version":                {"postgres", postgres, "-- data/PG_VERSION -> ../dev/x --\n", ""},
		"MongoDB's configuration":    {"mongod", "/usr/bin/mongod␀--config␀/dev/x␀", "", "maxIncomingConnections"},
		"MongoDB's log":              {"mongod", "/usr/bin/mongod␀--dbpath␀/data␀--logpath␀/dev/x␀", "", ""},
		"HANA's system":              {"hdbindexserver", "hdbindexserver␀", "-- proc/50/environ --\nSAPSYSTEMNAME=../../hana␀\n-- hana/SYS/global/hdb/custom/config/global.ini -> /dev/x --\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			const text = "[mysqld]\ninnodb_flush_method=fsync\nfsync=off\nnet:\n  maxIncomingConnections: 7\n[persistence]\nbasepath_logvolumes=/wrong\n"
			tr := tree(t, "-- data/ --\n"+conf("/dev/x", text)+conf("/proc/x", text)+conf("/sys/x", text)+runs(50, 1, c.comm, c.args)+c.more)
			fifo := filepath.Join(tr.Root, "etc", "fifo")
			testkit.OK(t, os.MkdirAll(filepath.Dir(fifo), 0o755))
			testkit.OK(t, syscall.Mkfifo(fifo, 0o600))
			tr.notes = &notes{of: map[string]note{}, made: map[string]member{}}
			opens := opened(t, fifo, tr.Join("/dev/x"), tr.Join("/proc/x"), tr.Join("/sys/x"))
			list := dbsOf(tr)
			r := recorder{t: tr.quiet(), members: map[string]member{}}
			for p, what := range tr.notes.of {
				r.take(p, what)
			}
			if n := opens(); n != 0 || len(list) != 1 {
				t.Fatalf("%d of the files were opened; found %+v", n, list)
			}
			if got := list[0].Setting(c.setting); c.setting != "" && (got.State != StateError || !strings.Contains(got.Reason, "name a regular file") && !strings.Contains(got.Reason, "is no regular file")) {
				t.Errorf("%s: %+v", c.setting, got)
			}
			if dir := list[0].LogDir.Value; dir == "/wrong" {
				t.Errorf("the log lies in %s", dir)
			}
		})
	}
}

// On the machine itself nothing of the kernel's is opened for a process, whatever leads there, and no FIFO. Its own
// configuration is.
func TestNamedOnTheMachine(t *testing.T) {
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	null := testkit.Must(os.Open(os.DevNull))(t)
	defer null.Close()
	for _, err := range []error{
		os.WriteFile(at("conf"), []byte("a=b"), 0o600), os.Symlink("conf", at("link")), syscall.Mkfifo(at("fifo"), 0o600), os.Symlink("fifo", at("to fifo")),
		os.Symlink("/dev/null", at("to null")), os.Symlink("/dev", at("dev")), os.Symlink("/proc/version", at("to proc")),
	} {
		testkit.OK(t, err)
	}
	tr := Tree{process: fmt.Sprintf("/proc/%d/", os.Getppid())}
	opens := opened(t, at("fifo"))
	for _, name := range []string{"/dev/null", "/dev/../dev/null", dir + "/../../../../../dev/null", at("to null"), at("dev/null"), at("fifo"), at("to fifo"), at("to proc"), "/proc/version",
		"/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), null.Fd()), fmt.Sprintf("/proc/%d/root/dev/null", os.Getpid()),
		fmt.Sprintf("/proc/%d/root/proc/version", os.Getpid()), fmt.Sprintf("/proc/%d/root%s", os.Getpid(), at("to null"))} {
		if b, err := tr.Read(name); err == nil || StateOf(err) != StateError {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	testkit.Is(t, 0, opens(), "the FIFO was opened", "times")
	for _, name := range []string{at("conf"), at("link"), fmt.Sprintf("/proc/%d/root%s", os.Getpid(), at("link"))} {
		if b, err := tr.Read(name); string(b) != "a=b" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := tr.Read(tr.process + "status"); err != nil {
		t.Error(err)
	}
}

// A tree that anybody made is not left, and nothing but its
// regular files is read.
func TestTreeIsNotLeft(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, "sys"), 0o755), os.WriteFile(outside, []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(root, "sys", "v"), []byte("1\n"), 0o644),
		os.Symlink(outside, filepath.Join(root, "sys", "absolute")), os.Symlink("../../outside", filepath.Join(root, "sys", "relative")),
		os.Symlink("v", filepath.Join(root, "sys", "within")),
		syscall.Mkfifo(filepath.Join(root, "sys", "fifo"), 0o666),
		syscall.Mknod(filepath.Join(root, "sys", "device"), syscall.S_IFCHR|0o666, 1<<8|5), // zero
	} {
		testkit.OK(t, err)
	}
	tree := Tree{Root: root}
	for _, name := range []string{"absolute", "relative", "fifo", "device"} {
		path := "/sys/" + name
		if b, err := tree.Read(path); err == nil {
			t.Errorf("%s: %q", path, b[:min(len(b), 10)])
		}
	}
	if got := tree.Text("/sys/device"); !strings.Contains(got.Reason, "no regular file") {
		t.Errorf("%+v", got)
	}
	testkit.Is(t, "1", tree.Text("/sys/within").Value)
}

// The machine that the test runs on, whatever it is, as whatever user.
func TestRecordThisMachine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "log")
	testkit.OK(t, os.WriteFile(file, []byte("rows\n"), 0o600))
	got := members(record(t, Tree{}, "here", []string{dir, file}))
	for _, name := range []string{"proc/cpuinfo", "proc/self/status", "proc/self/mountinfo"} {
		if got[name] == "" {
			t.Errorf("%s is not recorded", name)
		}
	}
	testkit.Has(t, got["proc/self/status"], fmt.Sprintf("\nPid:\t%d\n", os.Getpid()), "proc/self/status is not of this process")
	if s := got[strings.TrimPrefix(statxFile(dir), "/")]; !strings.Contains(s, "free=") || !strings.Contains(s, "readonly=0") {
		t.Errorf("attributes of a directory: %q", s)
	}
	testkit.Has(t, got[strings.TrimPrefix(statxFile(file), "/")], "free=", "attributes of a file")
	if s, ok := got[strings.TrimPrefix(file, "/")]; s != "" || !ok {
		t.Errorf("a file that was asked about must be there and empty, is %q (%v)", s, ok)
	}
}
