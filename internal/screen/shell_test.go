package screen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// hostile are names that do harm where a shell reads them as anything but data.
var hostile = []string{"", "-rf", "a b", "  two  spaces ", "it's", `"`, `\`, "$(touch made)", "`touch made`", "; touch made;", "a\ntouch made\n",
	"a'; touch made; '", "a # b", "#", "=ls", "%1", "~", "*", "{a,b}", "!!", "\x1b]0;x\a", "\xff\xfe", "\u202e\u0085\ufffd", "\x01\x7f", "a\tb\r",
	"x/" + strings.Repeat("long", 40) + " ;touch made", strings.Repeat("l", 200) + "/touch"}

// arrives has bash run a command with a word as it is printed, and compares what the
// program is given.
func arrives(t testing.TB, dir, word string) error {
	for _, script := range []string{"stub " + Word(word) + " end # a 'remark", strings.Join(Commands("stub "+Word(word)+" end"), "\n"), "stub end " + Word(word)} {
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
	testkit.Check(t, func(r *rapid.T) {
		w := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hostile), rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })), 0, 4).Draw(r, "parts")
		testkit.OK(t, arrives(t, dir, strings.Join(w, "")))
	})
}
