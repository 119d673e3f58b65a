package private

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is one of a server's programs, as the account, with nothing of our
// environment but what env says, and with the open files from 3 on. Its log goes to
// stderr. Should we die it gets the signal death.
func (a Account) Command(path string, args, env []string, files []*os.File, log *Tail, death syscall.Signal) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = "/" // ours may be one that the account cannot enter
	cmd.Env = append([]string{"LC_ALL=C", "TZ=UTC"}, env...)
	cmd.ExtraFiles = files
	cmd.Stderr = log
	cmd.WaitDelay = 200 * time.Millisecond // a child may hold the pipe longer than its server lives
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: a.Credential()}
	return cmd
}

// Keep starts a program and waits for its end on a thread that stays: Linux sends
// Pdeathsig when the thread that started the program ends, and Go ends threads.
func Keep(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	return done, <-started
}

// StartError says in one line why a program of a server could not be started.
func (k Kind) StartError(path string, a Account, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EACCES):
		hint = "; that account cannot enter its directory: install " + k.Product + " where all may read it"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		hint = fmt.Sprintf("; this container may not let root become %s: run hostlab as a user other than root", a.Name)
	}
	return fmt.Errorf("cannot start %s as %s: %w%s", path, a.Name, err, hint)
}

// ended says in words how a server ended that nobody told to, as the end of a sentence
// that starts with its name.
func ended(state *os.ProcessState, log *Tail) string {
	how := "ended by itself"
	if ws, ok := state.Sys().(syscall.WaitStatus); ok {
		switch {
		case ws.Signaled():
			how = fmt.Sprintf("was ended by signal %d (%s)", int(ws.Signal()), unix.SignalName(ws.Signal()))
		case ws.ExitStatus() != 0:
			how = fmt.Sprintf("ended with status %d", ws.ExitStatus())
		}
	}
	if log.Full() {
		how += " on a full disk"
	}
	return how + " in the middle" + log.LastWords()
}
