package experiment

import (
	"strings"
	"testing"
	"time"
)

func TestParseDirectory(t *testing.T) {
	for _, c := range []struct {
		text string
		want Directory
		err  string
	}{
		{"/log", Directory{Dir: "/log"}, ""},
		{"", Directory{}, ""},
		{"log:2", Directory{Dir: "log:2"}, ""},
		{"delay:1ms", Directory{Delay: time.Millisecond}, ""},
		{"delay:250us:/var/log:x", Directory{Dir: "/var/log:x", Delay: 250 * time.Microsecond}, ""},
		{"delay:", Directory{}, "is not a delay"},
		{"delay:5", Directory{}, "is not a delay"},
		{"delay:0s", Directory{}, "above 0"},
		{"delay:-1ms", Directory{}, "above 0"},
		{"delay:1h", Directory{}, "up to 1m"},
		{"delay:1ms:", Directory{}, "names no directory"},
		{"a\x00b", Directory{}, "zero byte"},
	} {
		got, err := parseDirectory(c.text)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q gave %+v, %v", c.text, got, err)
		}
	}
}
