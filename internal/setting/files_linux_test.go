package setting

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

// Below a root, no path and no link leads to files of the machine itself.
func TestRootIsNotLeft(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	testkit.OK(t, os.MkdirAll(filepath.Join(root, "sys"), 0o755))
	testkit.OK(t, os.WriteFile(outside, []byte("untouched"), 0o644))
	for name, to := range map[string]string{"absolute": outside, "relative": "../../outside"} {
		testkit.OK(t, os.Symlink(to, filepath.Join(root, "sys", name)))
	}
	f := filesOf(opened(t, root))
	for path, want := range map[string]error{"/sys/absolute": astray{"/sys/absolute"},
		"/sys/relative":       astray{"/sys/relative"},
		"/sys/absolute/below": astray{"/sys/absolute"}, "/../outside": fs.ErrNotExist, "/sys/../../outside": fs.ErrNotExist} {
		if err := f.WriteFile(path, []byte("x")); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := f.ReadFile(path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if b, _ := os.ReadFile(outside); string(b) != "untouched" {
		t.Errorf("%q", b)
	}
	if names, _ := os.ReadDir(root); len(names) != 1 {
		t.Errorf("a write made a file: %v", names)
	}
}

// What a tree lists and links elsewhere is not left out without a word.
func TestLinkedObjects(t *testing.T) {
	const cpus = "sys/devices/system/cpu/"
	outside := t.TempDir()
	for name, c := range map[string]struct{ link, set, value, file string }{
		"a policy": {cpus + "cpufreq/policy1", "governor", "performance", cpus + "cpufreq/policy0/scaling_governor"},
		"a file of one": {cpus + "cpufreq/policy1/scaling_governor", "governor", "performance",
			cpus + "cpufreq/policy0/scaling_governor"},
		"a CPU":      {cpus + "cpu1", "epb", "0", cpus + "cpu0/power/energy_perf_bias"},
		"its states": {cpus + "cpu1/cpuidle", "cstate_latency", "all", cpus + "cpu0/cpuidle/state1/disable"},
		"a disk":     {"sys/block/sdb", "nomerges", "2", "sys/block/sda/queue/nomerges"},
		"a sysctl":   {"proc/sys/vm/swappiness", "swappiness", "10", "sys/x"},
	} {
		root := t.TempDir()
		for file, text := range map[string]string{c.file: "1\n",
			cpus + "cpufreq/policy0/scaling_available_governors": "performance 1\n",
			cpus + "cpu0/cpuidle/state1/latency":                 "100\n"} {
			file = filepath.Join(root, file)
			testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
		}
		link := filepath.Join(root, c.link)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(link), 0o700),
			os.Symlink(filepath.Join(outside, "there"), link)))
		p, err := NewPlan(treeOf(t, root), []Assignment{{Name: c.set, Value: c.value}})
		if err != nil || len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Reason,
			"/"+c.link+" is a link that leads out of the directory tree") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if others := len(p.Steps); others != 1 && name != "a sysctl" {
			t.Errorf("%s: %d others are left", name, others)
		}
	}
}

// A file of a recorded machine answers as the kernel's would: a list of choices stays one, and
// what could not be read is an error still.
func TestRecordedFile(t *testing.T) {
	for _, c := range []struct{ text, value, want string }{
		{"always [madvise] never\n", "never", "always madvise [never]\n"},
		{"none [mq-deadline] kyber bfq \n", "none", "[none] mq-deadline kyber bfq \n"},
		{"always [madvise] never\n", "madvise", "always [madvise] never\n"},
		{"always [madvise] never\n", "sometimes", "invalid argument"},
		{"!errno EBUSY\n", "performance", "device or resource busy"},
		{"!errno EACCES\n", "performance", "permission denied"},
		{"0\n", "629145600", "629145600\n"},
		{"629145600\n", "0", "0\n"},
		{"32000\t1024000000\t500\t32000\n", "1 2 3 4", "1\t2\t3\t4\n"},
		{"1 2\n", "3 4", "3 4\n"},
		{"60", "10", "10"},
		{"", "10", "10\n"},
	} {
		root := t.TempDir()
		testkit.OK(t, os.WriteFile(filepath.Join(root, "v"), []byte(c.text), 0o644))
		got := ""
		err := filesOf(opened(t, root)).WriteFile("/v", []byte(c.value))
		b, _ := os.ReadFile(filepath.Join(root, "v"))
		if got = string(b); err != nil {
			testkit.Is(t, c.text, got, c.value, "refused, and left")
			got = pathless{err}.Error()
		}
		testkit.Is(t, c.want, got, c.text, c.value)
	}
}

// A shorter value leaves nothing of a longer one, in one write.
func TestPlainFile(t *testing.T) {
	root := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(root, "v"), []byte("performance\n"), 0o644))
	f := filesOf(opened(t, root))
	for _, want := range []string{"power", "balance_performance", "1"} {
		testkit.OK(t, f.WriteFile("/v", []byte(want)))
		if b, err := f.ReadFile("/v"); err != nil || Value(b) != want {
			t.Errorf("%q, %v, want %s", b, err, want)
		}
	}
	if err := f.Writable("/v"); err != nil {
		t.Error(err)
	}
}

// Whoever made a tree may have planted what is no value: it is neither read nor written, and
// stops nobody.
func TestPlantedFiles(t *testing.T) {
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	testkit.OK(t, os.WriteFile(outside, []byte("keep"), 0o644))
	for _, err := range []error{
		os.Link(outside, filepath.Join(root, "hard")),
		syscall.Mkfifo(filepath.Join(root, "fifo"), 0o666),
		syscall.Mknod(filepath.Join(root, "device"), syscall.S_IFCHR|0o666, 1<<8|5), // zero
		os.Symlink("/fifo", filepath.Join(root, "link")),
	} {
		testkit.OK(t, err)
	}
	f := filesOf(opened(t, root))
	for name, want := range map[string]string{"/hard": "2 names", "/fifo": "no regular file", "/device": "no regular file",
		"/link": "no regular file"} {
		testkit.Fails(t, f.WriteFile(name, []byte("x")), want, name)
		if _, err := f.ReadFile(name); name != "/hard" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, _ := os.ReadFile(outside); string(b) != "keep" {
		t.Errorf("%q", b)
	}
}
