package delayfs

import (
	"strings"
	"testing"
	"time"
)

func TestParsePlace(t *testing.T) {
	for _, c := range []struct {
		text string
		want Place
		err  string
	}{
		{"/log", Place{Dir: "/log"}, ""},
		{"", Place{}, ""},
		{"log:2", Place{Dir: "log:2"}, ""},
		{"delay:1ms", Place{Delay: time.Millisecond}, ""},
		{"delay:250us:/var/log:x", Place{"/var/log:x", 250 * time.Microsecond}, ""},
		{"delay:", Place{}, "is not a delay"},
		{"delay:5", Place{}, "is not a delay"},
		{"delay:0s", Place{}, "above 0"},
		{"delay:-1ms", Place{}, "above 0"},
		{"delay:1h", Place{}, "up to 1m"},
		{"delay:1ms:", Place{}, "names no directory"},
		{"a\x00b", Place{}, "zero byte"},
	} {
		got, err := ParsePlace(c.text)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q gave %+v, %v", c.text, got, err)
		}
	}
}
