package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Printed is what a program prints. exec.Cmd would give up what it has not read within WaitDelay of the program's end
// (os/exec): on a busy machine that may be all of it.
type Printed struct{ pipes []pipe }

type pipe struct {
	r, w *os.File
	read chan struct{} // closed when nothing more can come
}

// Print gives a command pipes for what it prints. Close must be called.
func Print(cmd *exec.Cmd, stdout, stderr io.Writer) (*Printed, error) {
	o := &Printed{}
	for _, to := range []io.Writer{stdout, stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			o.Close()
			return nil, fmt.Errorf("cannot make a pipe for what a program prints: %w", err)
		}
		p := pipe{r, w, make(chan struct{})}
		go p.copy(to)
		o.pipes = append(o.pipes, p)
	}
	cmd.Stdout, cmd.Stderr = o.pipes[0].w, o.pipes[1].w
	return o, nil
}

func (p pipe) copy(to io.Writer) {
	defer close(p.read)
	_, _ = io.Copy(to, p.r) // it ends where Close did that
}

// Started is called when the program, which has its own copies of the pipes, was started, or could not be.
func (o *Printed) Started() {
	for _, p := range o.pipes {
		_ = p.w.Close()
	}
}

// Close ends it, also where nothing was started.
func (o *Printed) Close() {
	o.Started()
	for _, p := range o.pipes {
		_ = p.r.Close()
	}
}

// End waits until all is read that a program which has ended has printed, however long that takes. It reports a process
// that still holds a pipe, and waits so long for what that prints.
func (o *Printed) End(wait time.Duration) (open bool) {
	until := time.Now().Add(wait)
	return slices.Contains([]bool{o.pipes[0].end(until), o.pipes[1].end(until)}, true)
}

func (p pipe) end(until time.Time) (open bool) {
	if !unwritten(p.r) {
		select {
		case <-p.read:
		case <-time.After(time.Until(until)):
			return true
		}
	}
	<-p.read
	return false
}
