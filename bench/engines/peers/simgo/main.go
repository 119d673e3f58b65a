// Command simgo runs M/M/8 at load 0.8 in simgo: a process for each job, a Store of servers.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"

	"github.com/fschuetz04/simgo"
)

func spent() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func main() {
	jobs, _ := strconv.Atoi(os.Args[1])
	seed, _ := strconv.ParseUint(os.Args[2], 10, 64)
	random := rand.New(rand.NewPCG(seed, 1))
	begin := spent()
	sim := simgo.NewSimulation()
	servers := simgo.NewStore[int](sim)
	for i := range 8 {
		servers.Put(i)
	}
	total, left := 0.0, jobs
	sim.Process(func(source simgo.Process) {
		for {
			source.Wait(source.Timeout(random.ExpFloat64() / 6.4))
			sim.Process(func(job simgo.Process) {
				arrived := job.Now()
				server := servers.Get()
				job.Wait(server)
				job.Wait(job.Timeout(random.ExpFloat64()))
				servers.Put(server.Item)
				total += job.Now() - arrived
				left--
			})
		}
	})
	for left > 0 && sim.Step() {
	}
	fmt.Printf("%d %.9f %.9f\n", jobs, spent()-begin, total/sim.Now())
}
