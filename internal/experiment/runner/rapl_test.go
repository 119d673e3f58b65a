package runner

import (
	"os"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

const raplZones = `
-- sys/class/powercap/intel-rapl/enabled --
1
-- sys/class/powercap/intel-rapl:0/name --
package-0
-- sys/class/powercap/intel-rapl:0/energy_uj --
262143000000
-- sys/class/powercap/intel-rapl:0/max_energy_range_uj --
262143328850
-- sys/class/powercap/intel-rapl:0:0/name --
dram
-- sys/class/powercap/intel-rapl:0:0/energy_uj --
5
-- sys/class/powercap/intel-rapl:1/name --
package-1
-- sys/class/powercap/intel-rapl:1/energy_uj --
1000000
-- sys/class/powercap/intel-rapl:1/max_energy_range_uj --
262143328850
-- sys/class/powercap/intel-rapl:2/name --
psys
-- sys/class/powercap/intel-rapl-mmio:0/name --
package-0
-- sys/class/powercap/intel-rapl-mmio:0/energy_uj --
7
`

func setCounter(t *testing.T, tree host.Tree, zone, value string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(tree.Join(powercap+"/"+zone+"/energy_uj"), []byte(value+"\n"), 0o600))
}

// Packages are summed, each once, and a counter that wraps goes on.
func TestMeasure(t *testing.T) {
	tree := host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, raplZones)}
	m := testkit.Must(openRAPL(tree))(t)
	testkit.Same(t, []string{"package-0", "package-1"}, m.packages())
	stop := m.measure()
	setCounter(t, tree, "intel-rapl:0", "671150") // 328,850 uJ to the wrap, and these
	setCounter(t, tree, "intel-rapl:1", "3500000")
	setCounter(t, tree, "intel-rapl-mmio:0", "9000000")
	testkit.Is(t, 1+2.5, testkit.Must(stop())(t), "J, error", "want 3.5")
	stop = m.measure()
	testkit.Is(t, 0, testkit.Must(stop())(t), "nothing used", "J, error")
	stop = m.measure()
	setCounter(t, tree, "intel-rapl:1", "nonsense")
	testkit.Refused(stop())(t, "intel-rapl:1/energy_uj", "a counter that cannot be read")
}

// What stands in the way is said in one phrase.
func TestOpenFails(t *testing.T) {
	for name, c := range map[string]struct{ archive, want string }{
		"none":     {"-- proc/version --\nLinux\n", "no energy counters (RAPL, /sys/class/powercap)"},
		"denied":   {strings.Replace(raplZones, "262143000000", "!errno EACCES", 1), "intel-rapl:0/energy_uj"},
		"no range": {strings.Replace(raplZones, "262143328850", "-1", 1), "holds -1"},
		"platform": {"-- sys/class/powercap/intel-rapl:0/name --\npsys\n", "no energy counter (RAPL) of a CPU package"},
	} {
		if _, err := openRAPL(host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, c.archive)}); err == nil ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// packages names those that are counted.
func (m *meter) packages() (list []string) {
	for _, z := range m.zones {
		list = append(list, z.name)
	}
	return list
}
