//go:build !linux

package command

import (
	"os"
	"os/exec"
	"syscall"
)

// Elsewhere only the program itself is ended, not what it started.
func attributes() *syscall.SysProcAttr { return nil }

func terminate(p *os.Process) { _ = p.Kill() }
func kill(p *os.Process)      { _ = p.Kill() }

// await waits until the program has ended and calls then.
func await(cmd *exec.Cmd, then func()) error {
	err := cmd.Wait()
	then()
	return err
}

func endGroup(*os.Process) string { return "" }

func usageOf(state *os.ProcessState) usage {
	if state == nil {
		return usage{noMaxRSS: "the process's end was not seen"}
	}
	return usage{user: state.UserTime(), system: state.SystemTime(), noMaxRSS: "this system does not tell"}
}

func signalled(*os.ProcessState) string { return "" }

func startHint(error) string { return "" }
