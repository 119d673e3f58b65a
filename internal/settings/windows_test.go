package settings

import (
	"slices"
	"strings"
	"testing"

	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

// TestWindowsNames holds the list to what the translation takes.
func TestWindowsNames(t *testing.T) {
	value := map[string]string{"governor": "performance", "epp": "performance", "boost": "1"}
	for _, s := range setting.All() {
		v := value[s.Name]
		if v == "" {
			v = "100%"
		}
		_, _, missing := windows(prepare([]setting.Assignment{{Name: s.Name, Value: v}}))
		listed := slices.Contains(WindowsNames(), s.Name)
		testkit.Is(t, (len(missing) == 0), listed, s.Name, "listed", "but", strings.Join(missing.lines(), "; "))
	}
	for _, name := range WindowsNames() {
		if _, ok := setting.Find(name); !ok {
			t.Errorf("there is no setting %s", name)
		}
	}
}
