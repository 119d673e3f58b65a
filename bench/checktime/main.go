//go:build unix

// Command checktime times `hostlab check` as a whole process against cat reading
// the same files, interleaved in random order, and prints their ratio with its
// interval, the medians and the peak memory.
//
//	go run ./bench/checktime [-n ROUNDS] HOSTLAB [ROOT]
//
// ROOT is a machine's tree; without it, this machine. The files are those that
// `hostlab facts --save` lists.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/txtar"

	"hostlab/internal/stats"
)

func main() {
	rounds := flag.Int("n", 21, "rounds")
	flag.Parse()
	if flag.NArg() < 1 || flag.NArg() > 2 {
		fmt.Fprintln(os.Stderr, "usage: checktime [-n ROUNDS] HOSTLAB [ROOT]")
		os.Exit(2)
	}
	if err := run(*rounds, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "checktime:", err)
		os.Exit(1)
	}
}

func run(rounds int, hostlab, root string) error {
	check, facts := []string{"check"}, []string{"facts", "--save", "-"}
	if root != "" {
		check, facts = append(check, "--root", root), append(facts, "--root", root)
	}
	recording, err := exec.Command(hostlab, facts...).Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w", hostlab, strings.Join(facts, " "), err)
	}
	var files []string
	for _, f := range txtar.Parse(recording).Files {
		name := filepath.Join("/", root, f.Name)
		if root != "" && !filepath.IsAbs(root) {
			name = filepath.Join(root, f.Name)
		}
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	list := []byte(strings.Join(files, "\n") + "\n")
	commands := []func() (sample, error){
		func() (sample, error) { return timed(nil, hostlab, check...) },
		func() (sample, error) { return timed(list, "xargs", "-d", "\n", "cat") },
	}
	var wall, cpu [2][]float64
	var rss int64
	for round := -1; round < rounds; round++ { // round -1 warms up
		for _, i := range rand.Perm(len(commands)) {
			s, err := commands[i]()
			if err != nil {
				return err
			}
			if round < 0 {
				continue
			}
			wall[i], cpu[i] = append(wall[i], s.wall), append(cpu[i], s.cpu)
			if i == 0 {
				rss = max(rss, s.rss)
			}
		}
	}
	iv := stats.PairedRatio(wall[0], wall[1], 0.05)
	fmt.Printf("files %d, rounds %d\n", len(files), rounds)
	fmt.Printf("check  wall %.1f ms (max %.1f), cpu %.1f ms, peak memory %.1f MB\n",
		1e3*stats.Median(wall[0]), 1e3*stats.Quantile(wall[0], 1), 1e3*stats.Median(cpu[0]), float64(rss)/1e6)
	fmt.Printf("cat    wall %.1f ms, cpu %.1f ms\n", 1e3*stats.Median(wall[1]), 1e3*stats.Median(cpu[1]))
	fmt.Printf("ratio  check/cat %.2f [%.2f, %.2f], n=%d\n", iv.Value, iv.Low, iv.High, iv.N)
	return nil
}

// sample is one process: seconds and bytes.
type sample struct {
	wall, cpu float64
	rss       int64
}

// timed runs a command. Exit statuses do not matter: check says 1 for findings,
// xargs 123 where cat may not read a file.
func timed(stdin []byte, name string, args ...string) (sample, error) {
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(stdin), io.Discard
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	_ = cmd.Wait()
	wall := time.Since(begin).Seconds()
	ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return sample{}, fmt.Errorf("no resource usage of %s", name)
	}
	return sample{wall, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), ru.Maxrss << 10}, nil
}
