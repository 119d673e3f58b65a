package command

import (
	"os"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/trust"
)

// What a program has printed is read after its end, however late the reader gets a CPU.
func TestOutputIsReadLate(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	o := &output{kept: trust.Ends{Keep: keepStdout}, r: r, w: w, read: make(chan struct{})}
	defer o.close()
	testkit.Must(w.WriteString("0.25\n"))(t)
	testkit.Is(t, true, o.end(), "a process has it open")
	testkit.OK(t, w.Close())
	time.AfterFunc(2*graceLeft, o.copy)
	testkit.Is(t, false, o.end(), "nobody has it open any more")
	testkit.Is(t, "0.25\n", string(o.kept.Kept().Bytes()))
}
