//go:build !linux

package waits

import "errors"

// Words reads nothing here.
type Words struct{}

// OpenWords finds nothing.
func OpenWords(int) (*Words, error) {
	return nil, errors.New("on this system no other process' memory is read")
}

// Children lists none.
func (*Words) Children() ([]int, error) { return nil, errors.ErrUnsupported }

// Follow knows none.
func (*Words) Follow([]int) {}

// Read reads none.
func (*Words) Read(map[int]uint32) {}

// Title reads none.
func (*Words) Title(int) (title string, whole bool) { return "", false }

// Runs knows of none.
func (*Words) Runs(int) bool { return false }

// Close does nothing.
func (*Words) Close() {}
