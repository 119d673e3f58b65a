package hot

import (
	"testing"

	"hostlab/internal/testkit"
)

func TestFlush(t *testing.T) {
	testkit.Is(t, (flushBy != ""), (CanFlush() == nil), "Check gives", CanFlush(), flushBy)
	if CanFlush() != nil {
		return
	}
	b := []byte("a log record")
	Flush(b)
	Flush(nil)
	Flush(b[:0])
	testkit.Is(t, "a log record", string(b))
}
