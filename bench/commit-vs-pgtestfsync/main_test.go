//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const out = `1 second per test

Compare file sync methods using one 8kB write:
        open_datasync                       325.425 ops/sec    3073 usecs/op
        fdatasync                           897.216 ops/sec    1115 usecs/op
        fsync                              1832.167 ops/sec     546 usecs/op
Compare file sync methods using two 8kB writes:
        fdatasync                           1.0 ops/sec    1 usecs/op
`
	p := []*pattern{{name: "fdatasync"}, {name: "open_datasync"}}
	got, err := read(strings.NewReader(out), p)
	if err != nil || got["fdatasync"] != 897.216 || got["open_datasync"] != 325.425 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "fdatasync n/a*\n", "fdatasync many ops/sec\n"} {
		if _, err := read(strings.NewReader(bad), p); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}
