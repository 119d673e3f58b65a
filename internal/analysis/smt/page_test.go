package smt

import (
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/golden"
)

const page = "../../../docs/smt.md"

// TestPage holds that docs/smt.md is what the published runs and the rule give now.
func TestPage(t *testing.T) {
	golden.Equal(t, page, written())
}

func written() string {
	var b strings.Builder
	percent := func(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }
	fmt.Fprintf(&b, `# The verdict on shared cores

%[1]shostlab run smt%[1]s asks: does a thread that scans memory starve a thread that takes locks on the sibling CPU of the same core? The
question, the program and the runs below come from Slava Oks, "Be aware: To Hyper or not to Hyper" (2005).
A test writes this page from the code: %[1]sgo test ./internal/analysis/smt -run Page -update%[1]s.

## The rule

R is the share of its rate that the lock thread keeps: its rate beside another thread, divided by its rate alone. The ratios are
paired within blocks, with a Hodges-Lehmann estimate and interval (Student's with few blocks). The first line that holds decides.

| Verdict | Where | Why this limit |
|---|---|---|
| untestable | nothing was measured on a sibling | |
| inconclusive | more than %[3]s of all runs, or of the runs of one deciding cell, are contaminated | the estimate withstands 29 %% of wrong blocks at most, and a ratio takes two cells |
| none | the interval of R beside the scanner on the sibling lies within %[2]s of 1 | less does not matter to most |
| harm | that interval lies below %[4]s, and that of R on the sibling over R with the scanner on another core below %[5]s | the second limit leaves out what a scan costs on any core |
| inconclusive | in all other cases | |

This verdict stands at the top of the report. %[1]shostlab report%[1]s exits with 10 for harm, 0 for none and 11 for the rest.

- Nobody had a host with siblings when these limits were set: they are conventions.
- The deciding cells are the lock thread alone, the scanner on the sibling and the scanner on another core.
- A run is contaminated if other processes or the hypervisor took more than 2 %% of the CPUs. It also is if the time for a cache
  line between the two CPUs changed by more than 20 %%. It counts only if every repetition was contaminated too.
- A thread that had its CPU and never got the lock counts with half an acquisition, since a ratio needs more than zero.

If the verdict is harm, the report names its cause. "Below" and "less" hold for whole intervals:

- **caches**: R beside the scan over R beside an ALU loop on the sibling is below %[6]s. A scan of twice L2 also leaves less than
  one of half of L1, and R does not rise between these sizes.
- **issue slots**, which both threads need: not caches, and the ALU loop costs something too.
- **unknown**: neither, or cells for the cause are missing or contaminated.

`, "`", percent(margin), percent(contaminated), percent(harmBelow), percent(harmApart), percent(cachesBelow))
	b.WriteString("## Cores of several classes\n\nOn a hybrid processor, the study places all threads on cores of the lock thread's class, except in the rotation. The verdict is\nabout that class alone, since cores of another class differ in more than their place. The report says so and names the classes.\n`--set workload.victim=N` tests another class. A level such as `scan@N` puts the scanner on any CPU; its column names another class.\n\n")
	b.WriteString("## The published runs\n\nThe host had two cores with two threads each: the CPUs with masks 1 and 4 share a core, as do 2 and 8. One thread scans 1 MiB, the\nother three want one lock. The figures are the printed counts of 10 s.\n\n")
	b.WriteString("| Command | Scanner | Its sibling | took the lock | The others took it | Sibling's share of their mean |\n|---|--:|--:|--:|--:|--:|\n")
	for _, r := range PublishedRuns {
		sibling, others := r.locked()
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %d, %d | %.1f %% |\n", r.Command, r.Scanner, publishedSiblings[r.Scanner], sibling, others[0], others[1], 100*r.Share())
	}
	v := Judge(FromPublished())
	fmt.Fprintf(&b, `
The code that judges a study says of these runs: **%s, cause %s**.

> %s

These runs differ from a study:

- No thread ran alone. The mean of the two threads on the other core stands for that. The slower of them stands for a thread with
  the scanner on another core. All three wanted the same lock, so the others gained part of what the sibling lost.
- There is no ALU loop and no scan by size, so no cause. There is no measure of contamination, so that limit does not apply.
- Each run counts as one block, with another CPU as scanner. The interval shows how the four runs differ, not how one would repeat.
- The result shows that the code reads the table as its author did. It does not show that the rule is right.

## What is not tested

No host with siblings was available: harm, none and both causes were tested on published and simulated figures only. On simulated
rates with noise and stalls but without harm, hostlab reports harm in less than one study of twenty. That holds even with R at
the limit (%[4]sTestFalseHarm%[4]s).
`, v.Decision, v.Cause, v.Reason, "`")
	return b.String()
}
