//go:build !linux

package private

import "time"

// Thread is not known on this system.
func Thread(int, int) (cpu, waited time.Duration, ok bool) { return 0, 0, false }
