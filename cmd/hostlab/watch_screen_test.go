//go:build linux && system

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

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
