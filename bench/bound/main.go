// Bound runs a short experiment many times and counts how often the gain that was
// measured on a faster log device was beyond its bound, by more than both intervals leave
// open: the bound of the experiment itself, and that of runs on the disk alone before it.
// A study with a slowed disk (copy.toml, server.toml: a job of a database) has the first
// alone. It also takes all of them together, where the noise of one cancels. Expected: never.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

func main() {
	program := flag.String("hostlab", "bin/hostlab", "the program")
	study := flag.String("study", "bench/bound/short.toml", "the experiment")
	n := flag.Int("n", 20, "how often")
	dir := flag.String("dir", ".", "directory on the device")
	flag.Parse()
	t, err := repeat(*program, *study, *dir, *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bound:", err)
		os.Exit(1)
	}
	if !t.tell() {
		os.Exit(1)
	}
}

// tally is what came of the experiments.
type tally struct {
	n, beyond, decided int
	gains, over        []float64 // measured, and less the bound before; shares
}

// tell prints it and reports whether bounds held.
func (t *tally) tell() bool {
	gain, over := stats.PairedT(t.gains, 0.05), stats.PairedT(t.over, 0.05)
	fmt.Printf("gains beyond their bound: %d of %d experiments (expected 0); in %d the gain was decided\n", t.beyond, t.n, t.decided)
	fmt.Printf("together: gain %.1f %% [%.1f, %.1f], less the bound %.1f points [%.1f, %.1f], n = %d experiments\n",
		100*gain.Value, 100*gain.Low, 100*gain.High, 100*over.Value, 100*over.Low, 100*over.High, over.N)
	if gain.Low <= 0 {
		fmt.Println("weak: even together no gain was seen, so that nothing could be beyond a bound; this host is too noisy now")
	}
	return t.beyond == 0 && !(over.Low > 0)
}

// Statuses with which 'hostlab report' tells verdicts.
const effectStatus, undecidedStatus = 10, 11

type interval struct {
	Value, Low, High *float64
	N                int
}

func (i *interval) known() bool {
	return i != nil && i.Value != nil && i.Low != nil && i.High != nil
}

func (i *interval) String() string {
	if !i.known() {
		return "unknown"
	}
	return fmt.Sprintf("%5.1f %% [%5.1f, %5.1f]", 100**i.Value, 100**i.Low, 100**i.High)
}

type pair struct {
	From    string    `json:"from"`
	Level   string    `json:"to"`
	Gain    *interval `json:"gain"`
	AtMost  *interval `json:"at_most"`
	Exceeds bool      `json:"exceeds"`
}

func repeat(program, study, parent string, n int) (t tally, err error) {
	dir, err := os.MkdirTemp(parent, ".hostlab-bound-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i := range n {
		bound, err := before(program, study, dir)
		if err != nil {
			return t, err
		}
		out := filepath.Join(dir, strconv.Itoa(i))
		seed := strconv.FormatUint(rand.Uint64(), 10)
		if text, err := exec.Command(program, "run", study, "--quiet", "--seed", seed, "--out", out).CombinedOutput(); err != nil {
			return t, fmt.Errorf("%w: %s", err, text)
		}
		text, err := exec.Command(program, "report", out, "--format", "json").Output()
		if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != effectStatus && e.ExitCode() != undecidedStatus) {
			return t, err
		}
		pairs, err := read(text)
		if err != nil {
			return t, err
		}
		for _, c := range pairs {
			if !c.Gain.known() {
				continue
			}
			t.n++
			word := "within"
			if c.Exceeds || bound.known() && *c.Gain.Low > *bound.High {
				word = "BEYOND"
				t.beyond++
			}
			if *c.Gain.Low > 0 || *c.Gain.High < 0 {
				t.decided++
			}
			most := bound // before, else of the experiment itself
			if !most.known() {
				most = c.AtMost
			}
			if !most.known() {
				return t, fmt.Errorf("level %s has a gain and no bound", c.Level)
			}
			t.gains, t.over = append(t.gains, *c.Gain.Value), append(t.over, *c.Gain.Value-*most.Value)
			fmt.Printf("%3d  %-6s n = %d  gain %s  at most %s, before %s  %s\n", i+1, c.Level, c.Gain.N, c.Gain, c.AtMost, bound, word)
		}
	}
	return t, nil
}

// read finds what the section "log" has of each device against the baseline.
func read(report []byte) (out []pair, err error) {
	var doc struct {
		Experiments []struct {
			Section struct {
				Name   string        `json:"name"`
				Factor result.Factor `json:"factor"`
				Rows   []struct {
					Pairs []pair `json:"pairs"`
				} `json:"rows"`
			} `json:"section"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(report, &doc); err != nil {
		return nil, err
	}
	if len(doc.Experiments) != 1 || doc.Experiments[0].Section.Name != "log" {
		return nil, errors.New("the report has no section log")
	}
	section := doc.Experiments[0].Section
	for _, row := range section.Rows {
		for _, p := range row.Pairs {
			if p.From == section.Factor.Baseline {
				out = append(out, p)
			}
		}
	}
	return out, nil
}
