// This file helps tests to show that foreign names stay data: in commands that a
// shell reads, and in what a terminal, a browser or a spreadsheet shows.

package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tag stands in every hostile name, and in nothing else.
const Tag = "Zq"

// Hostile are names that do harm where they are read as anything but data. What they would
// have a shell do is to make a file named made.
var Hostile = []string{
	Tag + " two  words", "-" + Tag, Tag + "'; : >made; '", Tag + `"; : >made; "`, Tag + "$(: >made)", Tag + "`: >made`",
	Tag + "; : >made; made",
	Tag + "\n: >made\nmade\n", Tag + " # x", Tag + `\`, Tag + "|made", Tag + "&made", Tag + " >made", Tag +
		"\x1b]0;x\a\x1b[31m",
	Tag + "\u009b31m\u202e\u2066\x7f", Tag + "\xff\r\t*?[a]{b,c}~!!",
}

// Run has bash run a script in which every program is a stub, and returns what they were
// given: a word a line, NUL before each call. A file that was made fails the test, and so
// does what bash cannot read.
func Run(t testing.TB, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "here"), 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	cmd := exec.Command("bash", "-c", `command_not_found_handle() { printf '\0%s\n' "$*" >>"$LOG"; }
`+script)
	cmd.Dir, cmd.Env = filepath.Join(dir, "here"), []string{"PATH=/nowhere", "LOG=" + log}
	out, _ := cmd.CombinedOutput() // stubs print nothing that a test such as [ could use
	for _, bad := range []string{"syntax error", "unexpected", "No such file", "Permission denied", "not found"} {
		if strings.Contains(string(out), bad) {
			t.Fatalf("%s\nof %q", out, script)
		}
	}
	if made, err := os.ReadDir(cmd.Dir); err != nil || len(made) > 0 {
		t.Fatalf("%q made %v, %v", script, made, err)
	}
	calls, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(calls)
}

// Intact runs a script that holds a hostile name, and fails unless each stub that is given
// the name is given all of its bytes in one word, and no stub is the name's.
func Intact(t testing.TB, script, name string) {
	t.Helper()
	calls := Run(t, script)
	if whole, part := strings.Count(calls, name), strings.Count(calls, Tag); whole == 0 || whole != part {
		t.Errorf("%q gives %q, which has %q whole %d of %d times", script, calls, name, whole, part)
	}
	for call := range strings.SplitSeq(calls, "\x00") {
		if strings.HasPrefix(call, "made") {
			t.Errorf("%q runs %q", script, call)
		}
	}
}
