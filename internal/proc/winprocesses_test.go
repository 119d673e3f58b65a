package proc

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// made is an entry of class 5: the name behind its threads, as Windows has it.
type made struct {
	pid, parent, created, user, kernel int64
	name                               string
	states                             []uint32
}

func buffer(address uint64, list ...made) (b []byte) {
	for i, p := range list {
		name := utf16.Encode([]rune(p.name))
		e := make([]byte, processSize+len(p.states)*threadSize+2*len(name))
		put := func(at int, v int64) { binary.LittleEndian.PutUint64(e[at:], uint64(v)) }
		put(32, p.created)
		put(40, p.user)
		put(48, p.kernel)
		put(80, p.pid)
		put(88, p.parent)
		binary.LittleEndian.PutUint32(e[4:], uint32(len(p.states)))
		binary.LittleEndian.PutUint16(e[56:], uint16(2*len(name)))
		text := len(e) - 2*len(name)
		put(64, int64(address)+int64(len(b)+text))
		for j, s := range p.states {
			binary.LittleEndian.PutUint32(e[256+80*j+68:], s)
		}
		for j, u := range name {
			binary.LittleEndian.PutUint16(e[text+2*j:], u)
		}
		if i < len(list)-1 {
			binary.LittleEndian.PutUint32(e, uint32(len(e)))
		}
		b = append(b, e...)
	}
	return b
}

func TestParseProcesses(t *testing.T) {
	const address = 0x7ff600001000
	b := buffer(address, made{pid: 0, user: 1 << 40, states: []uint32{2}},
		made{4, 0, 0, 5, 6, "System", []uint32{5, 5}},
		made{700, 4, 1000, 2e7, 1e7, "sqlservr.exe", []uint32{5, 1, 2, 3, 7, 4, 5}}, // one running; ready, standby, deferred
		made{900, 700, 2000, 1, 1, "sqlagent.EXE", []uint32{1}},
		made{901, 700, 500, 0, 0, "an orphan", nil}, // older than who has its parent's number now
	)
	got, err := parseProcesses(b, address)
	want := []Process{
		{Stat{PID: 4, Name: "System", State: 'R', CPU: 1100}, 2, 0, 0},
		{Stat{PID: 700, Parent: 4, Name: "sqlservr", State: 'R', CPU: 3 * time.Second, Started: 1000}, 7, 1, 3},
		{Stat{PID: 900, Parent: 700, Name: "sqlagent", State: 'R', CPU: 200, Started: 2000}, 1, 0, 1},
		{Stat{PID: 901, Name: "an orphan", State: 'R', Started: 500}, 0, 0, 0},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for n := range len(b) { // none reads beyond the end
		if _, err := parseProcesses(b[:n], address); err != nil && !errors.Is(err, errCut) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := parseProcesses(b[:len(b)-len("an orphan")*2-1], address); !errors.Is(err, errCut) {
		t.Errorf("a list without its end: %v", err)
	}
}

func TestBusyTime(t *testing.T) {
	b := make([]byte, 2*48)
	for cpu, times := range [][3]uint64{{70e7, 80e7, 5e7}, {10e7, 10e7, 0}} { // idle, kernel with it, user
		for i, v := range times {
			binary.LittleEndian.PutUint64(b[48*cpu+8*i:], v)
		}
	}
	testkit.Is(t, 15*time.Second, busyTime(b), "busy for", "expected 15 s")
}
