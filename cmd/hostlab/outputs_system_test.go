//go:build system && linux

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// Root's outputs go through no link of another user: neither files, nor directories that are made for them, nor what is
// removed of an earlier output.
func TestOutputsThroughLinks(t *testing.T) {
	testkit.Root(t)
	eves := testkit.EvesDir(t)
	ours := t.TempDir()
	victim := filepath.Join(ours, "victim")
	before := func() (names string) {
		testkit.OK(t, filepath.WalkDir(ours, func(path string, d fs.DirEntry, err error) error {
			text := ""
			if err == nil && d.Type().IsRegular() {
				b, _ := os.ReadFile(path)
				text = string(b)
			}
			names += path + " " + text + "\n"
			return err
		}))
		return names
	}
	link := func(name, to string) {
		t.Helper()
		name = filepath.Join(eves, name)
		for _, err := range []error{os.MkdirAll(filepath.Dir(name), 0o755), os.Chown(filepath.Dir(name), testkit.Eve, testkit.Eve), os.Symlink(to, name), os.Lchown(name, testkit.Eve, testkit.Eve)} {
			testkit.OK(t, err)
		}
	}
	link("way", ours)
	link("file", victim)
	link("etc/sysctl.d", ours)
	link("page/hostlab.1", victim)
	link("demo.planted.json", victim)
	link("demo2.exceptions.toml", victim)
	old := "# Settings written by hostlab\n# Install it as below /etc\nvm.swappiness = 10\n"
	for _, name := range []string{"victim", "90-hostlab.conf"} {
		testkit.OK(t, os.WriteFile(filepath.Join(ours, name), []byte(old), 0o600))
	}
	want := before()
	at := func(name string) string { return filepath.Join(eves, name) }
	for _, line := range []string{
		"export systemd swappiness=10 --out " + at("way/new"), "export systemd swappiness=10 --out " + at("way"), "export systemd swappiness=10 --out " + at("etc"),
		"export tuned swappiness=10 --out " + at("file"), "export tuned swappiness=10 --out " + at("way/tuned.conf"),
		"man " + at("way/man"), "man " + at("page"), "man " + at("way"),
		"fleet demo --hosts 8 --out " + at("way/fleet"), "fleet demo --hosts 8 --out " + at("demo"), "fleet demo --hosts 8 --out " + at("demo2"),
		"fleet ingest - --store sqlite:" + at("file"), "fleet ingest - --store sqlite:" + at("way/fleet.db"),
		"facts --save " + at("file"), "facts --save " + at("way/facts.txtar"), "predict --load 5% --replications 2 -q --out " + at("way/p.html"), "predict --load 5% --replications 2 -q --out " + at("file"),
		"watch --duration 1s --interval 1s --save " + at("way/w.jsonl"), "watch --duration 1s --interval 1s --textfile " + at("way/w.prom"),
		"run null --out " + at("way/rec"), "run null --out " + at("way"),
	} {
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(line), streams{strings.NewReader("{}"), &out, &errs})
		if got := before(); got != want {
			t.Errorf("%s: root's files were\n%sand are\n%s", line, want, got)
			want = got
		}
		if status == 0 || !strings.Contains(errs.String(), "belongs to uid 54321") {
			t.Errorf("%s: status %d, %s", line, status, &errs)
		}
	}
	// What an earlier profile left behind such a link is not removed.
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"export", "systemd", "governor=performance", "--out", at("etc")}, streams{strings.NewReader(""), &out, &errs}); status != 0 || before() != want {
		t.Errorf("status %d, %s, root's files are\n%s", status, &errs, before())
	}
}
