package waits

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Seen is what one look at a process of PostgreSQL saw.
type Seen struct {
	PID  int
	Word uint32
	Xact bool // it is in a transaction that has not failed
	Runs bool // it is on a CPU or ready for one, whatever its word says: after a wait it needs a CPU to change that
	In   Call // what it waits in where it neither runs nor has a word for its wait
}

// FindTransactions finds where processes keep the number of the transaction that they are in, and 0 outside of any
// (LocalTransactionId in storage/proc.h): before 17 in front of their process number, since then three fields after it.
// That number, which tells where they are, stands in the same record as the word; the latch before it has it, too. pids
// are known ones.
func (w *Words) FindTransactions(pids []int, major int) error {
	const before, several = 1000, 2
	found, looked := map[int]int{}, 0
	for _, pid := range pids {
		at, known := w.at[pid]
		var b [before]byte
		if !known || peek(w.postmaster, []unix.RemoteIovec{{Base: uintptr(at - before), Len: before}}, b[:]) != nil {
			continue
		}
		looked++
		for i := 0; i < before; i += 4 {
			if int(binary.NativeEndian.Uint32(b[i:])) == pid {
				found[before-i]++
			}
		}
	}
	nearest := 0
	for back, n := range found {
		if n == looked && (nearest == 0 || back < nearest) {
			nearest = back
		}
	}
	if looked < several || nearest == 0 {
		return errors.New("its memory is laid out in another way than PostgreSQL's")
	}
	if w.xact = uint64(nearest + 4); major >= 17 { //nolint:gosec // it is within the record
		w.xact = uint64(nearest - 12) //nolint:gosec // as above
	}
	return nil
}

// Group are processes that are looked at together.
type Group struct {
	pids   []int
	pieces []unix.RemoteIovec
	places []int32 // of their words in what is read
	bytes  []byte
	seen   []Seen
}

// Group makes one of those that are known.
func (w *Words) Group(pids []int) *Group {
	g := &Group{}
	for _, pid := range pids {
		if _, known := w.at[pid]; known {
			g.pids = append(g.pids, pid)
		}
	}
	slices.SortFunc(g.pids, func(a, b int) int { return cmp.Compare(w.at[a], w.at[b]) })
	size := 0
	for _, pid := range g.pids {
		from, to := w.at[pid]-w.xact, w.at[pid]+4
		// Records of one array: a longer piece takes the kernel less than two short ones.
		if n := len(g.pieces) - 1; n >= 0 && from < uint64(g.pieces[n].Base)+uint64(g.pieces[n].Len)+near {
			more := int(to - uint64(g.pieces[n].Base) - uint64(g.pieces[n].Len)) //nolint:gosec // it is small
			g.pieces[n].Len, size = g.pieces[n].Len+more, size+more
		} else {
			g.pieces = append(g.pieces, unix.RemoteIovec{Base: uintptr(from), Len: int(to - from)}) //nolint:gosec // as above
			size += int(to - from)                                                                  //nolint:gosec // as above
		}
		g.places = append(g.places, int32(size-4)) //nolint:gosec // it is small
	}
	g.bytes = make([]byte, size)
	return g
}

// near is how far apart pieces are at most that are read as one: two records of PostgreSQL 18 (PGPROC has 900 bytes).
const near = 1800

// Look is what all of a group do, until the next look, as far as words tell; nothing where their memory has gone, as
// when the server has restarted.
func (w *Words) Look(g *Group) []Seen {
	g.seen = w.glance(g, g.seen[:0])
	for i := range g.seen {
		g.seen[i].Runs = g.seen[i].Word == 0
	}
	return g.seen
}

// Moment is a look of many.
type Moment struct {
	Seconds float64 // that it stands for
	Seen    []Seen
}

// Looks looks at a group again and again until a time. ask says of whom that waits it has to find out whether it is
// ready to run. It forgets when the last look was where that is another recording's (anew).
func (w *Words) Looks(g *Group, ask func(pid int) bool, until time.Time, mean time.Duration,
	anew bool) (out []Moment, err error) {
	if len(g.pids) > mostProcesses || len(g.bytes) > mostBytes || len(g.pieces) > mostProcesses {
		return nil, fmt.Errorf("it has more than %d processes", mostProcesses)
	}
	if w.looker == nil {
		if w.looker, err = startLooker(); err != nil {
			return nil, err
		}
	}
	b := w.looker.b
	if anew {
		b.due = 0
	}
	w.looker.show(w, g, ask)
	began := time.Now()
	if err := w.looker.look(until, mean); err != nil {
		w.Close() // it may still write to the board
		w.missed.add(int(time.Since(began)/max(mean, 1)), time.Since(began))
		if w.failed++; w.failed >= mostFailed {
			return nil, err
		}
		return nil, nil
	}
	w.failed = 0
	w.missed.add(int(b.missed), time.Duration(b.unseen))
	if w.odd {
		return nil, nil
	}
	from := int32(0)
	for i := range b.moments {
		m := Moment{Seconds: float64(b.planned[i]) / 1e9, Seen: make([]Seen, 0, b.end[i]-from)}
		for j, x := range b.seen[from:b.end[i]] {
			if w.further != 0 && !written(x.word) {
				w.forget()
				return nil, nil
			}
			seen := Seen{PID: g.pids[j], Word: x.word, Xact: x.xact, Runs: x.runs}
			if x.word == 0 && !x.runs {
				seen.In = x.in.call
			}
			m.Seen = append(m.Seen, seen)
		}
		out, from = append(out, m), b.end[i]
	}
	return out, nil
}

// mostFailed is how many times in a row a child may have no CPU for seconds, or be killed, before nobody looks any
// more.
const mostFailed = 3

// Missed are the looks of the child that saw nothing so far.
func (w *Words) Missed() Missed { return w.missed }

// CPU is what looks have taken in the child, and in those before it.
func (w *Words) CPU() time.Duration {
	if w.looker == nil {
		return w.spent
	}
	return w.spent + w.looker.used()
}

// forget is for a build with other records than this version's: no word of it is read any more.
func (w *Words) forget() {
	w.odd = true // a symbol leads to words alone, and extensions may have classes of their own
	clear(w.at)
}

// Read reads the words of all known processes, and none where their memory has gone.
func (w *Words) Read(into map[int]uint32) {
	clear(into)
	for _, x := range w.glance(w.Group(slices.Collect(maps.Keys(w.at))), nil) {
		into[x.PID] = x.Word
	}
}

// written reports a word that PostgreSQL writes: none, or a class (src/include/utils/wait_classes.h) and 16 bits.
func written(word uint32) bool {
	class := word >> 24
	return word == 0 || word&0xff0000 == 0 && (class == 1 || class >= 3 && class <= 11)
}

// glance reads all that a group says.
func (w *Words) glance(g *Group, into []Seen) []Seen {
	const most = 1024 // UIO_MAXIOV
	from := 0
	if w.odd {
		return into
	}
	for some := range slices.Chunk(g.pieces, most) {
		to := from
		for _, p := range some {
			to += p.Len
		}
		if peek(w.postmaster, some, g.bytes[from:to]) != nil {
			return into
		}
		from = to
	}
	for i, pid := range g.pids {
		at := int(g.places[i])
		word := binary.NativeEndian.Uint32(g.bytes[at:])
		if w.further != 0 && !written(word) {
			w.forget()
			return into[:0]
		}
		into = append(into, Seen{PID: pid, Word: word,
			Xact: binary.NativeEndian.Uint32(g.bytes[at-int(w.xact):]) != 0}) //nolint:gosec // as above
	}
	return into
}

// Title is what a process says of itself where ps(1) shows its arguments; "" where it has ended. cut: it was too long
// for their place.
func (w *Words) Title(pid int) (title string, cut bool) {
	var b [longestTitle]byte
	room := min(w.room, longestTitle)
	if peek(pid, []unix.RemoteIovec{{Base: uintptr(w.title), Len: int(room)}}, b[:room]) != nil { //nolint:gosec // it is small
		return "", false
	}
	text, _, _ := bytes.Cut(b[:room], []byte{0})
	return string(text), uint64(len(text))+3 >= room // its end is one byte before theirs, or two
}

// longestTitle is more than PostgreSQL writes of two names (63 bytes each), a host and a command.
const longestTitle = 1024

// Close ends the child.
func (w *Words) Close() {
	if w.children != nil {
		_ = w.children.Close()
		w.children = nil
	}
	if w.looker != nil {
		w.spent += w.looker.used()
		w.looker.close()
		w.looker = nil
	}
}

func (m *Missed) add(looks int, stood time.Duration) { m.Looks, m.Time = m.Looks+looks, m.Time+stood }
