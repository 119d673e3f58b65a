package watch

import "time"

// Counter reads the counters of a system: Linux' files, or Windows' performance counters.
type Counter interface {
	Info() Info
	Read(now time.Time) (Reading, error)
	Close()
}
