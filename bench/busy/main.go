// Command busy puts the probes of `hostlab assess` beside loads that it makes itself, in random
// order, and counts what they decide, or bound below 10 %, of the levers that they measure.
//
//	go run ./bench/busy [-n 8] [-loads 0,10,30,60] [-burst 3ms] PROGRAM [FLAG...]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/lever"
)

// probed are those that probes measure on any host. What a faster log gives is a matter of the
// log's share of a job, so its bound is none of the probes' failures.
var probed = []string{"clock", "idle", "smt", "degree"}

// answer is what is read of a report.
type answer struct {
	Levers   []lever.Lever `json:"levers"`
	Warnings []string      `json:"warnings"`
}

func main() {
	n := flag.Int("n", 8, "runs beside each load")
	list := flag.String("loads", "0,10,30,60", "in % of all CPUs")
	burst := flag.Duration("burst", 3*time.Millisecond, "mean length of the load's bursts")
	verbose := flag.Bool("v", false, "say of each lever why it is not decided")
	flag.Parse()
	if flag.NArg() < 1 {
		fail("want the program; see -h")
	}
	var runs []int
	var loads []int
	for text := range strings.SplitSeq(*list, ",") {
		load, err := strconv.Atoi(text)
		if err != nil || load < 0 || load > 95 {
			fail("-loads " + text + ": want 0 to 95")
		}
		loads = append(loads, load)
		runs = append(runs, slices.Repeat([]int{load}, *n)...)
	}
	rand.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	settled := map[string]int{}
	all := map[int]int{}
	for _, load := range runs {
		a := one(load, *burst, flag.Args())
		fmt.Printf("%2d %%:", load)
		for _, l := range a.Levers {
			if !slices.Contains(probed, l.Name) {
				continue
			}
			bound := "unknown"
			if l.AtMost != nil {
				bound = fmt.Sprintf("%.1f %%", 100**l.AtMost)
			}
			fmt.Printf(" %s %s %s;", l.Name, l.Verdict, bound)
			if decided(&l) || l.AtMost != nil && *l.AtMost < 0.1 {
				settled[fmt.Sprint(load, l.Name)]++
				all[load]++
			} else if *verbose {
				fmt.Printf(" (%s | %s)", l.Reason, l.Why())
			}
		}
		fmt.Println()
		if *verbose {
			fmt.Println("   ", strings.Join(a.Warnings, "\n    "))
		}
	}
	for _, load := range loads {
		fmt.Printf("beside %d %%: %.1f of %d levers, n %d:", load, float64(all[load])/float64(*n), len(probed), *n)
		for _, l := range probed {
			fmt.Printf(" %s %d,", l, settled[fmt.Sprint(load, l)])
		}
		fmt.Println()
	}
}

// decided reports a verdict that leaves nothing open. Without siblings there is nothing to place.
func decided(l *lever.Lever) bool {
	return l.Reason == lever.Costs || l.Reason == lever.NoEffect || l.Reason == lever.NoSiblings
}

// one assesses beside a load.
func one(load int, burst time.Duration, args []string) (a answer) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for range runtime.NumCPU() {
		go work(ctx, float64(load)/100, burst)
	}
	time.Sleep(300 * time.Millisecond)
	cmd := exec.Command(args[0], append([]string{"assess", "--service", "none", "--format", "json"}, args[1:]...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, nil
	if err := cmd.Run(); err != nil {
		fail(fmt.Sprintf("%v: %v", cmd.Args, err))
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		fail(err.Error())
	}
	return a
}

// work takes a share of a CPU in bursts at random.
func work(ctx context.Context, share float64, burst time.Duration) {
	runtime.LockOSThread()
	if share == 0 {
		return
	}
	for ctx.Err() == nil {
		for end := time.Now().Add(time.Duration(rand.ExpFloat64() * float64(burst))); time.Now().Before(end); {
		}
		time.Sleep(time.Duration(rand.ExpFloat64() * float64(burst) * (1 - share) / share))
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "busy:", why)
	os.Exit(2)
}
