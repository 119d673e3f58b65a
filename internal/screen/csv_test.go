package screen

import (
	"testing"

	"hostlab/internal/testkit"
)

// What a spreadsheet would take for a formula begins with a quote, the signs of full width too, and no
// two texts give the same cell.
func TestCSVGuard(t *testing.T) {
	seen := map[string]string{}
	for text, want := range map[string]string{
		"=4": "'=4", "'=4": "''=4", "''=4": "'''=4", "+x": "'+x", "-x": "'-x", "@x": "'@x", " =1+1": "' =1+1", "\t=4": "' =4",
		"＝4": "'＝4", "＋4": "'＋4", "－4": "'－4", "＠x": "'＠x", " ＝4": "' ＝4", "'＝4": "''＝4",
		"-5": "-5", "+1e3": "+1e3", "5": "5", "a=b": "a=b", "": "", "it's": "it's",
	} {
		got := Cells([]string{text})[0]
		testkit.Is(t, want, got, text, "becomes")
		if other, twice := seen[got]; twice {
			t.Errorf("%q and %q both become %q", text, other, got)
		}
		seen[got] = text
	}
}
