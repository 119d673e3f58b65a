package hot

import (
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"hostlab/internal/testkit"
)

// TestMain does what package worker does for a process of its own: without spare
// threads, or with a garbage collection, the lock loops would stop everything.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 6))
	debug.SetGCPercent(-1)
	os.Exit(m.Run())
}

func TestCounts(t *testing.T) {
	for _, n := range []uint64{0, 1, 63, 64, 65, 1000, 1 << 20} {
		want := max((n+63)/64*64, 64)
		testkit.Is(t, want, Adds(n), "Adds", n, ") =")
	}
	for _, n := range []uint64{1, 2, 7, 12345} {
		if got, want := ALU(n), 7*n; got != want {
			t.Errorf("ALU(%d) = %d, want %d", n, got, want)
		}
		if got, want := FMA(n), float64(4*n); got != want {
			t.Errorf("FMA(%d) = %g, want %g", n, got, want)
		}
	}
}

func TestPadding(t *testing.T) {
	for name, size := range map[string]uintptr{
		"Word": unsafe.Sizeof(Word{}), "Lane": unsafe.Sizeof(Lane{}), "Line": unsafe.Sizeof(Line{}),
	} {
		testkit.Is(t, LineSize, size, name, "takes", "bytes")
	}
	for range 20 {
		lanes := New[[3]Lane]()
		if a := uintptr(unsafe.Pointer(lanes)); a%LineSize != 0 {
			t.Fatalf("New gave address %#x", a)
		}
		if b := Buffer(1000); len(b)*8 != 1024 || uintptr(unsafe.Pointer(&b[0]))%LineSize != 0 {
			t.Fatalf("Buffer(1000) has %d bytes at %p", len(b)*8, &b[0])
		}
	}
}

// A chase must visit every line once before it comes back, or the working set is
// smaller than it says.
func TestRing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{128, 4096, 1 << 20} {
		buf := Buffer(size)
		n := Ring(buf, rnd.IntN)
		if n != size/64 {
			t.Fatalf("Ring over %d bytes has %d nodes", size, n)
		}
		for _, walk := range []func(*uint64, uint64, uint64) uint64{Chase, Mixed} {
			seen := make([]bool, n)
			at := uint64(0)
			for range n {
				if seen[at/8] {
					t.Fatalf("line %d twice in a ring of %d", at/8, n)
				}
				seen[at/8] = true
				at = walk(&buf[0], at, 1)
			}
			testkit.Is(t, 0, at, "after", n, "steps at", "not back at 0")
			half := uint64(n / 2)
			if a, b := walk(&buf[0], walk(&buf[0], 0, half), uint64(n)-half), uint64(0); a != b {
				t.Errorf("two walks of a ring of %d end at %d", n, a)
			}
		}
	}
}

func TestPingPong(t *testing.T) {
	const n = 20
	line, stop := New[Line](), New[Word]()
	var a, b uint64
	var wg sync.WaitGroup
	wg.Go(func() { a = PingPong(line, 0, n, stop) })
	wg.Go(func() { b = PingPong(line, 1, n, stop) })
	wg.Wait()
	if a != n || b != n || line.V != 2*n {
		t.Errorf("wrote %d and %d times, line at %d; want %d, %d, %d", a, b, line.V, n, n, 2*n)
	}

	atomic.StoreUint64(&line.V, 0)
	done := make(chan uint64)
	go func() { done <- PingPong(line, 0, n, stop) }() // without a partner
	eventually(t, "the first throw", func() bool { return atomic.LoadUint64(&line.V) == 1 })
	atomic.StoreUint32(&stop.V, 1)
	testkit.Is(t, 1, <-done, "alone it wrote", "times, want 1")
}

func TestTicksRise(t *testing.T) {
	last := Ticks()
	for range 1000 {
		now := Ticks()
		if now < last {
			t.Fatalf("ticks fell from %d to %d", last, now)
		}
		last = now
	}
	a, start := Ticks(), time.Now()
	time.Sleep(20 * time.Millisecond)
	hz := float64(Ticks()-a) / time.Since(start).Seconds()
	if hz < 1e6 || hz > 2e10 {
		t.Errorf("%g ticks per second", hz)
	}
}

// Dependent additions must take time in proportion to their number; a compiler
// or processor that folded them away would show here.
func TestAddsTakeTime(t *testing.T) {
	best := func(n uint64) float64 {
		low := ^uint64(0)
		for range 30 {
			a := Ticks()
			Adds(n)
			low = min(low, Ticks()-a)
		}
		return float64(low)
	}
	few, many := best(100_000), best(800_000)
	if r := many / few; r < 6.5 || r > 10 {
		t.Errorf("8 times the additions took %.2f times as long", r)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := testkit.End(t); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen in 5 s: %s", what)
		}
	}
}

func TestFlush(t *testing.T) {
	testkit.Is(t, (flushBy != ""), (CanFlush() == nil), "Check gives", CanFlush(), flushBy)
	if CanFlush() != nil {
		return
	}
	b := []byte("a log record")
	Flush(b)
	Flush(nil)
	Flush(b[:0])
	testkit.Is(t, "a log record", string(b))
}

// A lock that somebody else holds is polled and not taken, and two threads that want it both get
// it whenever it is free.
func TestTakeExcludes(t *testing.T) {
	lock, stop, lanes := New[Word](), New[Word](), New[[2]Lane]()
	var wg sync.WaitGroup
	for i := range lanes {
		wg.Go(func() {
			runtime.LockOSThread()
			Take(lock, stop, &lanes[i].Counts)
		})
	}
	locked := func(i int) uint64 { return atomic.LoadUint64(&lanes[i].Locked) }
	for range 200 {
		for !atomic.CompareAndSwapUint32(&lock.V, 0, 1) {
		}
		a, b := locked(0), locked(1)
		spins := atomic.LoadUint64(&lanes[0].Spins)
		eventually(t, "a held lock is polled", func() bool { return atomic.LoadUint64(&lanes[0].Spins) > spins })
		if c, d := locked(0), locked(1); c != a || d != b {
			t.Fatalf("a held lock was taken %d times", c+d-a-b)
		}
		atomic.StoreUint32(&lock.V, 0)
	}
	eventually(t, "both threads take it", func() bool { return locked(0) > 0 && locked(1) > 0 })
	atomic.StoreUint32(&stop.V, 1)
	wg.Wait()
	testkit.Is(t, 0, lock.V, "the lock stayed taken")
}

// scans are the versions that this machine can run.
var scans = map[string]func(p *uint64, n, part uint64, stop *Word, parts *uint64){"scan": scan}

func TestScanStaysInside(t *testing.T) {
	for name, scan := range scans {
		for _, size := range []int{128, 4096, 3*4096 + 128} {
			buf, stop := make([]uint64, 16+size/8+16), New[Word]()
			for i := range buf {
				buf[i] = 7
			}
			rounds := New[Lane]()
			done := make(chan struct{})
			go func() { scan(&buf[16], uint64(size), 4096, stop, &rounds.Spins); close(done) }()
			eventually(t, "two rounds", func() bool { return atomic.LoadUint64(&rounds.Spins) >= 8 })
			atomic.StoreUint32(&stop.V, 1)
			<-done
			for i, v := range buf {
				if inside := i >= 16 && i < 16+size/8; inside != (v == 0) {
					t.Fatalf("%s of %d bytes: word %d is %d", name, size, i-16, v)
				}
			}
		}
	}
}

func TestScanned(t *testing.T) {
	for _, c := range []struct {
		n             int
		parts         uint64
		passes, bytes uint64
	}{{1, 3, 3, 3 * 128}, {4096, 5, 5, 5 * 4096}, {scanPart, 2, 2, 2 * scanPart}, {scanPart + 1, 2, 1, scanPart + 128}, {scanPart + 128, 3, 1, 2*scanPart + 128},
		{1 << 30, 4095, 0, 4095 * scanPart}, {1 << 30, 4097, 1, 4097 * scanPart}} {
		if passes, bytes := Scanned(c.n, c.parts); passes != c.passes || bytes != c.bytes {
			t.Errorf("%d parts of %d bytes: %d passes, %d bytes; want %d, %d", c.parts, c.n, passes, bytes, c.passes, c.bytes)
		}
	}
}
