//go:build !linux

package proc

// ClientOf is the process of this host at the other end of a connection that a process serves; 0: nobody looks here.
func ClientOf(int) int { return 0 }

// Listener is the process that listens at an address; 0: nobody looks here.
func Listener(int, string) int { return 0 }

// RequestsOf are none: nobody looks here.
func RequestsOf([]int) Requests { return Requests{} }

// ClientsAmong are none: nobody looks here.
func ClientsAmong([]int, []int) map[int]bool { return nil }

// Hides is true: nobody looks here.
func Hides(int) bool { return true }

// Listens are no addresses: nobody looks here.
func Listens(int) []string { return nil }
