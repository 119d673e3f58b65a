package hot

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"hostlab/internal/testkit"
)

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
