package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

// How long processes get to end: after SIGTERM before SIGKILL, and after the
// program's own end before those that it left behind are ended.
const (
	graceTerm   = 250 * time.Millisecond
	graceLeft   = 100 * time.Millisecond
	graceKilled = 5 * time.Second
)

// How much of a program's output is kept from its beginning and from its end. The rest is
// read and forgotten, which does not stop the program either.
const (
	keepStdout = 4 << 20
	keepStderr = 256 << 10
)

// ended is a program that ran to its end.
type ended struct {
	wall           time.Duration
	usage          usage
	stdout, stderr trust.Kept
	warnings       []string
	left           string // what it left running, or ""
}

// usage is what the kernel counted for a program and the children it waited for.
type usage struct {
	user, system time.Duration
	maxRSS       int64  // bytes, of the largest process
	noMaxRSS     string // why that is not known
}

// start runs a program to its end. When ctx is cancelled it ends the whole process
// group and returns ctx's error. Other errors are runs that failed.
func start(ctx context.Context, c call) (done ended, err error) {
	runtime.LockOSThread() // see proc.Start
	defer runtime.UnlockOSThread()

	mark := workload.Mark(c.work)
	cmd := &exec.Cmd{Path: c.path, Args: c.args, Dir: c.dir, Env: append(append(os.Environ(), mark), c.env...)}
	if c.stdin != "" {
		f, err := trust.Open(c.stdin) // a FIFO would be waited for, and another run find it empty
		if err != nil {
			return done, workload.Wrong("stdin", fmt.Sprintf("cannot open %s: %v", c.stdin, trust.Bare(err)),
				"name a regular file")
		}
		defer f.Close()
		cmd.Stdin = f
	}
	stdout, stderr := trust.Ends{Keep: keepStdout}, trust.Ends{Keep: keepStderr}
	printed, err := proc.Print(cmd, &stdout, &stderr)
	if err != nil {
		return done, err
	}
	defer printed.Close()

	left := adopt()
	begin := time.Now()
	p, err := proc.Start(cmd)
	printed.Started()
	if err != nil {
		left.end()
		return done, workload.CannotStart(fmt.Errorf("cannot start %s: %w%s", c.name, trust.Bare(err), startHint(err)))
	}
	left.Of(cmd.Process.Pid, mark)
	cancelled, werr := p.Run(ctx, graceTerm, func() { done.wall = time.Since(begin) })
	if names := left.end(); !cancelled {
		done.left = names
	}
	if open := printed.End(graceLeft); open && done.left == "" {
		done.warnings = append(done.warnings,
			"a process that it started still holds its output open; what that prints is not read")
	}
	done.usage = usageOf(cmd.ProcessState)
	done.stdout, done.stderr = stdout.Kept(), stderr.Kept()
	if err := ctx.Err(); err != nil && (cancelled || werr != nil) {
		return done, &workload.Failure{Err: &stopped{fmt.Sprintf("%s was stopped after %s", filepath.Base(c.name),
			done.wall.Round(time.Millisecond)), err},
			Stdout: done.stdout.Bytes(), Stderr: done.stderr.Bytes()}
	}
	if werr != nil {
		return done, &workload.Failure{Err: reason(c, cmd.ProcessState, werr, done),
			Stdout: done.stdout.Bytes(), Stderr: done.stderr.Bytes()}
	}
	return done, nil
}

// stopped is a program that was ended since ctx was. The text does without ctx's
// error, which is nothing to people.
type stopped struct {
	text  string
	cause error
}

func (s *stopped) Error() string { return s.text }
func (s *stopped) Unwrap() error { return s.cause }

// reason says in one line why a run failed, and whether the same command line would fail again.
func reason(c call, state *os.ProcessState, err error, done ended) error {
	what := filepath.Base(c.name) + ": " + err.Error()
	if state != nil {
		if text := signalled(state); text != "" {
			what = filepath.Base(c.name) + " " + text
		}
	}
	said, lead := done.stderr.Bytes(), ": "
	line := usefulLine(said)
	if line == "" {
		said, lead = done.stdout.Bytes(), "; nothing on stderr, stdout begins "
		line = usefulLine(said)
	}
	if line == "" {
		lead, line = "; ", "it printed nothing"
	}
	line, wrong := mistake(state.ExitCode(), said, line)
	text := errors.New(what + lead + line)
	if wrong {
		return &workload.Lasting{Err: text, First: true}
	}
	return text
}

// usefulLine is the first line that says something. Python puts the reason last.
func usefulLine(b []byte) string {
	first := ""
	for line := range bytes.Lines(b) {
		text := strings.TrimSpace(string(line[:min(len(line), 2000)]))
		if !strings.ContainsFunc(text, func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		}) {
			continue
		}
		if first == "" {
			if first = text; !strings.HasPrefix(text, "Traceback (most recent call last)") {
				break
			}
		} else if line[0] != ' ' {
			first = text
		}
	}
	return screen.Clean(excerpt([]byte(first), 200))
}

// excerpt is the beginning of text, of at most so many runes.
func excerpt(b []byte, most int) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), 4*most)]), "\uFFFD")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
