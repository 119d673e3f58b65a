package hot

import "testing"

func TestFlush(t *testing.T) {
	if (CanFlush() == nil) != (flushBy != "") {
		t.Errorf("Check gives %v for %q", CanFlush(), flushBy)
	}
	if CanFlush() != nil {
		return
	}
	b := []byte("a log record")
	Flush(b)
	Flush(nil)
	Flush(b[:0])
	if string(b) != "a log record" {
		t.Errorf("%q", b)
	}
}
