package hot

import (
	"testing"
	"unsafe"
)

// Every instruction up to the best that the processor has leaves the content as it is,
// whatever the ends of the range.
func TestFlushInstructions(t *testing.T) {
	if flushLine < 32 || flushLine > 256 || flushLine&(flushLine-1) != 0 {
		t.Fatalf("a cache line of %d bytes", flushLine)
	}
	methods := []string{"clflush", "clflushopt", "clwb"}
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i * 7)
	}
	for _, m := range methods {
		for _, r := range [][2]int{{0, 4096}, {1, 1}, {63, 2}, {100, 1000}, {4095, 1}} {
			p := uintptr(unsafe.Pointer(&b[r[0]]))
			flushLines(m, p&^(flushLine-1), p+uintptr(r[1]))
		}
		if m == flushBy {
			break
		}
	}
	for i := range b {
		if b[i] != byte(i*7) {
			t.Fatalf("byte %d changed", i)
		}
	}
}

func init() { scans["scanSSE"] = scanSSE } // which scan leaves out where there is AVX
