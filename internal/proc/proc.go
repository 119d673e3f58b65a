// Package proc finds processes and signals them. The kernel gives the number of a process
// that has ended to another one, so nothing is signalled by its number: a process is held
// first (pidfd_open(2)), looked at then, and signalled by what is held. If it ended
// meanwhile the signal goes nowhere, whatever has its number.
//
// It takes Linux.
package proc

// UserHZ is the clock tick of /proc/stat and /proc/PID/stat: 100 a second to user space on
// every architecture that Go runs on (asm-generic/param.h).
const UserHZ = 100
