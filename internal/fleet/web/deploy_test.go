//go:build system

package web

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// deploy is where the files for Prometheus and Grafana are.
const deploy = "../../../deploy/"

// promtool runs Prometheus' own checks; make test installs it.
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir, cmd.Stdin = deploy+"prometheus", strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// What is deployed asks for metrics that serve has, and for all of them.
func TestDeploy(t *testing.T) {
	_, metrics := get(t, serving(t, Config{}).URL+"/metrics")
	promtool(t, metrics, "check", "metrics")
	promtool(t, "", "check", "rules", "alerts.yaml")
	promtool(t, "", "test", "rules", "alerts_test.yaml")
	promtool(t, "", "check", "config", "--syntax-only", "scrape.yaml")
	asked := map[string]bool{}
	for _, file := range []string{"prometheus/alerts.yaml", "grafana/fleet.json"} {
		text := testkit.Must(os.ReadFile(deploy + file))(t)
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
		for _, name := range regexp.MustCompile(`hostlab_(host|fleet)_[a-z_]+`).FindAllString(string(text), -1) {
			asked[name] = true
			if !strings.Contains(metrics, "# TYPE "+name+" ") {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
	}
	for _, m := range regexp.MustCompile(`# TYPE (\S+)`).FindAllStringSubmatch(metrics, -1) {
		if !asked[m[1]] && m[1] != "hostlab_fleet_documents" {
			t.Errorf("nothing shows %s", m[1])
		}
	}
}
