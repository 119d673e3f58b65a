package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"hostlab/internal/trust"
)

// Session is a running worker process. Close must be called.
type Session struct {
	ctx    context.Context
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *trust.Ends // a panic's reason is in its first line
	mu     sync.Mutex
	closed bool
}

// Start starts a worker for a job whose loops occupy at most threads threads at
// once. Cancelling ctx kills it, and ends a Call that is under way.
func Start(ctx context.Context, name string, threads int) (*Session, error) {
	return start(ctx, name, threads, func(*exec.Cmd) {})
}

// StartApart starts a worker that outlives what kills our process group. Its End still follows
// when this process has gone.
func StartApart(ctx context.Context, name string) (*Session, error) {
	return start(ctx, name, 1, apart)
}

func start(ctx context.Context, name string, threads int, set func(*exec.Cmd)) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	exe, err := executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program's own file to start a worker: %w", err)
	}
	s := &Session{ctx: ctx, cmd: exec.CommandContext(ctx, exe), stderr: &trust.Ends{Keep: 4096}}
	s.cmd.Args[0] = "hostlab-worker"
	s.cmd.Env = environ(name, threads)
	s.cmd.Stderr = s.stderr
	s.cmd.WaitDelay = time.Second
	set(s.cmd)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a worker process: %w", err)
	}
	return s, nil
}

// environ is the parent's environment without what would change the runtime's
// behaviour, and with what the loops need.
func environ(name string, threads int) []string {
	var env []string
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(key) {
		case Env, "GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK":
		default:
			env = append(env, kv)
		}
	}
	return append(env, Env+"="+name, "GODEBUG=asyncpreemptoff=1", "GOGC=off",
		"GOMAXPROCS="+strconv.Itoa(max(threads+2, 4)))
}

// executable names this program's file. On Linux the link in /proc still leads to
// it after an upgrade has replaced it on disk.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		const self = "/proc/self/exe"
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	return os.Executable()
}

// PID is the process ID of the worker.
func (s *Session) PID() int { return s.cmd.Process.Pid }

// Call sends one request and decodes its answer into out. An *Error is the job's
// own; any other means that the session is over. One call at a time.
func (s *Session) Call(params, out any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errGone
	}
	line, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return s.died(err)
	}
	line, err = s.out.ReadBytes('\n')
	if err != nil {
		return s.died(err)
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("answer of the worker: %w", err)
	}
	if r.Error != "" {
		return &Error{r.Error, r.NoCPU}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Result, out)
}

// died says why a worker does not answer any more.
func (s *Session) died(err error) error {
	s.closed = true
	s.in.Close()
	werr := s.cmd.Wait()
	if cerr := s.ctx.Err(); cerr != nil {
		return cerr
	}
	said := strings.TrimSpace(string(s.stderr.Kept().Parts[0]))
	if text, _, _ := strings.Cut(said, "\n"); text != "" {
		return fmt.Errorf("%w: %s", errGone, text)
	}
	if werr != nil {
		err = werr
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// Close ends the worker and waits until it is gone. It may be called again.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.in.Close()
	// The end of its stdin ends it; what cannot be waited for is killed.
	timer := time.AfterFunc(time.Second, func() { _ = s.cmd.Process.Kill() })
	err := s.cmd.Wait()
	if !timer.Stop() || s.ctx.Err() != nil {
		return nil // a busy host may give it no CPU for so long: it is gone, as was asked
	}
	return err
}
