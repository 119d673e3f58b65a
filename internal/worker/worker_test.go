package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/testkit"
)

// driver makes this test binary play a hostlab that starts a worker and waits.
const driver = "HOSTLAB_TEST_DRIVER"

func TestMain(m *testing.M) {
	Main(testJobs())
	if os.Getenv(driver) != "" {
		drive()
	}
	os.Exit(m.Run())
}

type spinParams struct{ Threads int }

func testJobs() []Job {
	return []Job{
		{Name: "count", New: func() Func {
			n := 0
			return Handle(func(by int) (int, error) {
				if by < 0 {
					return 0, errors.New("cannot count down")
				}
				n += by
				return n, nil
			})
		}},
		{Name: "spin", New: func() Func { // for ever, on several threads
			return Handle(func(p spinParams) (int, error) {
				for range p.Threads {
					go func() { hot.Scan(hot.Buffer(hot.LineSize), hot.New[hot.Word](), &hot.New[hot.Lane]().Spins) }()
				}
				hot.PingPong(hot.New[hot.Line](), 1, 1, hot.New[hot.Word]())
				return 0, nil
			})
		}},
		{Name: "end", New: func() Func { return Handle(func(n int) (int, error) { return n, nil }) }, End: func() {
			time.Sleep(50 * time.Millisecond) // long enough for the answer to fail first
			_ = os.WriteFile(os.Getenv("HOSTLAB_TEST_END"), nil, 0o600)
		}},
		{Name: "panic", New: func() Func { return func(json.RawMessage) (any, error) { panic("as asked") } }},
		{Name: "env", New: func() Func {
			return Handle(func(int) (map[string]string, error) {
				out := map[string]string{"procs": strconv.Itoa(runtime.GOMAXPROCS(0))}
				for _, k := range []string{"GODEBUG", "GOGC", "GOMAXPROCS"} {
					out[k] = os.Getenv(k)
				}
				return out, nil
			})
		}},
	}
}

// drive starts a spinning worker, prints its process ID and calls it.
func drive() {
	s, err := Start(context.Background(), "spin", 3)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(strings.TrimSpace(jsonOf(s.PID())) + "\n")
	_ = s.Call(spinParams{2}, nil) // ends with this process
}

func jsonOf(v any) string { b, _ := json.Marshal(v); return string(b) }

// A job's end has its turn also where the parent is killed between a question and its answer.
func TestEndAfterLostAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ended")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environ("end", 1), "HOSTLAB_TEST_END="+file)
	in := testkit.Must(cmd.StdinPipe())(t)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	_ = out.Close()
	testkit.Must(in.Write([]byte("1\n")))(t)
	time.Sleep(200 * time.Millisecond) // the answer finds no reader
	_ = in.Close()
	err := cmd.Wait()
	if _, missing := os.Stat(file); err != nil || missing != nil {
		t.Errorf("%v, %v", err, missing)
	}
}

func TestSessionKeepsState(t *testing.T) {
	s := testkit.Must(Start(t.Context(), "count", 1))(t)
	defer s.Close()
	var got int
	for i := range 3 {
		if err := s.Call(5, &got); err != nil || got != 5*(i+1) {
			t.Fatalf("call %d gave %d, %v", i, got, err)
		}
	}
	var jobErr *Error
	if err := s.Call(-1, &got); !errors.As(err, &jobErr) || jobErr.Text != "cannot count down" {
		t.Errorf("error of the job came as %v", err)
	}
	if err := s.Call("x", &got); !errors.As(err, &jobErr) || !strings.Contains(jobErr.Text, "parameters") {
		t.Errorf("wrong parameters gave %v", err)
	}
	if err := s.Call(1, &got); err != nil || got != 16 {
		t.Errorf("after an error: %d, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	testkit.Fails(t, s.Call(1, &got), "", "a closed session answered")
	waitGone(t, s.PID(), hangs)
}

func TestRunAndEnvironment(t *testing.T) {
	t.Setenv("GOGC", "50")
	t.Setenv("GODEBUG", "madvdontneed=1")
	var got map[string]string
	testkit.OK(t, once(t.Context(), "env", 0, &got))
	if got["GOGC"] != "off" || got["GODEBUG"] != "asyncpreemptoff=1" || got["procs"] != "4" {
		t.Errorf("a worker's environment: %v", got)
	}
}

// However few processors the user's environment asks for, every loop has one, and two
// are left for the rest.
func TestProcessorsForAll(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	s := testkit.Must(Start(t.Context(), "env", 600))(t)
	defer s.Close()
	var got map[string]string
	if err := s.Call(0, &got); err != nil || got["procs"] != "602" {
		t.Errorf("%s processors for 600 loops, %v", got["procs"], err)
	}
}

func TestFailures(t *testing.T) {
	err := once(t.Context(), "no-such", 0, nil)
	testkit.Fails(t, err, "no such job", "an unknown job gave")
	err = once(t.Context(), "panic", 0, nil)
	if err == nil || !strings.Contains(err.Error(), "as asked") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a panic gave %q, want one line with its text", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := once(ctx, "count", 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gave %v", err)
	}
}

// Cancelling must end a worker that is deep in loops which nothing can preempt.
func TestCancelKills(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := testkit.Must(Start(ctx, "spin", 3))(t)
	defer s.Close()
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := s.Call(spinParams{2}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Call gave %v", err)
	}
	waitGone(t, s.PID(), hangs)
}

// Close of a session whose worker is spinning must not hang either.
func TestCloseEndsSpinning(t *testing.T) {
	s := testkit.Must(Start(t.Context(), "spin", 3))(t)
	testkit.Must(s.in.Write([]byte("{\"Threads\":2}\n")))(t)
	time.Sleep(50 * time.Millisecond)
	s.Close()
	waitGone(t, s.PID(), hangs)
}

// A parent that is killed outright leaves nothing spinning behind.
func TestOrphanEnds(t *testing.T) {
	exe := testkit.Must(os.Executable())(t)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), driver+"=1")
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	var pid int
	testkit.OK(t, json.NewDecoder(out).Decode(&pid))
	time.Sleep(100 * time.Millisecond) // let it spin
	if !alive(pid) {
		t.Fatal("the worker was gone before its parent")
	}
	testkit.OK(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as asked
	waitGone(t, pid, 2*hangs)
}

// hangs is what no end takes, however busy the machine is.
const hangs = 10 * time.Second

func waitGone(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	for deadline := testkit.End(t); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
			t.Fatalf("worker %d still runs %v later", pid, within)
		}
	}
}

// once starts a worker with a few threads, calls it once and ends it.
func once(ctx context.Context, name string, params, out any) error {
	s, err := Start(ctx, name, 2)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Call(params, out)
}

// A kept worker keeps its state, and comes back without it after a call that was
// cancelled.
func TestKept(t *testing.T) {
	k := Kept{Job: "count"}
	defer k.Close()
	call := func(threads int) (n int) {
		t.Helper()
		testkit.OK(t, k.Call(t.Context(), threads, 1, &n))
		return n
	}
	if a, b := call(1), call(1); a != 1 || b != 2 {
		t.Errorf("counted %d, %d", a, b)
	}
	if n := call(3); n != 1 { // a larger one
		t.Errorf("counted %d", n)
	}
	var job *Error
	if err := k.Call(t.Context(), 1, -1, nil); !errors.As(err, &job) {
		t.Errorf("error of the job came as %v", err)
	}
	testkit.Is(t, 2, call(1), "after an error of the job")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Call(ctx, 1, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	for range 2 {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	testkit.Is(t, 1, call(1), "after Close")
}

func TestKeptIsCancelled(t *testing.T) {
	k := Kept{Job: "spin"}
	defer k.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := k.Call(ctx, 3, spinParams{2}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
