//go:build linux && system

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/assess"
	"hostlab/internal/host"
	"hostlab/internal/report"
	"hostlab/internal/testkit"
)

// keeper is a 'hostlab watch --ring' under way.
type keeper struct {
	*exec.Cmd
	dir  string
	mu   sync.Mutex
	says []string
}

func keeping(t *testing.T, service, dir string) *keeper {
	t.Helper()
	k := &keeper{Cmd: exec.Command("hostlab", "watch", "--service", service, "--ring", "1h", "--ring-dir", dir), dir: dir}
	out := testkit.Must(k.StderrPipe())(t)
	testkit.OK(t, k.Start())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			k.mu.Lock()
			k.says = append(k.says, lines.Text())
			k.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = k.Process.Kill()
		<-over
		_ = k.Wait()
	})
	k.until(t, "it keeps", func() bool { return k.said(": keeping ") == 1 })
	return k
}

// said is how many of its lines have a text.
func (k *keeper) said(text string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, line := range k.says {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// has are the accounts that are in its ring, none of them damaged.
func (k *keeper) has(t *testing.T) []*assess.Minute {
	t.Helper()
	h, err := report.ReadHistory(t.Context(), k.dir, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		return nil // nothing is in it yet
	}
	testkit.Is(t, 0, h.Damaged, "damaged lines")
	return h.Minutes
}

// until waits for an event.
func (k *keeper) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := testkit.End(t); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			k.mu.Lock()
			defer k.mu.Unlock()
			t.Fatalf("%s: not seen; it says %q", what, k.says)
		}
	}
}

// program is one of this name, which sleeps for as many seconds as it is told to.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := testkit.Must(os.ReadFile(testkit.Must(exec.LookPath("sleep"))(t)))(t)
	testkit.OK(t, os.WriteFile(path, text, 0o700)) //nolint:gosec // it is to run
	return path
}

// TestRingOfRestarts: a service that ends and comes back 100 times is kept, as far as its lives last for a second, and then as
// any other.
func TestRingOfRestarts(t *testing.T) {
	t.Parallel()
	testkit.Root(t)
	path := program(t, "hl-restarts")
	const lives = `"$0" 3600 & read go; kill $!
i=0; while [ $i -lt 100 ]; do i=$((i+1)); [ $((i%10)) = 0 ] && "$0" 3 || "$0" 0.2; done
echo over; exec "$0" 3600`
	cmd := exec.Command("/bin/sh", "-c", lives, path) //nolint:gosec // this test's
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, out := testkit.Must(cmd.StdinPipe())(t), testkit.Must(cmd.StdoutPipe())(t)
	testkit.Start(t, cmd)
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	first := &keeper{}
	first.until(t, "its first life", func() bool { // else there is nothing to keep
		return exec.Command("pgrep", "-x", "hl-restarts").Run() == nil
	})
	k := keeping(t, "hl-restarts", filepath.Join(t.TempDir(), "ring"))
	testkit.Must(io.WriteString(in, "go\n"))(t)
	_, err := io.ReadAll(io.LimitReader(out, int64(len("over\n"))))
	testkit.OK(t, err)
	k.until(t, "a whole account of its last life", func() bool {
		list := k.has(t)
		return len(list) > 0 && list[len(list)-1].Ended == "" && list[len(list)-1].Report.Wall > 0.9*report.KeptFor.Seconds()
	})
	ended := 0
	for _, m := range k.has(t) {
		if m.Ended != "" {
			ended++
		}
	}
	k.until(t, "that it goes on as often as it waits", func() bool { // which it says after the account is there
		waits := k.said("waiting for hl-restarts")
		return waits > 0 && waits == k.said("is kept again")
	})
	fds := testkit.Must(os.ReadDir("/proc/" + strconv.Itoa(k.Process.Pid) + "/fd"))(t)
	if len(fds) > 64 {
		t.Errorf("%d descriptors are open after 100 restarts", len(fds))
	}
	testkit.OK(t, k.Process.Signal(syscall.SIGTERM))
	if state, err := k.Process.Wait(); err != nil || !state.Success() {
		t.Errorf("asked to end: %v, %v", state, err)
	} else {
		t.Logf("%d accounts are of lives that ended; %s of CPU time", ended, state.UserTime()+state.SystemTime())
	}
}

// TestRingsOfOneService: two rings keep one service at once, and a third has none of their places. One on a full disk keeps
// nothing, says so once, and goes on when there is room; the other does not care.
func TestRingsOfOneService(t *testing.T) {
	t.Parallel()
	testkit.Root(t)
	path := program(t, "hl-two-rings")
	testkit.Start(t, exec.Command(path, "3600")) //nolint:gosec // this test's
	small := t.TempDir()
	testkit.OK(t, unix.Mount("tmpfs", small, "tmpfs", 0, "size=128k,mode=700"))
	t.Cleanup(func() { testkit.OK(t, unix.Unmount(small, unix.MNT_DETACH)) })
	one := keeping(t, "hl-two-rings", filepath.Join(t.TempDir(), "ring"))
	full := keeping(t, "hl-two-rings", filepath.Join(small, "ring"))
	again := exec.Command("hostlab", "watch", "--service", "hl-two-rings", "--ring", "1h", "--ring-dir", one.dir)
	said, err := again.CombinedOutput()
	exit, ended := errors.AsType[*exec.ExitError](err)
	if !ended || exit.ExitCode() != exitUsage || !bytes.Contains(said, []byte("keeps a ring in")) {
		t.Errorf("a ring that is kept already: %v, %s", err, said)
	}
	for _, k := range []*keeper{one, full} {
		k.until(t, "an account", func() bool { return len(k.has(t)) > 0 })
	}
	ballast := filepath.Join(small, "ballast")
	f := testkit.Must(os.Create(ballast))(t)
	for _, size := range []int{64 << 10, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(slices.Repeat([]byte("x"), size))
		}
		testkit.Fails(t, err, "no space left on device")
	}
	f.Close()
	full.until(t, "that its disk is full", func() bool { return full.said("nothing is kept: ") > 0 })
	before, there := len(one.has(t)), len(full.has(t))
	one.until(t, "two more accounts of the other", func() bool { return len(one.has(t)) >= before+2 })
	testkit.Is(t, there, len(full.has(t)), "accounts on the full disk")
	testkit.OK(t, os.Remove(ballast))
	full.until(t, "that it goes on", func() bool {
		return full.said("hl-two-rings is kept again") == 1 && len(full.has(t)) > there
	})
	testkit.Is(t, 1, full.said("nothing is kept: "), "times that it said so")
	testkit.Is(t, 0, one.said("nothing is kept: "), "times that the other one did")
}

// TestWatchScreen drives the full screen in a real terminal: two sizes, a resize, and
// the ways out, after each of which the terminal is as it was.
func TestWatchScreen(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.Made512(dir))
	socket := filepath.Join(t.TempDir(), "s")
	tmux := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	until := func(want string, not ...string) string {
		t.Helper()
		screen := ""
		for end := testkit.End(t); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			screen = tmux("capture-pane", "-p")
			if strings.Contains(screen, want) && (len(not) == 0 || !strings.Contains(screen, not[0])) {
				return screen
			}
		}
		t.Fatalf("%q does not show up in\n%s", want, screen)
		return ""
	}
	// This test binary serves as hostlab when it is called so (TestMain).
	self := testkit.Must(os.Executable())(t)
	bin := filepath.Join(t.TempDir(), "hostlab")
	testkit.OK(t, os.Symlink(self, bin))
	tmux("new-session", "-d", "-x", "80", "-y", "24", "env", "NO_COLOR=1", "PS1=ready> ", "sh")
	defer func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() }()
	modes := func() string {
		return tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{mouse_any_flag}")
	}
	until("ready>")
	before := modes()
	start := func() {
		tmux("send-keys", "clear; stty -g; "+bin+" watch --interval 300ms --root "+dir+"; echo ended $?; stty -g", "Enter")
		until("512 CPUs")
	}
	start()
	until("busy of each CPU")
	if on := modes(); on == before {
		t.Error("the alternate screen is not in use")
	}
	for _, size := range [][2]string{{"120", "40"}, {"80", "24"}, {"50", "12"}, {"80", "24"}} {
		tmux("resize-window", "-x", size[0], "-y", size[1])
		time.Sleep(time.Second)
		screen := until("q quit")
		if lines := strings.Split(strings.TrimRight(screen, "\n"), "\n"); !strings.HasPrefix(lines[len(lines)-1], "q quit") || !strings.HasPrefix(lines[0], "hostlab watch") {
			t.Errorf("at %v the first and the last line are not where they belong:\n%s", size, screen)
		}
	}
	if coloured := tmux("capture-pane", "-p", "-e"); strings.Contains(coloured, "\x1b[3") {
		t.Errorf("NO_COLOR is set, and there are colours: %q", coloured)
	}
	tmux("send-keys", "h")
	until("pause (the record goes on)")
	tmux("send-keys", "h", "m", "End")
	until(" 511  ")
	for _, way := range []string{"q", "C-c", "TERM"} {
		if way == "TERM" {
			pid := strings.TrimSpace(tmux("display-message", "-p", "#{pane_pid}"))
			child := testkit.Must(exec.Command("pgrep", "-P", pid).Output())(t)
			if out, err := exec.Command("kill", "-TERM", strings.TrimSpace(string(child))).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		} else {
			tmux("send-keys", way)
		}
		screen := until("ended 0", "q quit")
		testkit.Is(t, before, modes(), "after", way, "the terminal's modes")
		var stty []string
		for l := range strings.Lines(screen) {
			if strings.Count(l, ":") > 10 {
				stty = append(stty, l)
			}
		}
		if len(stty) >= 2 && strings.Join(stty[:len(stty)/2], "") != strings.Join(stty[len(stty)/2:], "") {
			t.Errorf("after %s stty is another:\n%s", way, screen)
		}
		if way != "TERM" {
			start()
		}
	}
}

// TestWatchServes scrapes the endpoint, and tries its port a second time.
func TestWatchServes(t *testing.T) {
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	taken := l.Addr().String()
	defer l.Close()
	var out, stderr bytes.Buffer
	if status := run(context.Background(), []string{"watch", "--count", "1", "--listen", taken}, streams{nil, &out, &stderr}); status != exitUsage ||
		!strings.Contains(stderr.String(), "another program listens there") {
		t.Errorf("a port in use: status %d: %s", status, stderr.String())
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var note bytes.Buffer
	w, url, err := (&watchOptions{interval: time.Second, listen: "0"}).open(ctx, host.Tree{}, &note)
	testkit.OK(t, err)
	defer w.Close()
	testkit.Must(w.Next(ctx))(t)
	if !strings.HasPrefix(url, "http://127.0.0.1:") || strings.Contains(note.String(), "warning") {
		t.Errorf("a port alone is served at %s: %s", url, note.String())
	}
	r := testkit.Must(http.Get(url))(t) //nolint:bodyclose // it is, below
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" ||
		!strings.Contains(string(body), "hostlab_watch_samples_total 2\n") {
		t.Errorf("%v, status %d, %v\n%s", err, r.StatusCode, r.Header, body)
	}

	note.Reset()
	open, url, err := (&watchOptions{interval: time.Second, listen: "0.0.0.0:0"}).open(ctx, host.Tree{}, &note)
	testkit.OK(t, err)
	defer open.Close()
	testkit.Has(t, note.String(), "can be reached from other hosts")
	if !strings.HasPrefix(url, "http://0.0.0.0:") {
		t.Errorf("0.0.0.0 is served at %s: IPv6 was not asked for", url)
	}
}
