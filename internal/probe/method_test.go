package probe

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

const methodPage = `# What ''assess'' measures, and how

%s
Each round runs all conditions in random order. Effects are Hodges-Lehmann estimates of paired ratios with exact signed-rank
intervals. One condition runs twice in each round: the difference is the noise floor. Hot loops are assembly in a separate process.

[Checks](checks.md) compare settings with recommendations. [Experiments](experiments.md) decide what these probes cannot.
`

// docs/method.md lists the probes, and a terminal shows something of each.
func TestMethodPage(t *testing.T) {
	var rows strings.Builder
	for _, p := range All() {
		fmt.Fprintf(&rows, "- **%s**: %s %s\n", p.Name, p.Question, p.How)
		if len(p.Shown) == 0 || p.Weight <= 0 {
			t.Errorf("%s: nothing of it is shown, or it has no time", p.Name)
		}
		for _, k := range p.Shown {
			if !strings.HasPrefix(string(k), p.Name) {
				t.Errorf("%s shows %s, whose name does not begin with its own", p.Name, k)
			}
		}
	}
	testkit.Page(t, "../../docs/method.md", fmt.Sprintf(strings.ReplaceAll(methodPage, "''", "`"), rows.String()))
}

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

// one is the probe of a name.
func one(name string) Probe {
	all := All()
	return all[slices.IndexFunc(all, func(p Probe) bool { return p.Name == name })]
}
