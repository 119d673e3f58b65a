package demo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"hostlab/internal/thread"
)

// Trouble says what is wrong with a shop on purpose, in sentences.
func Trouble() string {
	return fmt.Sprintf("The demo shop has a planted trouble: a log on a slow device (emulated, %d ms more a write). "+
		"hostlab does not know.", slow.Milliseconds())
}

// slow is what a commit takes beyond what the directory's device needs: a turn of a disk that has no cache.
const slow = 8 * time.Millisecond

// The sizes of the ledger: its things fit into memory, and a read of one takes some ten microseconds.
const (
	things = 1000
	page   = 8 << 10
	record = 4 << 10
	log    = 4 << 20
)

// ledger holds what the shop sells and what it has earned: things in memory, and a log whose records it writes over again. Nothing in
// it is locked, and what its clients do takes no memory, so that no collection stops them.
type ledger struct {
	log   *os.File
	next  atomic.Int64 // record
	pages []byte
	sums  [things]uint64
	zeros [record]byte
}

func openLedger(dir string) (*ledger, error) {
	l := &ledger{pages: make([]byte, things*page)}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range l.pages {
		l.pages[i] = byte(r.Uint32())
	}
	for i := range l.sums {
		l.sums[i] = l.sum(i)
	}
	f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	l.log = f
	if _, err := f.Write(make([]byte, log)); err != nil { // blocks that are there need no more than their data written
		return nil, errors.Join(err, f.Close())
	}
	return l, f.Sync()
}

// sum is a page's checksum, by FNV-1a.
func (l *ledger) sum(i int) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range l.pages[i*page : (i+1)*page] {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

var errSpoilt = errors.New("a thing of the demo shop was spoilt in memory")

func (l *ledger) read(r *rand.Rand) error {
	if i := r.IntN(things); l.sum(i) != l.sums[i] {
		return errSpoilt
	}
	return nil
}

func (l *ledger) commit() error {
	if _, err := l.log.WriteAt(l.zeros[:], l.next.Add(1)%(log/record)*record); err != nil {
		return err
	}
	if err := sync(l.log); err != nil {
		return err
	}
	thread.Sleep(slow)
	return nil
}
