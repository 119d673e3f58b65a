//go:build linux && amd64 && system

package testbed

import (
	"strconv"
	"testing"
)

// TestStudyOfASetting runs an experiment whose factor is a setting, and kills it in the middle.
func TestStudyOfASetting(t *testing.T) {
	t.Parallel()
	n := 1
	if *full {
		n = 20
	}
	b := guests[0].run(t, nil, "study", strconv.Itoa(n))
	if rows := b.lines(t, "row"); len(rows) == 1 {
		t.Logf("%s studies killed, %s of them with a governor changed: %s failures", rows[0][1], rows[0][2], rows[0][3])
	}
}

// TestSMT runs what hostlab has for processors with two threads a core on one that has them: two cores.
func TestSMT(t *testing.T) { bare(t, "SMP=4,sockets=1,cores=2,threads=2", "smt", 10) }

// TestRecord loads the programs of 'hostlab assess' into another kernel than this machine's.
func TestRecord(t *testing.T) { bare(t, "SMP=4,sockets=1,cores=2,threads=2", "record", 6) }

// bare plays a trial in a guest without cpufreq, of so many parts.
func bare(t *testing.T, smp, trial string, parts int) {
	t.Parallel()
	guest{environ: []string{"PROFILE=bare", "MODULES=", smp}}.run(t, nil, trial).played(t, parts)
}
