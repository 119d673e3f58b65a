//go:build !linux

package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// Loads knows nothing here.
func Loads([]int) (map[int]Load, bool) { return nil, false }

// Own is not needed where Loads knows nothing.
func Own() float64 { return 0 }

// CPUTime is known on Linux only.
func CPUTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// ClientOf is the process of this host at the other end of a connection that a process serves; 0: nobody looks here.
func ClientOf(int) int { return 0 }

// Peer is the other end of a socket; none: nobody looks here.
func Peer(int, string) (other int, address string) { return 0, "" }

// Listener is the process that listens at an address; 0: nobody looks here.
func Listener(int, string) int { return 0 }

// Visitors are none: nobody looks here.
type Visitors struct{}

// Connected are none: nobody looks here.
func Connected([]int) map[string]int { return nil }

// Look sees none.
func (*Visitors) Look([]int) Requests { return Requests{} }

// Opened knows of none.
func (*Visitors) Opened() (o Opened) { return o }

// OpenedTo knows of none.
func (*Visitors) OpenedTo() map[string]float64 { return nil }

// ClientsAmong are none: nobody looks here.
func ClientsAmong([]int, []int) map[int]bool { return nil }

// Hides is true: nobody looks here.
func Hides(int) bool { return true }

// Listens are no addresses: nobody looks here.
func Listens(int) []string { return nil }

// Leader is a child of ours, without what it starts: there are no process groups here.
type Leader struct{ cmd *exec.Cmd }

func Start(cmd *exec.Cmd) (*Leader, error) { return &Leader{cmd}, cmd.Start() }

// Run waits until the child has ended, and calls then, which may be nil. When ctx is
// cancelled, the child is ended at once: Windows has no signal that asks.
func (l *Leader) Run(ctx context.Context, _ time.Duration, then func()) (cancelled bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- l.cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		cancelled = true
		_ = l.cmd.Process.Kill()
		err = <-ended
	}
	if then != nil {
		then()
	}
	return cancelled, err
}

func line(name string) (string, error) {
	b, err := os.ReadFile(name)
	return string(b), err
}

// Pauses sees nothing here: this system does not tell a stopped process from one that
// waits for a CPU.
type Pauses struct{}

// WatchPauses starts none.
func WatchPauses() *Pauses { return nil }

func (w *Pauses) Sum() Pause { return Pause{} }

// Close ends nothing.
func (w *Pauses) Close() {}

func Shares(int, int) Sharing { return Sharing{} }

// kthreadd: no process is the parent of the kernel's threads here.
const kthreadd = -1

func GroupsOf(int) []string { return nil }

// FileSystem tells nothing: nobody looks here.
func FileSystem(int, string) (server int, fuse, through bool) { return 0, false, false }

// ServesFiles cannot tell.
func ServesFiles(int, []int) bool { return false }

// Guard is none: nobody looks here.
func Guard() int { return 0 }
