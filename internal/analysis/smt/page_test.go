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

This page is written by a test (%[1]sgo test ./internal/analysis/smt -run Page -update%[1]s). It says what the rule and the published runs
in %[1]sinternal/analysis/smt%[1]s give; that test fails where the page is no longer current.

%[1]shostlab run smt%[1]s asks whether a thread that scans memory starves one that takes locks on the sibling of its core. The
question, the program and the runs below are those of Slava Oks, "Be aware: To Hyper or not to Hyper" (2005).

## The rule

R is what the lock thread keeps of its rate: that beside something else over that alone, paired within blocks, as the
Hodges-Lehmann estimate with its interval (Student's below the blocks that ranks need). The first line that holds decides.

| Verdict | Where | Why this limit |
|---|---|---|
| untestable | nothing was measured on a sibling | |
| void | the lock thread alone differs (99 %% interval) from its hidden twin, or another decisive response does | no effect can be separated from such a record, as in every other study |
| inconclusive | the lock thread alone was not measured twice (%[1]saa = false%[1]s), or is not within %[2]s of itself then | a host that differs from itself by more hides what is asked for |
| inconclusive | more than %[3]s of all runs, or of the runs of one cell that decides, are contaminated | the estimate withstands 29 %% of wrong blocks at most, and a ratio takes two cells |
| none | the interval of R beside the scanner on the sibling lies within %[2]s of 1 | less does not matter to most |
| harm | it lies below %[4]s, and R on the sibling over R beside a scanner on another core below %[5]s | the second keeps what any scan costs, wherever it runs, from being blamed on the core |
| inconclusive | else | |

The verdict of the rule is the study's: it stands at the top of the report, and %[1]shostlab report%[1]s exits with 10 for harm, 0 for none and
11 for the rest.

A thread that had its CPU and never got the lock counts with half an acquisition, as a ratio takes no zero.

All limits are conventions, set without data of a host with siblings. Cells that decide: the lock thread alone, its hidden
twin, the scanner on the sibling and that on another core. A run is contaminated where other processes or the hypervisor took
more than 2 %% of the CPUs. So is one in which the time for a cache line between the two CPUs changed by more than 20 %%. It counts
as such only if each repetition was contaminated too.

Harm has a cause. It is **caches** if two things hold. R beside the scan over R beside an ALU loop on the sibling lies below %[6]s. And
a scan of twice L2, by its whole interval, leaves less than one of half of L1, without a rise between. Else it is **issue slots**, which
both threads want, where the ALU loop too, by its whole interval, costs something. Where it does not, without those cells, or where they
are contaminated, it is **unknown**.

`, "`", percent(margin), percent(contaminated), percent(harmBelow), percent(harmApart), percent(cachesBelow))
	b.WriteString("## Cores of several classes\n\nOn a hybrid processor all placements but the rotation are looked for on cores of the lock thread's class. Another class\ndiffers in more than in its place. So a verdict is about one class, and a scanner on a core of another is not part of it: the\nreport says so and names the classes. `--set workload.victim=N` looks from another class, and a level such as `scan@N` puts the\nscanner on any CPU; its column names the class where that is another.\n\n")
	b.WriteString("## The published runs\n\nTwo cores of two threads; CPUs 1 and 4 (by their masks) share a core, and 2 and 8. One thread scans 1 MiB, the other\nthree want one lock. The figures are counts of 10 s, as printed.\n\n")
	b.WriteString("| Command | Scanner | Its sibling | took the lock | The others took it | Sibling's share of their mean |\n|---|--:|--:|--:|--:|--:|\n")
	for _, r := range PublishedRuns {
		sibling, others := r.locked()
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %d, %d | %.1f %% |\n", r.Command, r.Scanner, publishedSiblings[r.Scanner], sibling, others[0], others[1], 100*r.Share())
	}
	v := Judge(FromPublished())
	fmt.Fprintf(&b, `
The same code that judges a study says of them: **%s, cause %s**.

> %s

What differs from a study here: nobody ran alone. The mean of the two threads on the other core stands for that. The slower of
the two stands for a thread beside a scanner on another core. All three wanted the same lock, so that part of what the sibling lost went to the
others. There is no A/A, no ALU loop and no scan by size, so no cause. Each run counts as one block, with another CPU
as scanner: the interval says how the four differ, not how one would repeat. The limits on A/A and on contamination have nothing to hold to.
That this comes out as harm shows that the code reads such a table as its author did, and not that the rule is right.

## What has not been seen

No host with siblings has been at hand, so harm, none and both causes come from published and from made-up figures only. On made-up
rates with noise and stalls, harm is called in less than one study of twenty where there is none. That holds with R on the limit
itself, too (%[4]sTestFalseHarm%[4]s).
`, v.Decision, v.Cause, v.Reason, "`")
	return b.String()
}
