//go:build linux && amd64 && system

package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// inSystem are the checks whose remedies need a systemd that runs servers.
var inSystem = []string{"SRV-001", "SRV-002", "SRV-003", "SRV-004", "SRV-005", "SRV-006"}

// TestRemediesInSystem boots Debian with its PostgreSQL, and has each remedy mend the server's own unit, twice. With -full the
// guest boots again, and what remedies keep in drop-ins, sysctl.d, tmpfiles.d and udev's rules has to be in force.
func TestRemediesInSystem(t *testing.T) {
	t.Parallel()
	image := filepath.Join(t.TempDir(), "system.img")                       // as a machine has it, so that a second boot finds what the first wrote
	said(t, exec.Command("cp", "--sparse=always", "out/system.img", image)) // setup.sh makes it
	// PostgreSQL's cache has to be 8 GiB for huge pages to matter. The guest reserves them, and touches few.
	environ := []string{"MODULES=acpi-cpufreq cpufreq_powersave", "MEM=10G", "SMP=2", "TCG=multi", "DRIVES=file=" + image + ",format=raw,cache=unsafe",
		"APPEND=init_on_alloc=0 cpufreq.default_governor=powersave systemd.show_status=false", "PRE=mkdir -p /mnt/system; mount -t ext4 /dev/vda /mnt/system",
		"QEMU_EXTRA=-object memory-backend-ram,id=m,size=10G,reserve=off -machine memory-backend=m"}
	run := func(what string) *boot {
		return guest{name: "Debian"}.run(t, append(environ, "LOG="+os.Getenv("CONSOLE")), what)
	}
	var shown []string
	for _, f := range run("system").lines(t, "remedy") {
		shown = append(shown, f[0])
	}
	for _, id := range inSystem {
		if !slices.Contains(shown, id) {
			t.Errorf("%s was not shown", id)
		}
	}
	if *full && !t.Failed() {
		run("booted")
	}
}
