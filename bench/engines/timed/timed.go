//go:build unix

// Package timed is what the programs in Go of this benchmark share: the queue's
// figures, arguments, and the CPU time of the process.
package timed

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// M/M/8 at load 0.8 with a mean service of 1.
const (
	Servers = 8
	Rate    = 6.4
)

// Arguments reads the number of jobs and the seed.
func Arguments() (jobs int, seed uint64) {
	if len(os.Args) == 3 {
		j, err1 := strconv.Atoi(os.Args[1])
		s, err2 := strconv.ParseUint(os.Args[2], 10, 64)
		if err1 == nil && err2 == nil && j > 0 {
			return j, s
		}
	}
	fmt.Fprintln(os.Stderr, "usage: PROGRAM JOBS SEED")
	os.Exit(2)
	return 0, 0
}

// CPU runs f and returns the CPU seconds of the whole process meanwhile, with the
// garbage collector and all threads.
func CPU(f func()) float64 {
	before := spent()
	f()
	return spent() - before
}

func spent() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// Print writes a run's figures.
func Print(jobs int, cpu, number float64) { fmt.Printf("%d %.9f %.9f\n", jobs, cpu, number) }
