//go:build !linux

package command

import (
	"os"
)

// orphans are not known here.
type orphans struct{}

func adopt() orphans { return orphans{} }

func (orphans) Of(int, string) {}
func (orphans) end() string    { return "" }

func usageOf(state *os.ProcessState) usage {
	if state == nil {
		return usage{noMaxRSS: "the process's end was not seen"}
	}
	return usage{user: state.UserTime(), system: state.SystemTime(), noMaxRSS: "this system does not tell"}
}

func signalled(*os.ProcessState) string { return "" }

func startHint(error) string { return "" }
