package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// Units that work on their own have a limit of memory, few rights, and see no device but those that they name.
func TestUnitsAreBounded(t *testing.T) {
	units, err := filepath.Glob("../../deploy/systemd/hostlab-*.service")
	if err != nil || len(units) < 4 {
		t.Fatal(units, err)
	}
	for _, name := range units {
		text := testkit.Must(os.ReadFile(name))(t)
		if strings.HasSuffix(name, "-restore.service") { // puts back what may be anywhere
			continue
		}
		for _, want := range []string{"MemoryMax=", "TasksMax=", "CapabilityBoundingSet=", "NoNewPrivileges=yes", "ProtectSystem=", "ProtectHome=", "SystemCallFilter="} {
			if !strings.Contains(string(text), "\n"+want) {
				t.Errorf("%s has no %s", filepath.Base(name), want)
			}
		}
		if !strings.Contains(string(text), "\nPrivateDevices=yes") && !strings.Contains(string(text), "\nDevicePolicy=closed") {
			t.Errorf("%s sees all devices", filepath.Base(name))
		}
	}
}
