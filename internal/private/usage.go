package private

import "time"

// Usage is CPU time of a server's processes.
type Usage struct {
	All     time.Duration         // of all that live or have ended
	Session map[int]time.Duration // of those that live, by process number
}
