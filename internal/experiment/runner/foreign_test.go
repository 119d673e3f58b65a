package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/explain/connect"
)

// Only where nothing else went wrong is it certain that no level is in force.
func TestForeign(t *testing.T) {
	theirs, failed := &foreign{"thp reads never"}, errors.New("no connection")
	for _, err := range []error{theirs, errors.Join(theirs, fmt.Errorf("factor x: %w", &connect.Foreign{}))} {
		if text := notBack(err, "d").Error(); !isForeign(err) || strings.Contains(text, "NOT PUT BACK") ||
			!strings.HasSuffix(text, "--restore --out d --yes") {
			t.Error(text)
		}
	}
	for _, err := range []error{nil, failed, errors.Join(theirs, failed),
		fmt.Errorf("%w; and a level may be in force still: %w", theirs, failed)} {
		if isForeign(err) {
			t.Errorf("%v: no level is in force", err)
		}
	}
}
