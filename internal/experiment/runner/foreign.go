package runner

import (
	"fmt"

	"hostlab/internal/explain/connect"
	"hostlab/internal/screen"
)

// foreign says that another program has set meanwhile what an experiment changes, and that it was left so.
type foreign struct{ text string }

func (f *foreign) Error() string { return f.text }

// isForeign reports that an error says this and nothing else: no level of the experiment is in force.
func isForeign(err error) bool {
	switch e := err.(type) { //nolint:errorlint // all that is joined is looked at
	case *foreign, *connect.Foreign:
		return true
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if !isForeign(err) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return isForeign(e.Unwrap())
	}
	return false
}

// notBack says what a session or a restore has left changed, and how that is put back.
func notBack(err error, dir string) error {
	command := "hostlab run --restore --out " + screen.Operand(dir)
	if isForeign(err) {
		return fmt.Errorf("%w; nothing of this experiment is in force; to put back what was there before it: %s --yes", err,
			command)
	}
	return fmt.Errorf("NOT PUT BACK: %w; try again with: %s", err, command)
}
