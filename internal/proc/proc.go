// Package proc finds processes and signals them. The kernel gives the number of a process
// that has ended to another one, so nothing is signalled by its number: a process is held
// first (pidfd_open(2)), looked at then, and signalled by what is held. If it ended
// meanwhile the signal goes nowhere, whatever has its number.
//
// It takes Linux; on other systems there are no processes to be seen.
//
// It also tells how much of the CPUs others take while we measure: other processes, and
// the hypervisor where it says so; and for how long this process did not run at all, as it
// was stopped or the machine suspended.
package proc
