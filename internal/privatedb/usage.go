package privatedb

import (
	"fmt"
	"hostlab/internal/proc"
	"time"
)

// Usage is CPU time of a server's processes.
type Usage struct {
	// All is that of those that live or have ended. From one reading to the next it
	// grows or stays. It is exact as long as Ended is the same in both; otherwise it may be
	// wrong by less than Coarse either way, however many have ended.
	All     time.Duration
	Session map[int]time.Duration // of those that live, by process number
	Ended   int64                 // differs from an earlier reading where processes have ended since
}

// Coarse is how exactly Linux tells the CPU time of processes that have ended: user and
// system time are summed to the nanosecond, and shown in whole units each.
const Coarse = 2 * proc.Tick

// Since is what was used since an earlier reading of the same meter. doubt is why it
// should not be shown, where its error may be more than a tenth of it; or empty.
func (u Usage) Since(before Usage) (cpu time.Duration, doubt string) {
	cpu = u.All - before.All
	if u.Ended != before.Ended && cpu < 10*Coarse {
		doubt = fmt.Sprintf(
			"processes of the server ended in the run, and Linux tells their CPU time to %d ms, too little for about "+
				"%d ms: make the run longer",
			Coarse.Milliseconds(), cpu.Milliseconds())
	}
	return cpu, doubt
}
