//go:build !linux

package waits

import (
	"errors"
	"time"
)

// Words reads nothing here.
type Words struct{}

var errNoMemory = errors.New("on this system hostlab reads no other process' memory")

// OpenWords finds nothing.
func OpenWords(int) (*Words, error) { return nil, errNoMemory }

// Seen is what a look would see.
type Seen struct {
	PID        int
	Word       uint32
	Xact, Runs bool
	In         Call
}

// Children lists none.
func (*Words) Children() ([]int, error) { return nil, errNoMemory }

// Follow knows none.
func (*Words) Follow([]int) {}

func (*Words) FindTransactions([]int, int) error { return errNoMemory }

// Group would be processes that are looked at together.
type Group struct{}

// Group knows none.
func (*Words) Group([]int) *Group { return nil }

// Look sees none.
func (*Words) Look(*Group) []Seen { return nil }

// Moment would be a look of many.
type Moment struct {
	Seconds float64
	Seen    []Seen
}

// Looks sees none.
func (*Words) Looks(*Group, func(int) bool, time.Time, time.Duration, bool) ([]Moment, error) {
	return nil, errNoMemory
}

func (*Words) Missed() Missed { return Missed{} }

func (*Words) CPU() time.Duration { return 0 }

// Title reads none.
func (*Words) Title(int) (title string, cut bool) { return "", false }

func (*Words) Close() {}

// Halts would say what a process waits in.
func (Ends) Halts(int, Call) string { return "" }
