// Package private has what servers share that we start for the time of an experiment,
// whatever their make: who they run as, directories that go with their owner, their
// processes from start to end, and what they wrote to stderr.
//
// It takes Linux, but for Tail.
package private

import "os"

// Kind is what differs between makes of servers.
type Kind struct {
	Product  string   // as users know it: PostgreSQL
	Prefix   string   // starts the name of every directory of ours, and of no other's: hostlab-postgres-
	Accounts []string // tried in this order where we are root; the first that exists is taken
	// Leftover is asked before what runs in a data directory is ended, and gives what
	// removes more than files; both may be nil.
	Leftover func(data *os.Root) (remove func())
}
