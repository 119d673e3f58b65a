package proc

import (
	"bytes"
	"os"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// What a program has printed is read after its end, however late the reader gets a CPU.
func TestPrintedIsReadLate(t *testing.T) {
	const wait = 10 * time.Millisecond
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	var said bytes.Buffer
	p := pipe{r, w, make(chan struct{})}
	o := &Printed{[]pipe{p, p}}
	defer o.Close()
	testkit.Must(w.WriteString("0.25\n"))(t)
	testkit.Is(t, true, o.End(wait), "a process has it open")
	o.Started()
	time.AfterFunc(2*wait, func() { p.copy(&said) })
	testkit.Is(t, false, o.End(wait), "nobody has it open any more")
	testkit.Is(t, "0.25\n", said.String())
}
