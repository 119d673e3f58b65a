// Command hostlab tells what a host's platform settings cost its databases and
// application servers: it inspects, checks for a role, measures and reports.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/delayfs"
	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/probe"
	"hostlab/internal/screen"
	"hostlab/internal/service/demo"
	"hostlab/internal/setting"
	"hostlab/internal/worker"
	"hostlab/internal/workload/all"
)

// Exit statuses, as the help texts document them.
const (
	exitOK          = 0   // also with findings and verdicts, but for --exit-status
	exitFailed      = 1   // something went wrong on the way, such as a full disk
	exitUsage       = 2   // a flag, argument or file that cannot be used
	exitCannotLook  = 3   // nothing to inspect: /proc and /sys are not there
	exitWaiting     = 4   // run: goes on after a reboot, or after a person has changed something
	exitFound       = 10  // --exit-status: an effect, harm, a finding, a value that is not as set
	exitUndecided   = 11  // --exit-status: the question is not decided
	exitInterrupted = 130 // Ctrl-C, as shells have it
	exitPipe        = 141 // the reader of our output has gone, as in | head; as shells have it
)

func main() {
	worker.Main(jobs()) // does not return in a worker process
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: &logged})))
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	// A second Ctrl-C ends even what is stuck in the kernel. timeout(1) signals the program
	// and at once its group, which is no second one.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// jobs are all that worker processes of this program do.
func jobs() []worker.Job {
	return slices.Concat(probe.Jobs(), all.Jobs(), emulate.Jobs(), delayfs.Jobs(), demo.Jobs(), runner.Jobs())
}

// stopSignals are those that end a run as asked. One that was ignored from
// the start, as nohup and shells' background jobs have it, stays ignored.
func stopSignals() (list []os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// streams are the process's standard streams, so that tests can run commands in
// process.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, std streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	begin, begun := root.PersistentPreRunE, false
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		begun = true
		return begin(cmd, args)
	}
	err := root.ExecuteContext(ctx)
	if err != nil && !begun { // cobra does not understand the command line, and has no type for that
		if of, rest, _ := root.Find(args); unknownCommand(of, rest) != nil { // whatever its flags are
			err = unknownCommand(of, rest)
		}
		err = usageError{err}
	}
	status, line := outcome(err)
	if bad, ok := errors.AsType[*experiment.Problems](err); ok {
		writeProblems(std.err, bad)
	} else if line != "" {
		fmt.Fprintln(std.err, "hostlab: "+line)
	}
	return status
}

// usageError is a mistake in what was typed, or in a file that was named.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// cannotLook is a machine without anything to inspect.
type cannotLook struct{ error }

// outcome is the one place that turns an error into an exit status and a line.
func outcome(err error) (status int, line string) {
	var (
		usage usageError
		blind cannotLook
		study *experiment.Problems
		waits *runner.Waiting
		dirty *runner.Cleanup
		no    *runner.Refused
		told  verdictStatus
		torn  *setting.Problem
	)
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &told):
		return told.status, ""
	case errors.As(err, &dirty):
		return exitFailed, screen.OneLine(err) // above all: something was left changed
	case closedPipe(err):
		return exitPipe, "" // nobody is there to read more
	case errors.As(err, &waits):
		return exitWaiting, "waiting: " + screen.OneLine(err)
	case errors.Is(err, context.Canceled):
		text, _ := strings.CutSuffix(screen.OneLine(err), context.Canceled.Error())
		return exitInterrupted, strings.TrimRight("interrupted; "+text, ":; ")
	case errors.As(err, &blind):
		return exitCannotLook, screen.OneLine(err)
	case errors.As(err, &usage), errors.As(err, &study), errors.As(err, &no), errors.As(err, &torn) && !torn.Usable():
		return exitUsage, screen.OneLine(err)
	default:
		return exitFailed, screen.OneLine(err)
	}
}

// closedPipe reports an output of ours that nobody reads any more. Pipes of others,
// as those of commands, have other names.
func closedPipe(err error) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	return ok && errors.Is(pe.Err, syscall.EPIPE) && (pe.Path == os.Stdout.Name() || pe.Path == os.Stderr.Name())
}

// writeProblems writes what is wrong with studies, a line each. Those at a line of a file
// begin with it, as compilers' do, so that editors find the place.
func writeProblems(w io.Writer, bad *experiment.Problems) {
	for _, p := range bad.List {
		line := screen.Clean(p.Error())
		if p.Line == 0 {
			line = "hostlab: " + line
		}
		fmt.Fprintln(w, line)
	}
}
