//go:build !linux

package counters

import "errors"

// Cycles of the processor, while it does not sleep.
var Cycles Event

// Counter counts nothing here.
type Counter struct{}

func Thread(int, Event) (Counter, error) {
	return Counter{}, errors.New("only the kernel of Linux can be asked so")
}

func (Counter) Read() (Count, error) { return Count{}, errors.ErrUnsupported }

func (Counter) Close() {}
