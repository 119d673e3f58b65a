//go:build linux && amd64

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/ring"
)

// ringDir is on the disk that outlives a power cut.
const ringDir = "/var/lib/hostlab/ring"

// keepRing adds lines to a ring until the plug is pulled, and says of each that it was kept. An hour has six lines, so
// that hours are packed all the time.
func keepRing() {
	w, err := ring.Open(ringDir, 48*time.Hour)
	if err != nil {
		cannot(err.Error())
	}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := 0; ; i++ {
		text := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat(strconv.Itoa(i), 400))
		if err := w.Append(at.Add(time.Duration(i)*10*time.Minute), []byte(text)); err != nil {
			fail("ring", "%v", err)
			return
		}
		line("kept", i)
	}
}

// ringLeft says which lines of the ring are there after it, and goes on with it.
func ringLeft() {
	damaged, err := ring.Read(ringDir, time.Time{}, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		func(_ time.Time, text []byte) error {
			n, _, _ := strings.Cut(strings.TrimPrefix(string(text), `{"n":`), ",")
			line("left", n)
			return nil
		})
	if err != nil {
		cannot(err.Error())
	}
	line("damaged", damaged)
	w, err := ring.Open(ringDir, 48*time.Hour)
	if err == nil {
		err = w.Append(time.Now(), []byte(`{"n":-1}`))
		w.Close()
	}
	require("the ring goes on", err == nil, "%v", err)
}
