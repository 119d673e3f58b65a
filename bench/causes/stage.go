//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/delayfs"
	"hostlab/internal/proc"
)

//go:embed programs
var programs embed.FS

// stage is a load at work, and what undoes it, the last first.
type stage struct {
	ctx    context.Context
	setup  setup
	dir    string // of the service's files
	data   string // the directory that Cold keeps out of the page cache
	pid    int    // of the service
	free   bool   // a server behind the service, which limits do not reach
	beside int    // of the first process beside it
	env    []string
	groups []string // of the service
	undo   []func() error
	marks  marks
	said   bytes.Buffer // standard error of all
	mu     sync.Mutex
}

// mark is how many transactions were done at a moment, in s.
type mark struct{ At, N float64 }

// marks are those of clients.
type marks struct {
	mu  sync.Mutex
	all []mark
}

func (m *marks) since(at float64) (out []mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.all {
		if k.At >= at {
			out = append(out, k)
		}
	}
	return out
}

// progress is a line of pgbench --progress-timestamp: the rate since the line before.
var progress = regexp.MustCompile(`^progress: ([0-9.]+) s, ([0-9.]+) tps`)

// read takes a line of a load.
func (m *marks) read(line string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := progress.FindStringSubmatch(line); p != nil {
		at, _ := strconv.ParseFloat(p[1], 64)
		tps, _ := strconv.ParseFloat(p[2], 64)
		k := mark{At: at}
		if n := len(m.all); n > 0 {
			k.N = m.all[n-1].N + tps*(at-m.all[n-1].At)
		}
		m.all = append(m.all, k)
		return true
	}
	var k mark
	if n, _ := fmt.Sscanf(line, "mark %g %g", &k.At, &k.N); n != 2 {
		return false
	}
	m.all = append(m.all, k)
	return true
}

// each is the time that a client's transaction took in a slice, in s: from one to the next without its thinking.
func (s *stage) each(slice time.Duration) (float64, error) {
	began := now()
	if err := s.wait(slice + time.Second/2); err != nil {
		return 0, err
	}
	for { // a transaction may last longer than the slice
		k := s.marks.since(began)
		if n := len(k) - 1; n > 0 && k[n].N-k[0].N >= 3 && k[n].At-k[0].At >= slice.Seconds()/2 {
			per := (k[n].At - k[0].At) / (k[n].N - k[0].N) * float64(max(s.setup.Clients, 1))
			return per - s.setup.Think/1000, nil
		}
		if now()-began > 10*slice.Seconds() {
			return 0, fmt.Errorf("only %d marks of transactions in %.0f s: %s", len(k), now()-began, s.last())
		}
		if err := s.wait(time.Second); err != nil {
			return 0, err
		}
	}
}

func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }

func (s *stage) wait(d time.Duration) error {
	select {
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-time.After(d):
		return nil
	}
}

// later remembers how to undo a step.
func (s *stage) later(f func() error) { s.undo = append(s.undo, f) }

func (s *stage) close() (err error) {
	for i := len(s.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, s.undo[i]())
	}
	return err
}

func (s *stage) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(string(s.said.Bytes()[max(0, s.said.Len()-600):]))
}

// note takes what processes print: marks, and words for an error.
func (s *stage) note(line string) {
	if s.marks.read(line) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.WriteString(line + "\n")
}

// start runs a program in a process group of its own until the end of the stage.
func (s *stage) start(groups []string, name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(name, args...)
	if len(groups) > 0 { // it enters them before it begins
		enter := `for g in $GROUPS_OF; do echo $$ > $g/cgroup.procs || exit 1; done; exec "$@"`
		cmd = exec.Command("/bin/sh", append([]string{"-c", enter, "sh", name}, args...)...)
		cmd.Env = []string{"GROUPS_OF=" + strings.Join(groups, " ")}
	}
	cmd.Env = append(append(os.Environ(), s.env...), cmd.Env...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	go func() {
		for in := bufio.NewScanner(r); in.Scan(); {
			s.note(in.Text())
		}
	}()
	s.later(func() error {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // all that it started
		_ = cmd.Wait()
		return r.Close()
	})
	return cmd, nil
}

// run runs a program to its end.
func (s *stage) run(name string, args ...string) error {
	cmd := exec.CommandContext(s.ctx, name, args...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// prepare makes the directory, programs, control groups and the delay of a service.
func (s *stage) prepare() (err error) {
	parent := "/dev/shm"
	if s.setup.Disk || s.setup.Memory > 0 {
		parent = "/var/tmp"
	}
	if s.dir, err = os.MkdirTemp(parent, "causes-"); err != nil {
		return err
	}
	s.later(func() error { return os.RemoveAll(s.dir) })
	bin := filepath.Join(s.dir, "bin")
	for _, d := range []string{bin, s.dir + "/behind", s.dir + "/log"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	entries, _ := programs.ReadDir("programs")
	for _, e := range entries {
		text, _ := programs.ReadFile("programs/" + e.Name())
		if err := os.WriteFile(filepath.Join(bin, e.Name()), text, 0o755); err != nil { //nolint:gosec // others run it
			return err
		}
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // servers have accounts of their own
		return err
	}
	s.env = []string{"PATH=" + bin + ":/usr/sbin:/usr/bin:/sbin:/bin", "BIN=" + bin, "LOG=" + s.dir + "/log", "PYTHONUNBUFFERED=1"}
	if s.setup.Sync > 0 {
		m, err := delayfs.New(s.ctx, s.dir+"/behind", s.dir+"/log", time.Duration(s.setup.Sync*float64(time.Millisecond)))
		if err != nil {
			return err
		}
		s.later(m.Close)
	}
	if s.setup.Memory > 0 {
		err = errors.Join(err, s.group("memory", "service", "memory.limit_in_bytes", strconv.Itoa(s.setup.Memory<<20)))
	}
	if s.setup.Quota > 0 {
		err = errors.Join(err, s.group("cpu", "service", "cpu.cfs_quota_us", strconv.Itoa(int(1e5*s.setup.Quota))))
	}
	if s.setup.Shares > 0 {
		err = errors.Join(err, s.group("cpu", "service", "cpu.shares", strconv.Itoa(s.setup.Shares)))
	}
	if s.setup.Set != "" { // which takes nodes of memory before it takes processes
		err = errors.Join(err, s.group("cpuset", "service", "cpuset.mems", "0"), s.group("cpuset", "service", "cpuset.cpus", s.setup.Set))
	}
	if s.setup.Frozen > 0 {
		err = errors.Join(err, s.group("freezer", "service", "freezer.state", "THAWED"))
		s.freeze()
	}
	for file, limit := range map[string]int{"blkio.throttle.read_iops_device": s.setup.IOPS,
		"blkio.throttle.write_bps_device": s.setup.Writes << 20} {
		var at unix.Stat_t
		if err := unix.Stat(s.dir, &at); err != nil {
			return err
		}
		if limit > 0 {
			err = errors.Join(err, s.group("blkio", "service", file, fmt.Sprintf("%d:%d %d", unix.Major(at.Dev), unix.Minor(at.Dev), limit)))
		}
	}
	return err
}

// group makes a control group with a limit.
func (s *stage) group(controller, name, file, value string) error {
	dir := filepath.Join("/sys/fs/cgroup", controller, "causes-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("control groups of version 1 are needed: %w", err)
	}
	s.groups = append(s.groups, dir)
	s.later(func() error { return leave(dir) })
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o600)
}

// freeze freezes the service's control group again and again.
func (s *stage) freeze() {
	file := s.groups[len(s.groups)-1] + "/freezer.state"
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	s.later(func() error { cancel(); <-done; return os.WriteFile(file, []byte("THAWED"), 0o600) })
	go func() {
		defer close(done)
		for words := []string{"FROZEN", "THAWED"}; ctx.Err() == nil; words[0], words[1] = words[1], words[0] {
			_ = os.WriteFile(file, []byte(words[0]), 0o600)
			time.Sleep(time.Duration(s.setup.Frozen * float64(time.Millisecond)))
		}
	}()
}

// leave removes a control group once its processes have ended.
func leave(dir string) (err error) {
	for range 100 {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// limit puts a server that runs, and what it has started, under the limits of the service.
func (s *stage) limit() error {
	if s.free {
		return nil
	}
	for _, pid := range proc.Family(s.pid) {
		for _, g := range s.groups {
			if err := os.WriteFile(g+"/cgroup.procs", []byte(strconv.Itoa(pid)), 0o600); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if s.setup.CPUs != "" {
			if err := s.run("taskset", "-a", "-p", "-c", s.setup.CPUs, strconv.Itoa(pid)); err != nil && unix.Kill(pid, 0) == nil {
				return err
			}
		}
	}
	return nil
}

// taken is the share of this host's CPUs that others take, in a second before a load begins.
func (s *stage) taken() (float64, error) {
	before, _ := proc.Loads(nil)
	began := time.Now()
	if err := s.wait(time.Second); err != nil {
		return 0, err
	}
	after, known := proc.Loads(nil)
	if !known {
		return 0, errors.New("/proc/stat does not show what the CPUs do")
	}
	return proc.Share(before, after, 0, time.Since(began).Seconds()), nil
}

// evict keeps the service's data out of the page cache.
func (s *stage) evict() {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	s.later(func() error { cancel(); <-done; return nil })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = filepath.WalkDir(s.data, func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return nil //nolint:nilerr // a file that a server has removed
				}
				if i, err := e.Info(); err != nil || i.Size() < 1<<20 {
					return nil //nolint:nilerr // the same
				}
				if f, err := os.Open(path); err == nil {
					_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
					f.Close()
				}
				return nil
			})
			time.Sleep(20 * time.Millisecond)
		}
	}()
}
