package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

const energyStudy = `
[[factor]]
name = "burn"
parameter = "burn"
levels = [1, 3]
[workload]
name = "command"
run = ["sh", "-c", "read a < ENERGY; echo $((a + {burn} * 1500000)) > ENERGY"]
warmup = 0
[[response]]
name = "wall"
primary = true
[[response]]
name = "energy_j"
[[response]]
name = "energy_op_j"
`

// counters makes the energy counter of a package in the machine's tree.
func (b *bench) counters() (file string) {
	b.t.Helper()
	dir := filepath.Join(b.tree, "sys/class/powercap/intel-rapl:0")
	testkit.OK(b.t, os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{"name": "package-0", "energy_uj": "100",
		"max_energy_range_uj": "262143328850"} {
		testkit.OK(b.t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600))
	}
	return filepath.Join(dir, "energy_uj")
}

func TestEnergy(t *testing.T) {
	b := newBench(t, head(6, "")+energyStudy)
	file := b.counters()
	testkit.OK(t, os.Symlink(file, filepath.Join(b.dir, "ENERGY"))) // commands run in the study's directory
	testkit.OK(t, b.run())
	b.complete()
	for _, r := range b.record().Runs {
		want := map[string]float64{"1": 1.5, "3": 4.5}[b.record().Experiment.Cells[r.Cell].Levels["burn"]]
		if r.Values["energy_j"] != want || r.Values["energy_op_j"] != want {
			t.Errorf("%v J, %v J an operation, want %v", r.Values["energy_j"], r.Values["energy_op_j"], want)
		}
	}
}

// Without counters a run says why it has no energy, and a study that would decide by
// it is refused before anything is run.
func TestNoEnergy(t *testing.T) {
	const why = "this host shows no energy counters"
	b := newBench(t, head(6, "")+energyStudy)
	testkit.OK(t, os.WriteFile(filepath.Join(b.dir, "ENERGY"), []byte("0\n"), 0o600))
	testkit.OK(t, b.run())
	for _, r := range b.record().Runs {
		if r.Status != result.OK || len(r.Missing["energy_j"]) < len(why) || r.Missing["energy_j"][:len(why)] != why ||
			r.Missing["energy_op_j"] != r.Missing["energy_j"] {
			t.Fatalf("%+v", r)
		}
	}
	b = newBench(t, head(6, "")+strings.Replace(energyStudy, "primary = true\n", "", 1)+"primary = true\n")
	b.fails(b.run(), "response energy_op_j decides, and cannot be had: "+why)
	testkit.Refused(os.Stat(b.cfg.Dir))(t, "", "a refused study has left a record")
}
