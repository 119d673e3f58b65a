//go:build linux && amd64 && system

// Package testbed tries hostlab in guests with real kernels. Its tests need what setup.sh makes, which `make lab`
// runs first. They do a part of what can be tried; settings.sh does all of it.
package testbed

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// full tries everything: every value of every setting on every kind of guest, and more kills and cuts.
var full = flag.Bool("full", false, "try everything, which takes an hour and not minutes")

// guest is a machine that is booted for one command.
type guest struct {
	name    string
	environ []string // of guest-run.sh
	disk    bool     // an empty one beside
	apart   bool     // in a network of its own, where its card's other end is
}

const drivers = "acpi-cpufreq cpufreq_powersave cpufreq_ondemand cpufreq_conservative cpufreq_userspace mq-deadline kyber-iosched bfq"

var guests = []guest{
	{"acpi-cpufreq, a domain for each core, C1 to C3", []string{"SSDT=core-cst", "MODULES=" + drivers}, true, false},
	{"amd-pstate in active mode, EPP", []string{"PROFILE=amd", "MODULES=", "APPEND=amd_pstate=active"}, false, false},
	{"acpi-cpufreq, a domain for each core", []string{"SSDT=core", "MODULES=" + drivers}, false, false},
	{"acpi-cpufreq, one domain for the socket", []string{"SSDT=socket", "MODULES=" + drivers}, false, false},
	{"acpi-cpufreq, coupled by the hardware", []string{"SSDT=socket-hw", "MODULES=" + drivers}, false, false},
	{"acpi-cpufreq, a domain for each thread", []string{"SSDT=cpu", "MODULES=" + drivers}, false, false},
	{"acpi-cpufreq, two sockets", []string{"SSDT=twosocket", "MODULES=" + drivers, "SMP=4,sockets=2,cores=1,threads=2"}, false, false},
	{"no cpufreq", []string{"PROFILE=bare", "MODULES="}, false, false},
}

// binaries are hostlab, trial and the tests of emulated clocks, built once.
var binaries = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "hostlab-testbed-")
	if err != nil {
		return "", err
	}
	for name, args := range map[string][]string{
		"hostlab":      {"build", "../cmd/hostlab"},
		"trial":        {"build", "./trial"},
		"service.test": {"test", "-c", "-vet=off", "-tags=system", "../internal/service"},
	} {
		pkg := len(args) - 1
		cmd := exec.Command("go", append(args[:pkg:pkg], "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), args[pkg])...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.New(string(out))
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := binaries(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// boot is a guest that runs trial.
type boot struct {
	cmd          *exec.Cmd
	stderr       bytes.Buffer
	out, pidFile string
	done         chan error
}

// start boots a guest. Its lines come while it runs.
func (g guest) start(t *testing.T, environ []string, args ...string) *boot {
	t.Helper()
	dir := testkit.Must(binaries())(t)
	tmp := testkit.Must(os.MkdirTemp("", "guest-"))(t) // QEMU takes no commas in a path
	b := &boot{out: filepath.Join(tmp, "out"), pidFile: filepath.Join(tmp, "pid"), done: make(chan error, 1)}
	line := append([]string{"./guest-run.sh", filepath.Join(dir, "trial")}, args...)
	if g.apart {
		line = append([]string{"unshare", "--net"}, line...)
	}
	b.cmd = exec.Command(line[0], line[1:]...)
	b.cmd.Env = append(os.Environ(), "FILES="+filepath.Join(dir, "hostlab")+" study/governor.toml study/live-server.toml study/live-kernel.toml", "OUT="+b.out, "PIDFILE="+b.pidFile, "LOG="+filepath.Join(tmp, "console"), "TIMEOUT="+map[bool]string{true: "7200", false: "1100"}[*full])
	b.cmd.Env = append(append(b.cmd.Env, g.environ...), environ...)
	if g.disk {
		b.cmd.Env = append(b.cmd.Env, "DRIVES=file="+emptyDisk(t, tmp)+",format=raw")
	}
	b.cmd.Stderr = &b.stderr
	testkit.OK(t, b.cmd.Start())
	go func() { b.done <- b.cmd.Wait() }()
	t.Cleanup(func() {
		_ = b.cmd.Process.Signal(os.Interrupt)
		select {
		case <-b.done: //nolint:errcheck // wait has told it
		case <-time.After(10 * time.Second):
			_ = b.cmd.Process.Kill()
		}
		_ = os.RemoveAll(tmp)
	})
	return b
}

// emptyDisk is one of 64 MiB.
func emptyDisk(t *testing.T, dir string) (image string) {
	t.Helper()
	image = filepath.Join(dir, "disk.img")
	testkit.OK(t, os.WriteFile(image, nil, 0o600))
	testkit.OK(t, os.Truncate(image, 64<<20))
	return image
}

// run boots a guest, waits for its end, and fails for each FAIL. Kernels panic now and then where QEMU translates
// their code on a busy machine: such a guest is booted once more.
func (g guest) run(t *testing.T, environ []string, args ...string) *boot {
	t.Helper()
	b := g.start(t, environ, args...)
	if b.panicked(t) {
		t.Logf("booted once more after: %s", b.stderr.String())
		b = g.start(t, environ, args...)
	}
	b.wait(t)
	return b
}

// panicked waits for the end, and reports whether it was the kernel's and no scene had failed.
func (b *boot) panicked(t *testing.T) bool {
	t.Helper()
	select {
	case err := <-b.done:
		b.done <- err
		return err != nil && strings.Contains(b.stderr.String(), "Kernel panic") && len(b.lines(t, "FAIL")) == 0
	case <-t.Context().Done():
		return false
	}
}

// played logs the scenes that went well, and requires so many of them.
func (b *boot) played(t *testing.T, scenes int) {
	t.Helper()
	good := b.lines(t, "ok")
	for _, g := range good {
		t.Log(strings.Join(g, ": "))
	}
	testkit.Is(t, scenes, len(good), "scenes")
}

// lines are what it has said until now, those of one kind: their fields.
func (b *boot) lines(t *testing.T, kind string) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile(b.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimRight(line, "\n"), "\t"); fields[0] == kind && strings.HasSuffix(line, "\n") {
			list = append(list, fields[1:])
		}
	}
	return list
}

// wait waits for the end of the command, and fails for each FAIL.
func (b *boot) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-b.done:
		b.done <- err
		for _, f := range b.lines(t, "FAIL") {
			t.Error(strings.Join(f, ": "))
		}
		if err != nil {
			t.Errorf("%v: %s", err, b.stderr.String())
		}
	case <-t.Context().Done():
		t.Fatalf("it did not end: %v", t.Context().Err())
	}
}
