//go:build linux && amd64 && system

package testbed

import (
	"fmt"
	"slices"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/testkit"
)

// Why no guest can show a remedy.
const (
	noDriver  = "the emulated processor lacks what the driver or the file of it asks for"
	noCommand = "its commands measure or look; what mends it is a person's, the hardware's or the hypervisor's"
	noNFS     = "it takes a server of NFS"
	windows   = "it is about Windows"
)

// notShown says of each check whose remedy no guest can show why.
var notShown = map[string]string{
	"PWR-004": noDriver, "PWR-005": noDriver, "PWR-008": noCommand, "PWR-009": noDriver, "PWR-010": windows, "PWR-011": windows,
	"PWR-012": noDriver, "PWR-013": noDriver, "PWR-014": noCommand, "SMT-001": noCommand, "MEM-011": noCommand,
	"KRN-008": "QEMU's NVMe disks have a model of their own, and not that of a volume of AWS",
	"KRN-009": noCommand, "KRN-010": noCommand, "KRN-015": "without KVM below, a guest has no kvm-clock", "KRN-016": noCommand, "NET-002": noCommand,
	"STO-002": "only disks of NVMe, or of SATA without rotation, are judged, and the guest's kernel has none",
	"STO-005": noCommand, "STO-006": noCommand, "STO-007": noCommand, "STO-008": noCommand,
	"STO-009": "the file systems of the guest's kernel take no option against barriers", "STO-010": noNFS, "STO-011": noNFS, "STO-012": noCommand,
	"MEM-012": "a guest has too little memory for a cache that counts", "KRN-017": noCommand, "KRN-018": noCommand, "KRN-019": noCommand, "NET-010": noCommand, "NET-011": noCommand,
	"STO-013": noCommand, "STO-014": noCommand, "STO-015": noCommand, "VRT-001": noCommand, "VRT-002": noCommand, "VRT-003": noCommand,
}

// TestRemedies runs the checks' remedies in guests: each mends what its check finds, and changes nothing the second time.
func TestRemedies(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	t.Run("guests", func(t *testing.T) { // returns when all have ended
		for _, c := range []struct {
			guest   int
			environ []string
			checks  []string
		}{
			{0, []string{"TOOLS=1", "MEM=1G"}, []string{"PWR-001", "PWR-007", "IDL-001", "MEM-001", "MEM-002", "MEM-003", "MEM-005", "MEM-006", "STO-001",
				"STO-003", "STO-004"}},
			{0, nil, []string{"MEM-007", "MEM-008", "MEM-010", "KRN-001", "KRN-002", "KRN-003", "KRN-004", "KRN-005", "KRN-006", "KRN-011", "KRN-012"}},
			{0, nil, []string{"KRN-013", "KRN-014", "NET-001", "NET-003", "NET-004", "NET-005", "NET-006", "NET-007", "NET-008", "NET-009"}},
			{1, nil, []string{"PWR-003"}},
			{6, []string{"QEMU_EXTRA=" + twoNodes("256M", "0-1", "2-3")}, []string{"MEM-004", "MEM-009", "VRT-004"}},
			{7, nil, []string{"KRN-007"}},
		} {
			for _, id := range c.checks {
				shown[id] = true
			}
			if !*full && len(c.checks) > 3 { // settings.sh tries these: minutes each, as hostlab is asked five times for each
				continue
			}
			t.Run(guests[c.guest].name, func(t *testing.T) {
				t.Parallel()
				b := guests[c.guest].run(t, c.environ, append([]string{"remedies"}, c.checks...)...)
				seen := fmt.Sprint(b.lines(t, "remedy"))
				for _, id := range c.checks {
					testkit.Has(t, seen, id)
				}
			})
		}
	})
	for _, id := range inSystem { // by TestRemediesInSystem
		shown[id] = true
	}
	for _, c := range check.All() {
		if why := notShown[c.ID]; shown[c.ID] == (why != "") {
			t.Errorf("%s: shown %v, and not shown since %q", c.ID, shown[c.ID], why)
		}
	}
	for id := range notShown {
		if !slices.ContainsFunc(check.All(), func(c check.Check) bool { return c.ID == id }) {
			t.Errorf("%s is no check", id)
		}
	}
}
