// Package worker runs hot loops in a process of their own: this program started
// again, with the garbage collector off, asynchronous preemption off and threads
// to spare, so that nothing but the loop runs on the CPU that is measured. With
// the reporter in the same process, gaps above 1 us were 3 to 20 times as many.
//
// Parent and worker talk in JSON lines over the worker's stdin and stdout. The
// worker ends when its stdin ends, so it cannot outlive a parent that was killed.
package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"hostlab/internal/thread"
)

// Env names the variable that makes Main run a job instead of returning. Its
// value is the job's name.
const Env = "HOSTLAB_WORKER"

// Func answers one request of the parent. What it returns must encode as JSON.
// Memory that it keeps between requests lives as long as the session.
type Func func(params json.RawMessage) (any, error)

// Job is something a worker can do. New is called once per session.
type Job struct {
	Name string
	New  func() Func
	// End, if there is one, is called when the parent has closed the session or is
	// gone, before the process ends: for what a job has changed outside of it.
	End func()
}

// Handle adapts a function with typed parameters to Func.
func Handle[P, R any](f func(P) (R, error)) Func {
	return func(params json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("parameters: %w", err)
		}
		return f(p)
	}
}

// reply is one line of the worker's stdout.
type reply struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	NoCPU  bool            `json:"no_cpu,omitempty"` // the Error is thread.ErrNoCPU
}

// Main must be called first thing in main, and in TestMain of packages that run
// workers. In a worker process it runs the job and exits; otherwise it returns.
func Main(jobs []Job) {
	name := os.Getenv(Env)
	if name == "" {
		return
	}
	// Ctrl-C, a closed terminal and timeout(1) signal the whole process group. What
	// then happens to this one is for the parent to say; it ends with its input.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A parent that was killed before it read an answer must not end this one either, before what End
	// has to do. With a handler, writing gives an error instead, and children do not inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, j := range jobs {
		if j.Name == name {
			if err := serve(j, os.Stdin, os.Stdout); err != nil {
				fmt.Fprintf(os.Stderr, "worker %s: %v\n", name, err)
				os.Exit(1) //nolint:forbidigo // this is the worker's main
			}
			os.Exit(0) //nolint:forbidigo // this is the worker's main
		}
	}
	fmt.Fprintf(os.Stderr, "%s=%s: no such job; unset the variable\n", Env, name)
	os.Exit(1) //nolint:forbidigo // this is the worker's main
}

// serve answers requests until in ends. It exits the process at that moment, even
// in the middle of a job.
func serve(j Job, in io.Reader, out io.Writer) error {
	f := j.New()
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				// The parent closed the session, or is gone. Nothing can stop a hot loop but
				// the end of the process.
				if j.End != nil {
					j.End()
				}
				os.Exit(0) //nolint:forbidigo // this is the worker's main
			}
			lines <- line
		}
	}()
	enc := json.NewEncoder(out)
	for line := range lines {
		if err := enc.Encode(answer(f, line)); err != nil {
			if j.End == nil {
				return err
			}
			continue // the parent is gone, and its end of our input ends this process
		}
	}
	return nil
}

func answer(f Func, params []byte) reply {
	v, err := f(params)
	if err != nil {
		return reply{Error: err.Error(), NoCPU: errors.Is(err, thread.ErrNoCPU)}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return reply{Error: fmt.Sprintf("result: %v", err)}
	}
	return reply{Result: b}
}

// Error is an error that a job returned, as against one of the worker process. It is
// thread.ErrNoCPU where the job's was.
type Error struct {
	Text  string
	noCPU bool
}

func (e *Error) Error() string { return e.Text }

// Is implements what errors.Is asks for.
func (e *Error) Is(target error) bool { return e.noCPU && target == thread.ErrNoCPU } //nolint:errorlint // this is the comparison

// errGone is what a Call on an ended session gives.
var errGone = errors.New("the worker process has ended")
