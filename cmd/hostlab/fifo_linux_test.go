package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/assess"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/fleet/demo"
	"hostlab/internal/fleet/web"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// No command waits for a FIFO that is named in place of a file: each says what it is, or that it cannot be used. One that waited
// would never come back.
func TestFIFOs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"fifo", "fifo.json", "fifo.json.gz", "fifo.txtar", "fifo.toml", "fifo.pem"} {
		testkit.OK(t, syscall.Mkfifo(name, 0o600))
	}
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testkit.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
	token, hash := web.NewToken()
	write("token", token+"\n")
	write("tokens.toml", "[[token]]\nname = \"t\"\nsha256 = \""+hash+"\"\nread = true\n")
	write("in.toml", "[study]\nname = \"in\"\n[[factor]]\nname = \"n\"\nparameter = \"n\"\nlevels = [1, 2]\n[workload]\nname = \"command\"\nrun = [\"cat\", \"{n}\"]\nstdin = \"fifo\"\n[[response]]\nname = \"cpu\"\nequiv = \"2%\"\n")
	testkit.OK(t, os.Mkdir("spool", 0o700))
	testkit.OK(t, syscall.Mkfifo("spool/a.json", 0o600))
	m := demo.Maker{Hosts: demo.Least, Seed: 1, Now: time.Now(), Version: "1"}
	testkit.Must(m.Make(t.Context(), "demo"))(t)
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"fleet", "ingest", "demo", "--store", "sqlite:fleet.db"}, streams{strings.NewReader(""), &out, &errs}); status != 0 {
		t.Fatal(errs.String())
	}
	for _, line := range []string{
		"fleet ingest fifo --store sqlite:fleet.db", "fleet ingest fifo.json.gz --store sqlite:fleet.db", "fleet ingest spool --store sqlite:fleet.db", "fleet status --store sqlite:fifo",
		"fleet rollout gate fifo --wave 1 --store sqlite:fleet.db", "fleet rollout status fifo --store sqlite:fleet.db", "fleet rollout plan --hosts fifo --set swappiness=10 --out p.json --store sqlite:fleet.db",
		"fleet send fifo --to http://127.0.0.1:1 --token-file token", "fleet send token --to https://127.0.0.1:1 --token-file token --ca fifo.pem", "fleet send token --to http://127.0.0.1:1 --token-file fifo",
		"fleet serve --listen 127.0.0.1:0 --tls-cert fifo.pem --tls-key token --tokens tokens.toml --store sqlite:fleet.db", "fleet serve --listen 127.0.0.1:0 --tokens fifo --store sqlite:fleet.db",
		"fleet serve --listen 127.0.0.1:0 --exceptions fifo --store sqlite:fleet.db", "fleet check MEM-006 --exceptions fifo --store sqlite:fleet.db", "fleet exceptions check fifo --store sqlite:fleet.db",
		"check --root fifo.txtar", "check --root fifo.json", "check --exceptions fifo", "facts --root fifo.txtar", "facts --root fifo.json", "assess --from fifo.txtar", "export systemd --role production-db --root fifo.txtar",
		"settings --root fifo", "set --root fifo swappiness=10 --dry-run", "verify --root fifo", "revert --root fifo",
		"predict --workload fifo", "predict --workload fifo.toml", "predict --host fifo.toml", "predict --host fifo.txtar", "watch --from fifo", "watch --root fifo.txtar --duration 1s",
		"study check fifo.toml", "study show fifo.toml", "run fifo.toml --out r", "run in.toml --out in -q", "run --resume --out fifo", "report fifo", "assess --compare fifo.txtar --dsn postgres://127.0.0.1:1/x", "assess --dsn-file fifo",
		"workload command run=cat stdin=fifo --runs 1", "export systemd swappiness=10 --out exported",
	} {
		if strings.HasSuffix(line, "--out exported") { // what it would replace
			testkit.OK(t, os.MkdirAll("exported/sysctl.d", 0o755))
			testkit.OK(t, syscall.Mkfifo("exported/sysctl.d/90-hostlab.conf", 0o600))
		}
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(line), streams{strings.NewReader(""), &out, &errs})
		if said := errs.String(); status == 0 || !strings.Contains(said, "FIFO") && !strings.Contains(said, "regular file") && !strings.Contains(said, "expected a directory") &&
			!strings.Contains(said, "a pipe") && !strings.Contains(said, "but not from") && !strings.Contains(said, "names a file") {
			t.Errorf("%s: status %d, %s", line, status, said)
		}
	}
}

// What a shell hands over as a descriptor is read.
func TestDescriptorsAreRead(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	fd := testkit.Must(syscall.Dup(int(r.Fd())))(t)
	r.Close()
	_, _ = w.WriteString("text")
	w.Close()
	f := testkit.Must(openNamed(fmt.Sprintf("/dev/fd/%d", fd)))(t)
	defer f.Close()
	testkit.Is(t, "text", string(testkit.Must(io.ReadAll(f))(t)))
	if n, is := descriptor("/dev/stdin"); !is || n != 0 {
		t.Error("/dev/stdin is not our standard input")
	}
	for _, name := range []string{"/proc/1/fd/0", "/dev/null", "fifo", "/dev/fd/x"} {
		if _, is := descriptor(name); is {
			t.Errorf("%s is a descriptor of ours", name)
		}
	}
}

// A reader that has gone away is no failure worth a word; what was left changed is.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer w.Close()
	r.Close()
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	fd := testkit.Must(syscall.Dup(int(w.Fd())))(t) // each file closes its own, at the latest when it is collected
	stdout := os.NewFile(uintptr(fd), os.Stdout.Name())
	defer stdout.Close()
	std := streams{nil, stdout, io.Discard}
	_, err = std.out.Write([]byte("x"))
	if status, line := outcome(err); status != exitPipe || line != "" {
		t.Errorf("%v gave %d, %q", err, status, line)
	}
	if status, line := outcome(&runner.Cleanup{Err: err}); status != exitFailed || line == "" {
		t.Errorf("with something left: %d, %q", status, line)
	}
	_, err = w.Write([]byte("x")) // a pipe of others
	if status, line := outcome(err); status != exitFailed || line == "" {
		t.Errorf("%v gave %d, %q", err, status, line)
	}
}

// On a terminal, a document that goes to a file leaves a line on where it went, unless that is not asked for.
func TestWrote(t *testing.T) {
	master := testkit.Must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer master.Close()
	testkit.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := testkit.Must(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	tty := testkit.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer tty.Close()
	file := filepath.Join(t.TempDir(), "it.json")
	for _, args := range [][]string{{"version", "--quiet", "--out", file + ".quiet.json"}, {"version", "--out", file}} {
		var out bytes.Buffer
		testkit.Is(t, exitOK, run(t.Context(), args, streams{&bytes.Buffer{}, &out, tty}))
		testkit.Is(t, "", out.String())
	}
	line := testkit.Must(bufio.NewReader(master).ReadString('\n'))(t)
	testkit.Is(t, "hostlab: wrote "+file+"\r\n", line)
}

// Each study that could prove a lever is tried, as is the one of log devices.
func TestCannotTryLooksAtAll(t *testing.T) {
	m := &assess.Minute{Service: service.Service{Kind: service.Process, PID: os.Getpid()}}
	_, studies := m.OnService()
	for study := range cannotTry(t.Context(), m) {
		if study != "log-device" && !slices.Contains(studies, study) {
			t.Errorf("%s is no study of a lever", study)
		}
	}
}

// A database is tried as the process that was watched: of several of its name, another may be the busiest.
func TestCannotTryLooksAtTheWatched(t *testing.T) {
	m := &assess.Minute{Service: service.Service{Kind: service.Database, Name: "NoSuchDatabase", PID: os.Getpid()}}
	for study, why := range cannotTry(t.Context(), m) {
		if strings.Contains(why, m.Service.Name) {
			t.Errorf("%s: %s", study, why)
		}
	}
}

// TestProcRootHeld: what is read is of the directory that was opened, wherever its name leads later.
func TestProcRootHeld(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "proc")
	p := hostProc{}
	testkit.OK(t, errors.Join(os.Symlink("/proc", link), func() (err error) { p, err = openProc(link); return err }(),
		os.Remove(link), os.Mkdir(link, 0o755), os.Symlink("7", filepath.Join(link, "self"))))
	defer unix.Close(p.fd)
	testkit.Is(t, strconv.Itoa(os.Getpid()), testkit.Must(os.Readlink(p.path("self")))(t), "process")
}

// TestMountedHere: a mount that this namespace does not have may be another user's.
func TestMountedHere(t *testing.T) {
	own := testkit.Must(os.Open("/proc"))(t)
	defer own.Close()
	r, w, err := os.Pipe() // of a mount that no namespace has
	testkit.OK(t, err)
	defer r.Close()
	defer w.Close()
	if !mountedHere(int(own.Fd())) || mountedHere(int(r.Fd())) || mountedHere(-1) {
		t.Errorf("/proc %v, a pipe %v", mountedHere(int(own.Fd())), mountedHere(int(r.Fd())))
	}
}

// TestExecute: the program is the one that was opened, whatever its path leads to later.
func TestExecute(t *testing.T) {
	if os.Getenv("HOSTLAB_TEST_EXECUTE") != "" {
		fd, err := unix.Open("/bin/echo", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			err = execute(fd, []string{"echo", "it", "runs"}, []string{"A=1"})
		}
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExecute$")
	cmd.Env = append(os.Environ(), "HOSTLAB_TEST_EXECUTE=1")
	testkit.Is(t, "it runs\n", string(testkit.Must(cmd.CombinedOutput())(t)))
	if err := execute(-1, []string{"x"}, nil); err == nil || !errors.Is(err, unix.EBADF) {
		t.Errorf("of no descriptor: %v", err)
	}
}

// TestProcRootErrors: what is no /proc of the host is refused in one line that says what to do. Under go test this
// process may be on a host that shows it to be one, where nothing is to be done.
func TestProcRootErrors(t *testing.T) {
	for dir, says := range map[string]string{t.TempDir(): "is no /proc", "/no/such": "no such file"} {
		err := entering(dir)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", dir, err)
		}
		var out, errs bytes.Buffer
		testkit.Is(t, exitUsage, run(t.Context(), []string{"version", "--proc-root", ""},
			streams{&bytes.Buffer{}, &out, &errs}), "an empty --proc-root: status", errs.String())
	}
}
