package privatedb

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var l Tail
	fmt.Fprint(&l, strings.Repeat("LOG:  chatter\n", 5000), "FATAL:  could not write: No space left on device\nLOG:  shutting down\n\n")
	if got := l.Last(); got != "FATAL:  could not write: No space left on device" || !l.Full() || len(l.text) > tailBytes {
		t.Errorf("%q, full %v, %d bytes", got, l.Full(), len(l.text))
	}
	var none Tail
	if none.Last() != "" || none.Full() {
		t.Error("an empty log has a line")
	}
}
