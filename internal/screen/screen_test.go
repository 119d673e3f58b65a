package screen

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// What Commands prints must be the same to a shell as what it was given, however narrow the screen.
func TestCommands(t *testing.T) {
	const script = `printf '%s | --x # %s\n' "a  --b | c" 'it'\''s' --long=1 --more "two  words" | sed -e s/a/A/ | cat # a remark | of many words
# a remark by itself, with a ' in it
echo "\" --no" \\ --yes`
	want := testkit.Must(exec.Command("sh", "-c", script).CombinedOutput())(t)
	for columns := range 120 {
		lines := Commands(script, columns)
		got := testkit.Must(exec.Command("sh", "-c", strings.Join(lines, "\n")).CombinedOutput())(t)
		if string(got) != string(want) {
			t.Fatalf("%d columns: %q of %q, want %q", columns, got, lines, want)
		}
	}
	for line, want := range map[string][]string{
		"echo \x1b[31m":                          {"echo ?[31m"},
		"hostlab run study --set a=1 --set b=2":  {"hostlab run study \\", "  --set a=1 \\", "  --set b=2"},
		"echo 1 | sudo tee /proc/file # why":     {"# why", "echo 1 |", "  sudo tee /proc/file"},
		"cat <<E\na --very long line --of it\nE": {"cat <<E", "a --very long line --of it", "E"},
	} {
		if got := Commands(line, 20); !slices.Equal(got, want) {
			t.Errorf("Commands(%q) = %q, want %q", line, got, want)
		}
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

// No line of a page parts a number from its unit; what is to be copied stays as it is.
func TestPageKeepsFiguresWhole(t *testing.T) {
	page := "<p title=\"3 ms\">3 ms, 4 % of <code>5 ms</code> 420 /s [2, 3], n = 8\n7 hosts</p><script>8 %</script>"
	testkit.Is(t, "<p title=\"3 ms\">3\u00a0ms, 4\u00a0% of <code>5 ms</code> 420\u00a0/s [2,\u00a03], n\u00a0=\u00a08\n7 hosts</p><script>8 %</script>",
		string(CleanPage([]byte(page))))
}

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

func TestMeant(t *testing.T) {
	known := []string{"role", "format", "fail-on", "log-dir", "fma", "scan", "html", "rollout"}
	for typed, want := range map[string]string{
		"rolle": "role", "yaml": "", "cpu.role": "role", "collect": "", "Fromat": "format", "logdir": "log-dir", "xyzzy": "", "": "", "r": "",
		"foo": "", "fmq": "fma", "amf": "", "fam": "fma", "mcs": "", "scna": "scan",
	} {
		testkit.Is(t, want, Meant(typed, known), "Meant", typed, ") =")
	}
}

// hostile are names that do harm where a shell reads them as anything but data.
var hostile = []string{"", "-rf", "a b", "  two  spaces ", "it's", `"`, `\`, "$(touch made)", "`touch made`", "; touch made;", "a\ntouch made\n",
	"a'; touch made; '", "a # b", "#", "=ls", "%1", "~", "*", "{a,b}", "!!", "\x1b]0;x\a", "\xff\xfe", "\u202e\u0085\ufffd", "\x01\x7f", "a\tb\r",
	"x/" + strings.Repeat("long", 40) + " ;touch made", strings.Repeat("l", 200) + "/touch"}

// arrives has bash run a command with a word as it is printed, and compares what the
// program is given.
func arrives(t testing.TB, dir, word string) error {
	for _, script := range []string{"stub " + Word(word) + " end # a 'remark", strings.Join(Commands("stub "+Word(word)+" end", 10), "\n"), "stub end " + Word(word)} {
		if Clean(script) != strings.ReplaceAll(script, "\n", " ") {
			t.Fatalf("a terminal would act on %q", script)
		}
		_ = os.Remove(filepath.Join(dir, "given"))
		cmd := exec.Command("bash", "-c", `stub() { printf '%s\0' "$@" >given; }; `+script)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%q: %v, %s", script, err, out)
		}
		given, err := os.ReadFile(filepath.Join(dir, "given"))
		if err != nil {
			return err
		}
		want := word + "\x00end\x00"
		if strings.HasPrefix(script, "stub end ") {
			want = "end\x00" + word + "\x00"
		}
		if string(given) != want {
			t.Fatalf("%q gives %q, want %q", script, given, want)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "made*")); err != nil || len(left) > 0 {
			t.Fatalf("%q ran: %v", script, left)
		}
	}
	return nil
}

func TestWord(t *testing.T) {
	dir := t.TempDir()
	for _, w := range hostile {
		testkit.OK(t, arrives(t, dir, w))
	}
	for word, want := range map[string]string{"/var/lib/db": "/var/lib/db", "a b": "'a b'", "it's": `'it'\''s'`, "a\nb": `$'a\012b'`} {
		testkit.Is(t, want, Word(word), "Word", word, ") =")
	}
	testkit.Is(t, "./-a", Operand("-a"), "Operand")
}

func TestAnyWord(t *testing.T) {
	dir := t.TempDir()
	testkit.Check(t, rapid.Check, func(r *rapid.T) {
		w := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hostile), rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })), 0, 4).Draw(r, "parts")
		testkit.OK(t, arrives(t, dir, strings.Join(w, "")))
	})
}
