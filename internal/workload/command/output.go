package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"hostlab/internal/trust"
)

// output is what a program prints to one of its descriptors. exec.Cmd would give up what it has not read within
// WaitDelay of the program's end (os/exec): on a busy machine that may be all of it.
type output struct {
	kept trust.Ends
	r, w *os.File
	read chan struct{} // closed when nothing more can come
}

func newOutput(keep int) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe for what a program prints: %w", trust.Bare(err))
	}
	o := &output{kept: trust.Ends{Keep: keep}, r: r, w: w, read: make(chan struct{})}
	go o.copy()
	return o, nil
}

func (o *output) copy() {
	defer close(o.read)
	_, _ = io.Copy(&o.kept, o.r) // it ends where close did that
}

// close ends it, also where nothing was started.
func (o *output) close() { _, _ = o.w.Close(), o.r.Close() }

// end waits until all is read that a program which has ended has printed, however long that takes. It reports a process
// that still has the descriptor, and waits a moment for what that prints.
func (o *output) end() (open bool) {
	if !unwritten(o.r) {
		select {
		case <-o.read:
		case <-time.After(graceLeft):
			return true
		}
	}
	<-o.read
	return false
}
