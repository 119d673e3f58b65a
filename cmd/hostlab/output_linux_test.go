package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// On a terminal, a document that goes to a file leaves a line on where it went, unless that is not asked for.
func TestWrote(t *testing.T) {
	master := testkit.Must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer master.Close()
	testkit.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := testkit.Must(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	tty := testkit.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer tty.Close()
	file := filepath.Join(t.TempDir(), "it.json")
	for _, args := range [][]string{{"version", "--quiet", "--out", file + ".quiet.json"}, {"version", "--out", file}} {
		var out bytes.Buffer
		testkit.Is(t, exitOK, run(t.Context(), args, streams{&bytes.Buffer{}, &out, tty}))
		testkit.Is(t, "", out.String())
	}
	line := testkit.Must(bufio.NewReader(master).ReadString('\n'))(t)
	testkit.Is(t, "hostlab: wrote "+file+"\r\n", line)
}
