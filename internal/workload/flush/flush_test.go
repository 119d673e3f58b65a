package flush

import "testing"

func TestRange(t *testing.T) {
	if (Check() == nil) != (method != "") {
		t.Errorf("Check gives %v for %q", Check(), method)
	}
	if Check() != nil {
		return
	}
	b := []byte("a log record")
	Range(b)
	Range(nil)
	Range(b[:0])
	if string(b) != "a log record" {
		t.Errorf("%q", b)
	}
}
