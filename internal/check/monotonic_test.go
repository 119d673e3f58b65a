package check

import (
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"

	"pgregory.net/rapid"
)

// better is a number that a check judges: of two values, the better one must not be a finding where the worse one is
// none.
type better struct {
	check string
	name  string
	from  int64 // the range of values, from the best to the worst
	to    int64
	set   func(f *host.Facts, v int64)
}

var betters = []better{
	{"MEM-005", "background ratio", 0, 100, func(f *host.Facts, v int64) { dirty(24*gib, 0, 0, 80, v)(f) }},
	{"MEM-005", "hard ratio", 0, 100, func(f *host.Facts, v int64) { dirty(24*gib, 0, 0, v, 90)(f) }},
	{"MEM-005", "both ratios", 0, 100, func(f *host.Facts, v int64) { dirty(24*gib, 0, 0, v, v/2)(f) }},
	{"MEM-005", "background bytes", 1, 8 << 30, func(f *host.Facts, v int64) { dirty(24*gib, 16*gib, v, 0, 0)(f) }},
	{"MEM-006", "swappiness", 1, 200, func(f *host.Facts, v int64) { swapping(v, 8*gib)(f) }},
	{"MEM-006", "swappiness below 1", 1, 0, func(f *host.Facts, v int64) { swapping(v, 8*gib)(f) }},
	{"KRN-002", "shmmax", 64 << 30, 0, func(f *host.Facts, v int64) { segments(uint64(v), 1<<60, 8*gib)(f) }},
	{"KRN-003", "shmall", 1 << 24, 0, func(f *host.Facts, v int64) { segments(1<<60, uint64(v), 8*gib)(f) }},
	{"KRN-005", "pid_max", 4194304, 301, func(f *host.Facts, v int64) {
		f.Kernel.PIDMax, f.Kernel.Threads = known(v, kernDir+"/pid_max"), known[int64](20000, "/proc/loadavg")
	}},
	{"KRN-008", "a volume's timeout, in s", 4294966, 1, func(f *host.Facts, v int64) { waiting(float64(v))(f) }},
	{"STO-003", "read-ahead, in KiB", 65536, 0, func(f *host.Facts,
		v int64) {
		drives("none", disk("vda", host.ClassVirtual, "[none]", 0, v))(f)
	}},
	{"IDL-001", "latency of the deepest state, in us", 0, 2000,
		func(f *host.Facts, v int64) { idling(float64(v), noLimit)(f) }},
	{"IDL-001", "limit of the latency, in us", 0, 2000, func(f *host.Facts, v int64) { idling(133, float64(v))(f) }},
	{"VRT-001", "stolen per mille", 0, 1000, func(f *host.Facts, v int64) {
		f.Virt.Hypervisor, f.Virt.Steal = known("kvm", "cpuid"), known(float64(v)/1000, "/proc/stat")
	}},
}

// TestMakingAValueBetterAddsNoFinding draws two values of each number.
func TestMakingAValueBetterAddsNoFinding(t *testing.T) {
	for _, b := range betters {
		t.Run(b.check+"/"+b.name, func(t *testing.T) {
			answers := map[Status]bool{}
			at := func(v int64) Status {
				f := &host.Facts{}
				b.set(f, v)
				s := Run(f, ProductionDB, []Check{testkit.Must(Find(b.check))(t)})[0].Status
				answers[s] = true
				return s
			}
			at(b.from)
			at(b.to)
			testkit.Check(t, func(t *rapid.T) {
				good, bad := rapid.Int64Range(min(b.from, b.to), max(b.from, b.to)).Draw(t, "one"),
					rapid.Int64Range(min(b.from, b.to), max(b.from, b.to)).Draw(t, "other")
				if (good > bad) == (b.from < b.to) {
					good, bad = bad, good
				}
				if worse, now := at(bad), at(good); now == Finding && worse != Finding {
					t.Fatalf("%d is a finding, and the worse %d is %s", good, bad, worse)
				}
			})
			if !answers[Finding] || len(answers) < 2 {
				t.Errorf("the range shows only %v", answers)
			}
		})
	}
}
