package host

import (
	"fmt"
	"strconv"
)

// clockFile is where a recording keeps the status word that adjtimex(2) gives, since no file of the kernel has it.
const clockFile = "/.hostlab/adjtimex"

// unsynchronised is STA_UNSYNC of adjtimex(2): no program keeps the clock with a time server, as far as the kernel
// knows.
const unsynchronised = 0x40

// readClockSync tells whether the clock is synchronised.
func readClockSync(t Tree) Fact[bool] {
	status := t.Int(clockFile, "", 1)
	if t.Live() {
		now, err := clockStatus()
		if err != nil {
			return Unknown[bool]("adjtimex", err)
		}
		t.stated(clockFile, strconv.Itoa(now))
		status = Known(int64(now), "", "adjtimex")
	}
	return Convert(status, "", func(v int64) (bool, error) {
		if v < 0 || v > 0xffff {
			return false, fmt.Errorf("%d is no status of a clock", v)
		}
		return v&unsynchronised == 0, nil
	})
}
