package check

import (
	"testing"

	"hostlab/internal/host"
)

// TestPlainPostgres is a guest with PostgreSQL on a disk of its own, the kernel's defaults (Linux 6.12) and TuneD's
// profile for it: nothing of TCP, mounts and memory is more than information.
func TestPlainPostgres(t *testing.T) {
	f := &host.Facts{}
	for _, set := range []func(*host.Facts){
		tcp(queue(4096), "postgresql"), tcp(dropped(2, 100000)), tcp(slowStart(1)), tcp(keepalive(7200, 75, 9)),
		tcp(features(1, 1, 1)),
		tcp(buffers(212992, 212992)), tcp(syn(4096, 6)), tcp(ports(32768, 60999)),
		logOn(host.ClassVirtual, "ext4", "rw,relatime"),
		stalled(0.02, 0), virtio(1, 8), ages(30, 5), oops(0), openFiles(1<<63 - 1), mitigated(known("Vulnerable", "mds")),
		clock("kvm-clock", "kvm-clock tsc", "kvm"), autogroup(0),
		kern(func(k *host.Kernel) { k.ClockSynced = known(false, "adjtimex") }),
	} {
		set(f)
	}
	seen := 0
	for _, r := range Run(f, ProductionDB, All()) {
		if r.Status == Finding {
			seen++
			if r.Severity > Info {
				t.Errorf("%s, %s: %s", r.ID, r.Severity, r.Detail)
			}
		}
	}
	if seen == 0 {
		t.Error("not even information: the facts are not looked at")
	}
}
