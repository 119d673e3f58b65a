package hot

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

var kindNames = [kinds]string{"TAS", "TTAS", "Ticket", "MCS"}

// takers runs n threads that want one lock and calls during while they run.
func takers(n int, k Kind, like Taker, packed bool, during func([]*Taker)) []*Taker {
	lock, stop := New[Lock](), New[Word]()
	lanes := Lanes(n, packed)
	all := make([]*Taker, n)
	var wg sync.WaitGroup
	for i := range all {
		t := like
		t.Lock, t.Stop, t.Counts = lock, stop, lanes[i]
		if like.Waits != nil {
			t.Waits = new(Waits)
		}
		all[i] = &t
		wg.Go(func() {
			runtime.LockOSThread()
			t.Run(k)
		})
	}
	during(all)
	atomic.StoreUint32(&stop.V, 1)
	wg.Wait()
	return all
}

// Every acquisition that a thread counts must be one increment of the counter that
// the lock protects; a lock that let two in would lose some. All threads get it, and
// the histogram has each acquisition once.
func TestLocksExclude(t *testing.T) {
	for k := range kinds {
		for name, like := range map[string]Taker{
			"touch":           {Touch: true},
			"touch and work":  {Touch: true, Critical: 30, Parallel: 100},
			"without pause":   {Touch: true, NoPause: true},
			"timed":           {Touch: true, Waits: new(Waits)},
			"timed and alert": {Touch: true, Waits: new(Waits), NoPause: true, Parallel: 3},
			"empty":           {},
			"empty and alert": {NoPause: true},
		} {
			for _, packed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, packed %v", kindNames[k], name, packed), func(t *testing.T) {
					all := takers(2, k, like, packed, func(all []*Taker) {
						for _, x := range all {
							eventually(t, "every thread takes the lock", func() bool { return atomic.LoadUint64(&x.Counts.Locked) > 100 })
						}
					})
					var sum, waits uint64
					for _, x := range all {
						sum += x.Counts.Locked
						if x.Waits != nil {
							for _, n := range x.Waits {
								waits += n
							}
						}
					}
					if l := all[0].Lock; like.Touch && sum != l.Guarded || !like.Touch && l.Guarded != 0 {
						t.Errorf("threads counted %d acquisitions, the protected counter %d", sum, l.Guarded)
					}
					if l := all[0].Lock; k != MCS && k != Ticket && l.State != 0 || k == MCS && l.State != 0 || !l.free() {
						t.Errorf("the lock stayed taken: %#x", l.State)
					}
					if like.Waits != nil && waits != sum {
						t.Errorf("%d waits of %d acquisitions", waits, sum)
					}
				})
			}
		}
	}
}

// A lock that somebody else holds is polled and never taken.
func TestLockWaits(t *testing.T) {
	node := New[Node]()
	for k, held := range [kinds]uint64{TAS: 1, TTAS: 1, Ticket: 1, MCS: uint64(uintptr(unsafe.Pointer(node)))} {
		for _, like := range []Taker{{}, {Touch: true}, {Waits: new(Waits)}, {NoPause: true}} {
			lock, stop := New[Lock](), New[Word]()
			atomic.StoreUint64(&lock.State, held)
			x := like
			x.Lock, x.Stop, x.Counts, x.Node = lock, stop, Lanes(1, false)[0], New[Node]()
			done := make(chan struct{})
			go func() { x.Run(Kind(k)); close(done) }()
			eventually(t, kindNames[k]+" polls a held lock", func() bool { return atomic.LoadUint64(&x.Counts.Spins) > 0 })
			if n := atomic.LoadUint64(&x.Counts.Locked); n != 0 {
				t.Errorf("%s took a held lock %d times", kindNames[k], n)
			}
			switch Kind(k) { // gives it back
			case Ticket:
				atomic.AddUint64(&lock.State, 1<<32)
			case MCS:
				eventually(t, "it stands in the queue", func() bool { return atomic.LoadUint64(&node.next) != 0 })
				atomic.StoreUint32(&x.Node.wait, 0)
				atomic.StoreUint64(&node.next, 0)
			default:
				atomic.StoreUint64(&lock.State, 0)
			}
			eventually(t, kindNames[k]+" takes a free lock", func() bool { return atomic.LoadUint64(&x.Counts.Locked) > 0 })
			atomic.StoreUint32(&stop.V, 1)
			<-done
			if !lock.free() {
				t.Errorf("%s left the lock taken", kindNames[k])
			}
		}
	}
	runtime.KeepAlive(node)
}

// Mutex with a caller that polls where a real one sleeps.
func TestMutexExcludes(t *testing.T) {
	for _, like := range []Taker{{Touch: true}, {Touch: true, Waits: new(Waits), Critical: 5, Parallel: 5}} {
		lock, stop := New[Lock](), New[Word]()
		state := (*uint32)(unsafe.Pointer(&lock.State))
		lanes := Lanes(2, false)
		waits := make([]Waits, 2)
		var woken atomic.Int64
		var wg sync.WaitGroup
		for i := range lanes {
			x := like
			x.Lock, x.Stop, x.Counts = lock, stop, lanes[i]
			if like.Waits != nil {
				x.Waits = &waits[i]
			}
			wg.Go(func() {
				for at := Try; at != Stopped; {
					switch at = x.Mutex(at); at {
					case Contended:
						for atomic.SwapUint32(state, 2) != 0 {
							runtime.Gosched()
						}
						at = Held
					case Wake:
						woken.Add(1)
						at = Released
					case Stopped:
					default:
						t.Errorf("ended with %d", at)
						return
					}
				}
			})
		}
		eventually(t, "both take the lock and wake", func() bool {
			return atomic.LoadUint64(&lanes[0].Locked) > 0 && atomic.LoadUint64(&lanes[1].Locked) > 0 && woken.Load() > 0
		})
		atomic.StoreUint32(&stop.V, 1)
		wg.Wait()
		sum, counted := lanes[0].Locked+lanes[1].Locked, uint64(0)
		for _, n := range slices.Concat(waits[0][:], waits[1][:]) {
			counted += n
		}
		if sum != lock.Guarded || lock.State != 0 || like.Waits != nil && counted != sum {
			t.Errorf("%d acquisitions, %d touches, state %d, %d waits", sum, lock.Guarded, lock.State, counted)
		}
	}
}

func TestLanesLie(t *testing.T) {
	for packed, step := range map[bool]uintptr{false: LineSize, true: 16} {
		lanes := Lanes(5, packed)
		for i, l := range lanes {
			if at := uintptr(unsafe.Pointer(l)); at-uintptr(unsafe.Pointer(lanes[0])) != uintptr(i)*step || *l != (Counts{}) {
				t.Errorf("packed %v: counter %d is %d bytes behind the first", packed, i, at-uintptr(unsafe.Pointer(lanes[0])))
			}
		}
		if uintptr(unsafe.Pointer(lanes[0]))%LineSize != 0 {
			t.Error("the first counter does not begin a line")
		}
	}
}

// Sections of so many additions must take their time: chains that ran ahead of the
// lock or were folded would not.
func TestSectionsTakeTime(t *testing.T) {
	rate := func(like Taker) float64 { // ticks per acquisition, the fewest of some
		low := 1e18
		takers(1, TTAS, like, false, func(all []*Taker) {
			c := all[0].Counts
			eventually(t, "it begins", func() bool { return atomic.LoadUint64(&c.Locked) > 0 })
			for range 100 {
				a := Ticks()
				n := atomic.LoadUint64(&c.Locked) // a delay before or after only makes it look slower
				time.Sleep(500 * time.Microsecond)
				m := atomic.LoadUint64(&c.Locked)
				b := Ticks()
				if m > n {
					low = min(low, float64(b-a)/float64(m-n))
				}
			}
		})
		return low
	}
	for name, section := range map[string]func(n uint64) Taker{
		"critical": func(n uint64) Taker { return Taker{Critical: n} },
		"parallel": func(n uint64) Taker { return Taker{Parallel: n} },
	} {
		if r := rate(section(16000)) / rate(section(2000)); r < 6.5 || r > 10 {
			t.Errorf("8 times the additions in the %s section took %.2f times as long", name, r)
		}
	}
}

// Waits' classes rise with ticks, hold all of them and are narrow.
func TestWaitsClasses(t *testing.T) {
	last := -1
	for _, ticks := range []uint64{0, 1, 15, 16, 17, 31, 32, 33, 34, 63, 64, 1000, 1 << 20, 1<<20 + 1<<16, 1 << 40, 1<<63 + 1<<62} {
		var w Waits
		w.Add(ticks)
		class := slices.Index(w[:], 1)
		if mid := w.Ticks(class); mid < 0.97*float64(ticks) || mid > 1.032*float64(ticks)+0.5 {
			t.Errorf("%d ticks are counted as %g", ticks, mid)
		}
		if class < last {
			t.Errorf("%d ticks are in class %d, fewer in %d", ticks, class, last)
		}
		last = class
	}
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
			rounds := Lanes(1, false)[0]
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

// free reports whether nobody has the lock.
func (l *Lock) free() bool { return uint32(l.State) == uint32(l.State>>32) }
