package screen

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"a /sys/devices/system", 10, []string{"a", "/sys/", "devices/", "system"}},
		{"abcdefghijklmnopqrst", 9, []string{"abcdefghi", "jklmnopqr", "st"}},
		{"äöüäöüäöüä", 3, []string{"äöüäöüäö", "üä"}}, // no screen is narrower than 8
	} {
		if got := Wrap(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// What Commands prints must be the same to a shell as what it was given: a line stays one line, however long.
func TestCommands(t *testing.T) {
	long := "echo " + strings.Repeat("a b # ", 100)
	if got := Commands("# a comment\n" + long + "\necho \x1b[31m"); !slices.Equal(got, []string{"# a comment", long, "echo ?[31m"}) {
		t.Errorf("Commands = %q", got)
	}
}

func TestClean(t *testing.T) {
	testkit.Is(t, "a b c??d?", Clean("a\tb\nc\x1b\u202ed\xff"), "Clean =")
}

// A file of megabytes in one line must not hold the screen up for minutes.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("ä", 3<<20)
	begin := proc.Own()
	lines := Wrap(long, 80)
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 80 {
			t.Fatalf("a line of %d", utf8.RuneCountInString(l))
		}
	}
	testkit.Is(t, 3<<20, strings.Count(strings.Join(lines, ""), "ä"), "characters are left")
	if used := proc.Own() - begin; used > 10 { // s of CPU time; the quadratic way took minutes
		t.Errorf("it took %.1f s", used)
	}
}

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{90 * time.Second: "90 s", 47 * time.Minute: "47 min", 77*time.Minute + 40*time.Second: "78 min",
		2 * time.Hour: "2 h", 2*time.Hour + 4*time.Minute + 40*time.Second: "2 h 5 min", 23*time.Hour + 59*time.Minute + 50*time.Second: "24 h", 72 * time.Hour: "3 days"} {
		testkit.Is(t, want, Lasting(d), d)
	}
}
