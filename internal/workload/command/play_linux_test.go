//go:build system

package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// play is what the programs of the tests do.
func play(name string, args []string) {
	switch name {
	case "print":
		fmt.Println(args[0])
	case "hang":
		time.Sleep(time.Minute)
	case "deaf": // to all but SIGKILL
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		time.Sleep(time.Minute)
	case "hang-tree": // with a child that is deaf
		must(child("deaf", nil).Wait())
	case "leaves": // a process that holds the output open
		fmt.Println("x=1")
		writePID(args[0], child("hang", nil))
	case "leaves-daemon": // one in a session of its own
		fmt.Println("x=1")
		writePID(args[0], child("hang", &syscall.SysProcAttr{Setsid: true}))
	case "burn":
		d, err := time.ParseDuration(args[0])
		must(err)
		for cpu() < d {
		}
	case "memory":
		n, err := strconv.Atoi(args[0])
		must(err)
		b := make([]byte, n)
		for i := 0; i < n; i += 4096 {
			b[i] = 1
		}
	case "show":
		in, err := io.ReadAll(os.Stdin)
		must(err)
		here, err := os.Getwd()
		must(err)
		_, err = os.Stat(filepath.Join(here, "in.b"))
		out, oerr := os.ReadDir(args[len(args)-1])
		fmt.Printf("args=%s env=%s stdin=%s dir=%v out=%v 1\n", strings.Join(args[:len(args)-1], " "), os.Getenv("SHOWN"), in,
			err == nil,
			oerr == nil && len(out) == 0)
		must(os.WriteFile(filepath.Join(args[len(args)-1], "result"), []byte("x"), 0o600))
	case "append":
		f, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		must(err)
		_, err = f.WriteString(".")
		must(err)
	case "fail":
		for _, line := range args[1:] {
			fmt.Fprintln(os.Stderr, line)
		}
		n, err := strconv.Atoi(args[0])
		must(err)
		os.Exit(n)
	case "signal":
		n, err := strconv.Atoi(args[0])
		must(err)
		must(syscall.Kill(os.Getpid(), syscall.Signal(n)))
		time.Sleep(time.Minute)
	case "flood":
		n, err := strconv.Atoi(args[0])
		must(err)
		fmt.Println("begin=1")
		line := bytes.Repeat([]byte("flood "), 1<<14)
		for ; n > 0; n -= len(line) {
			_, err := os.Stdout.Write(line)
			must(err)
		}
		fmt.Println("\nend=2")
	default:
		panic(name)
	}
}

func child(name string, attr *syscall.SysProcAttr) *exec.Cmd {
	exe, err := os.Executable()
	must(err)
	c := exec.Command(exe)
	c.Env = append(os.Environ(), program+"="+name)
	c.Stdout, c.Stderr, c.SysProcAttr = os.Stdout, os.Stderr, attr
	must(c.Start())
	return c
}

func writePID(file string, c *exec.Cmd) {
	must(os.WriteFile(file, []byte(strconv.Itoa(c.Process.Pid)), 0o600))
}

// gone expects that the process whose number is in the file is gone, without a zombie.
func gone(t *testing.T, file string) {
	t.Helper()
	b := testkit.Must(os.ReadFile(file))(t)
	pid := testkit.Must(strconv.Atoi(strings.TrimSpace(string(b))))(t)
	if s, err := proc.Read(pid); err == nil {
		t.Errorf("process %d is there: %+v", pid, s)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func cpu() time.Duration {
	var ru syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &ru))
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
