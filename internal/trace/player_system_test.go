//go:build linux && system

package trace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// TestMain plays the service where it is asked to: the test's own program, so that nothing is built.
func TestMain(m *testing.M) {
	switch os.Getenv("TRACE_PLAYS") {
	case "burn":
		burn()
	case "wake":
		wake()
	case "hold":
		hold()
	case "record":
		pid, _ := strconv.Atoi(os.Getenv("TRACE_PID"))
		fmt.Println("begins")
		_, err := Record(context.Background(), Config{Target: Target{PIDs: []int{pid}}, For: time.Minute})
		fmt.Println(err)
	default:
		os.Exit(m.Run())
	}
}

// burn waits for a line, computes 20 ms and sleeps 30 ms by turns for so many rounds, says how much
// CPU time it used and how long its longest and shortest work took, and waits for another line.
func burn() {
	runtime.LockOSThread()
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	rounds, _ := strconv.Atoi(os.Getenv("TRACE_ROUNDS"))
	for range rounds {
		for end := threadCPU() + 20e6; threadCPU() < end; {
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 30e6}, nil)
	}
	_, _ = in.ReadString('\n')
}

// hold has two threads take a lock in turn. Who has it computes for 3 ms, then sleeps for 6 ms.
func hold() {
	file, err := os.CreateTemp("", "")
	if err != nil {
		panic(err)
	}
	_ = os.Remove(file.Name())
	turn := func() {
		runtime.LockOSThread()
		own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), unix.O_RDWR, 0) // a lock belongs to who opened it
		if err != nil {
			panic(err)
		}
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_FLOCK, uintptr(own), unix.LOCK_EX, 0)
			for end := threadCPU() + 3e6; threadCPU() < end; {
			}
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 6e6}, nil)
			_, _, _ = unix.RawSyscall(unix.SYS_FLOCK, uintptr(own), unix.LOCK_UN, 0)
		}
	}
	go turn()
	turn()
}

// rounds is how often wake hands a byte there and back.
const rounds = 50000

// wake hands a byte from one thread to another and back, and prints how long each took to arrive, in ns.
// The calls are raw, so that Go's scheduler does not wake threads besides.
func wake() {
	var there, back [2]int
	if unix.Pipe(there[:]) != nil || unix.Pipe(back[:]) != nil {
		panic("no pipe")
	}
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	debug.SetGCPercent(-1) // a collection would stop one thread, and wait for ever for the other in a raw call
	runtime.GC()
	call := func(number uintptr, fd int, b *[1]byte) {
		_, _, _ = unix.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(b)), 1)
	}
	var sent, got [2 * rounds]uint64
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		var b [1]byte
		for i := range rounds {
			call(unix.SYS_READ, there[0], &b)
			got[2*i] = monotonic()
			sent[2*i+1] = monotonic()
			call(unix.SYS_WRITE, back[1], &b)
		}
		close(done)
	}()
	runtime.LockOSThread()
	var b [1]byte
	for i := range rounds {
		sent[2*i] = monotonic()
		call(unix.SYS_WRITE, there[1], &b)
		call(unix.SYS_READ, back[0], &b)
		got[2*i+1] = monotonic()
	}
	<-done
	for i := range sent {
		fmt.Println(got[i] - sent[i])
	}
	fmt.Println("end")
	_, _ = in.ReadString('\n')
}

// player is a child that plays.
type player struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func play(t *testing.T, what string, environ ...string) *player {
	t.Helper()
	exe := testkit.Must(os.Executable())(t)
	p := &player{Cmd: exec.Command(exe)}
	p.Env = append(append(os.Environ(), "TRACE_PLAYS="+what), environ...)
	p.Stderr = os.Stderr
	p.in = testkit.Must(p.StdinPipe())(t)
	out := testkit.Must(p.StdoutPipe())(t)
	p.out = bufio.NewReader(out)
	testkit.OK(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

func (p *player) target() Target {
	return Target{Name: fmt.Sprintf("pid:%d", p.Process.Pid), PIDs: []int{p.Process.Pid}}
}

// schedstat is what the kernel counted of all threads: s on a CPU and waiting for one.
func (p *player) schedstat(t *testing.T) (run, queue float64) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/task", p.Process.Pid)
	tasks := testkit.Must(os.ReadDir(dir))(t)
	for _, task := range tasks {
		b, err := os.ReadFile(dir + "/" + task.Name() + "/schedstat")
		var r, q, n float64
		if _, e := fmt.Sscan(string(b), &r, &q, &n); err != nil || e != nil {
			t.Fatal(err, e)
		}
		run, queue = run+r/1e9, queue+q/1e9
	}
	return run, queue
}

// always watches all of the time.
const always = 1e6

// Who waits for a lock waits for what its holder does: it sleeps for twice as long as it computes.
func TestHolders(t *testing.T) {
	testkit.Root(t)
	p := play(t, "hold")
	until(t, func() map[string]string {
		r := testkit.Must(Record(context.Background(), Config{Target: p.target(), For: 4 * time.Second, Budget: always, Chains: true}))(t)
		share := func(kinds ...chain.Kind) (sum float64) {
			for _, k := range kinds {
				sum += r.Ends.Share(explain.Locks, func(e chain.End) bool { return e.Kind == k && (r.Ends.Own[e.PID] || k == chain.Ready) }).Value
			}
			return sum
		}
		problems := map[string]string{}
		// On a busy host who waits for the lock begins to wait while its holder sleeps, so that this has a larger share.
		if s := share(chain.Asleep) / share(chain.Asleep, chain.Computing); !(s > 0.5 && s < 0.99) {
			problems["sleep"] = fmt.Sprintf("%.2f of the waits for what it does itself ended with sleep, want 0.67 on a quiet host", s)
		}
		if s := share(chain.Asleep, chain.Computing, chain.Ready); s < 0.95 {
			problems["all"] = fmt.Sprintf("%.2f of them ended with what the holder does", s)
		}
		seen, _ := r.Ends.Seen(explain.Locks)
		if seen < 0.8 || r.Ends.Moments < 3000 {
			problems["seen"] = fmt.Sprintf("the end of %.2f was seen, at %d moments", seen, r.Ends.Moments)
		}
		return problems
	})
}
