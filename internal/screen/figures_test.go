package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

func TestWrapFiguresKeepsThemWhole(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"95.3 us [94.2 us, 99.2 us]", 21, []string{"95.3 us", "[94.2 us, 99.2 us]"}},
		{"95.3 us [94.2 us, 99.2 us]", 13, []string{"95.3 us", "[94.2 us,", "99.2 us]"}},
		{"it takes about 24 ms each", 17, []string{"it takes about", "24 ms each"}},
		{"at most 5 % of it", 10, []string{"at most", "5 % of it"}},
		{"over it, n = 10 blocks", 11, []string{"over it,", "n = 10", "blocks"}},
		{"10 sheep", 8, []string{"10 sheep"}},
		{"text from the \uE000 host", 40, []string{"text from the ? host"}},
	} {
		testkit.Is(t, "", cmp.Diff(tt.want, WrapFigures(tt.text, tt.width)), tt.text, "at", tt.width)
	}
}
