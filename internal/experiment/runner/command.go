package runner

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

// keptOfCommand is how many bytes are kept of either end of a command's output. A level is
// a word or two; what a failing command has to say is in its first lines or in its last.
const keptOfCommand = 32 << 10

// How long a command and what it started get to end after SIGTERM, and how long one
// that has ended is waited for because a child of its holds its output open.
const (
	graceEnd  = 2 * time.Second
	graceOpen = time.Second
)

// command runs an argument list in dir and returns what it printed to standard
// output. No shell is involved. When ctx is cancelled or the time is up, its whole
// process group is ended. What it started may live on if it ends by itself: to
// restart a server is what some are for. env is added to our environment.
func command(ctx context.Context, dir string, args []string, timeout time.Duration, env ...string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("an empty command")
	}
	parent := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	// see proc.Start: one that changed a level after a resume had restored it would be worse than one that is cut short
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	stdout, stderr := trust.Ends{Keep: keptOfCommand}, trust.Ends{Keep: keptOfCommand}
	cmd := exec.Command(program(dir, args[0]), args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	printed, err := proc.Print(cmd, &stdout, &stderr)
	if err != nil {
		return "", err
	}
	defer printed.Close()
	if err = ctx.Err(); err == nil {
		leader, failed := proc.Start(cmd)
		printed.Started()
		if err = workload.CannotStart(failed); failed == nil {
			_, err = leader.Run(ctx, graceEnd, nil)
			printed.End(graceOpen) // else it has left something running that holds its output open
		}
	}
	out, said := stdout.Kept(), stderr.Kept()
	name := filepath.Base(args[0])
	switch {
	case err == nil && out.Cut():
		err = fmt.Errorf("%s printed %d bytes; a level is a word or two", name, out.Total)
	case err == nil:
		return string(out.Bytes()), nil
	case parent.Err() != nil:
		return "", parent.Err()
	case ctx.Err() != nil:
		err = fmt.Errorf("%s took longer than %s and was ended", name, timeout)
	default:
		text := fmt.Errorf("%s: %w%s", name, trust.Bare(err), firstLine(said.Parts[0], out.Parts[0]))
		if _, lasting := errors.AsType[*workload.Lasting](err); lasting {
			text = &workload.Lasting{Err: text}
		}
		err = text
	}
	return "", &workload.Failure{Err: err, Stdout: out.Bytes(), Stderr: said.Bytes()}
}

// levelMark is a variable in the environment of the commands of a record's factors, by
// which what they leave running is found.
func levelMark(id string) string { return "HOSTLAB_LEVELS=" + id }

// program resolves a program that is named with a directory against dir; exec
// would resolve it against ours.
func program(dir, name string) string {
	if !filepath.IsAbs(name) && strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		return filepath.Join(dir, name)
	}
	return name
}

// firstLine returns the first line that says anything, after a colon.
func firstLine(outputs ...[]byte) string {
	for _, out := range outputs {
		for line := range bytes.Lines(out) {
			if text := strings.TrimSpace(string(line[:min(len(line), 300)])); text != "" {
				return ": " + screen.Clean(strings.ToValidUTF8(text, "?"))
			}
		}
	}
	return "; it printed nothing"
}
