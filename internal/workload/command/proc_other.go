//go:build !linux

package command

import (
	"os"
	"os/exec"
	"syscall"
)

// Elsewhere only the program itself is ended, not what it started.
func attributes() *syscall.SysProcAttr { return nil }

// running is a program.
type running struct{ cmd *exec.Cmd }

func launch(cmd *exec.Cmd, _ string) (*running, error) { return &running{cmd}, cmd.Start() }

func (p *running) terminate() { _ = p.cmd.Process.Kill() }
func (p *running) kill()      { _ = p.cmd.Process.Kill() }

// await waits until the program has ended and calls then.
func (p *running) await(then func()) error {
	err := p.cmd.Wait()
	then()
	return err
}

func (p *running) end() string { return "" }

func usageOf(state *os.ProcessState) usage {
	if state == nil {
		return usage{noMaxRSS: "the process's end was not seen"}
	}
	return usage{user: state.UserTime(), system: state.SystemTime(), noMaxRSS: "this system does not tell"}
}

func signalled(*os.ProcessState) string { return "" }

func startHint(error) string { return "" }
