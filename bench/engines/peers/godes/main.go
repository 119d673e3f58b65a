// Command godes runs M/M/8 at load 0.8 in godes: a runner for each job, a boolean control
// that says whether a server is free, first come first served.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"

	"github.com/agoussia/godes"
)

func spent() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

var (
	random  *rand.Rand
	waiting = godes.NewFIFOQueue("waiting")
	free    = 8
	total   float64
)

type job struct {
	*godes.Runner
	arrived float64
	turn    *godes.BooleanControl
}

func (j *job) Run() {
	if free > 0 {
		free--
	} else {
		waiting.Place(j)
		j.turn.Wait(true)
	}
	godes.Advance(random.ExpFloat64())
	total += godes.GetSystemTime() - j.arrived
	if waiting.Len() > 0 {
		waiting.Get().(*job).turn.Set(true)
	} else {
		free++
	}
}

func main() {
	jobs, _ := strconv.Atoi(os.Args[1])
	seed, _ := strconv.ParseUint(os.Args[2], 10, 64)
	random = rand.New(rand.NewPCG(seed, 1))
	begin := spent()
	godes.Run()
	for range jobs {
		godes.Advance(random.ExpFloat64() / 6.4)
		godes.AddRunner(&job{&godes.Runner{}, godes.GetSystemTime(), godes.NewBooleanControl()})
	}
	godes.WaitUntilDone()
	fmt.Printf("%d %.9f %.9f\n", jobs, spent()-begin, total/godes.GetSystemTime())
}
