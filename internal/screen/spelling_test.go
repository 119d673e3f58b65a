package screen

import (
	"testing"

	"hostlab/internal/testkit"
)

func TestMeant(t *testing.T) {
	known := []string{"role", "format", "fail-on", "log-dir", "fma", "scan", "html", "rollout"}
	for typed, want := range map[string]string{
		"rolle": "role", "yaml": "", "cpu.role": "role", "collect": "", "Fromat": "format", "logdir": "log-dir", "xyzzy": "", "": "", "r": "",
		"foo": "", "fmq": "fma", "amf": "", "fam": "fma", "mcs": "", "scna": "scan",
	} {
		testkit.Is(t, want, Meant(typed, known), "Meant", typed, ") =")
	}
}
