//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreSuspend lets Ctrl-Z do nothing.
func ignoreSuspend() { signal.Ignore(syscall.SIGTSTP) }
