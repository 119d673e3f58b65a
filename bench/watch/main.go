// Command watch measures what `hostlab watch` itself takes of a CPU, full-screen at
// 1 Hz on the made tree of a 512-CPU host, whose counters go on meanwhile.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

const socket = "hostlab-bench"

func main() {
	binary := flag.String("hostlab", "bin/hostlab", "the binary")
	windows := flag.Int("n", 12, "windows")
	length := flag.Duration("window", 5*time.Second, "length of a window")
	size := flag.String("size", "80x24", "of the terminal")
	flag.Parse()
	if err := measure(*binary, *windows, *length, *size); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

func measure(binary string, n int, length time.Duration, size string) (err error) {
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hostlab-bench-watch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := testkit.Made512(dir); err != nil {
		return err
	}
	cols, rows, ok := strings.Cut(size, "x")
	if !ok {
		return errors.New("-size: expected COLUMNSxROWS")
	}
	tmux := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-L", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if _, err := tmux("new-session", "-d", "-x", cols, "-y", rows, binary, "watch", "--root", dir); err != nil {
		return err
	}
	defer func() { _, e := tmux("kill-server"); err = errors.Join(err, e) }()
	pid, err := tmux("display-message", "-p", "#{pane_pid}")
	if err != nil {
		return err
	}
	go advance(dir)
	time.Sleep(3 * time.Second)
	var share []float64
	before, err := cpuTime(pid)
	if err != nil {
		return err
	}
	at := time.Now()
	for range n {
		time.Sleep(length)
		after, err := cpuTime(pid)
		if err != nil {
			return err
		}
		now := time.Now()
		share = append(share, 100*(after-before)/now.Sub(at).Seconds())
		before, at = after, now
	}
	text, err := tmux("capture-pane", "-p")
	if err != nil {
		return err
	}
	if !strings.Contains(text, "512 CPUs") || strings.Contains(text, "busy unknown") {
		return fmt.Errorf("the screen does not show 512 busy CPUs:\n%s", text)
	}
	i := stats.HodgesLehmann(share, 0.05)
	fmt.Printf("%s of one CPU, 95 %% interval [%.2f %%, %.2f %%], n = %d windows of %s at 1 Hz, terminal %s; most in a window %.2f %%\n",
		fmt.Sprintf("%.2f %%", i.Value), i.Low, i.High, n, length, size, stats.Quantile(share, 1))
	return nil
}

// cpuTime is what all threads of a process have run, in s. /proc/PID/stat would do
// with its ticks of 10 ms for long windows only.
func cpuTime(pid string) (float64, error) {
	files, err := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %s has gone", pid)
	}
	sum := 0.0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		ns, _, _ := strings.Cut(string(b), " ")
		v, err := strconv.ParseFloat(ns, 64)
		if err != nil {
			return 0, err
		}
		sum += v / 1e9
	}
	return sum, nil
}

// advance lets the machine's counters go on, as in a kernel: the busy time of each
// CPU is another in each half second.
func advance(dir string) {
	const cpus, hz = 512, 100
	var user, idle [cpus]int
	const step = 500 * time.Millisecond
	for {
		var b strings.Builder
		b.WriteString("cpu  0 0 0 0 0 0 0 0 0 0\n")
		for c := range cpus {
			busy := rand.IntN(hz/2 + 1)
			user[c] += busy
			idle[c] += hz/2 - busy
			fmt.Fprintf(&b, "cpu%d %d 2 50000 %d 200 0 400 0 0 0\n", c, 1000000+user[c], 175000000+idle[c])
			base := filepath.Join(dir, fmt.Sprintf("sys/devices/system/cpu/cpu%d", c))
			write(filepath.Join(base, "cpuidle/state3/time"), 123456789+idle[c]*10000)
			write(filepath.Join(base, "cpufreq/scaling_cur_freq"), 1500000+rand.IntN(2600000))
		}
		stat := filepath.Join(dir, "proc/stat")
		overwrite(stat, b.String()+"ctxt 1\n")
		time.Sleep(step)
	}
}

func write(path string, v int) { overwrite(path, strconv.Itoa(v)+"\n") }

// overwrite keeps the file that the reader holds open, as the kernel's files stay.
// The lengths are the same, so that a reading never sees an empty file.
func overwrite(path, text string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return // the tree is being removed
	}
	defer f.Close()
	_, _ = f.WriteString(text)
}
