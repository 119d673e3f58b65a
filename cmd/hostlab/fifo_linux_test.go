package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/fleet/demo"
	"hostlab/internal/fleet/web"
	"hostlab/internal/testkit"
)

// No command waits for a FIFO that is named in place of a file: each says what it is, or that it cannot be used. One that waited
// would never come back.
func TestFIFOs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"fifo", "fifo.json", "fifo.json.gz", "fifo.txtar", "fifo.toml", "fifo.pem"} {
		testkit.OK(t, syscall.Mkfifo(name, 0o600))
	}
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testkit.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
	token, hash := web.NewToken()
	write("token", token+"\n")
	write("tokens.toml", "[[token]]\nname = \"t\"\nsha256 = \""+hash+"\"\nread = true\n")
	write("in.toml", "[study]\nname = \"in\"\n[[factor]]\nname = \"n\"\nparameter = \"n\"\nlevels = [1, 2]\n[workload]\nname = \"command\"\nrun = [\"cat\", \"{n}\"]\nstdin = \"fifo\"\n[[response]]\nname = \"cpu\"\nequiv = \"2%\"\n")
	testkit.OK(t, os.Mkdir("spool", 0o700))
	testkit.OK(t, syscall.Mkfifo("spool/a.json", 0o600))
	m := demo.Maker{Hosts: demo.Least, Seed: 1, Now: time.Now(), Version: "1"}
	testkit.Must(m.Make(t.Context(), "demo"))(t)
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"fleet", "ingest", "demo", "--store", "sqlite:fleet.db"}, streams{strings.NewReader(""), &out, &errs}); status != 0 {
		t.Fatal(errs.String())
	}
	for _, line := range []string{
		"fleet ingest fifo --store sqlite:fleet.db", "fleet ingest fifo.json.gz --store sqlite:fleet.db", "fleet ingest spool --store sqlite:fleet.db", "fleet status --store sqlite:fifo",
		"fleet rollout gate fifo --wave 1 --store sqlite:fleet.db", "fleet rollout status fifo --store sqlite:fleet.db", "fleet rollout plan --hosts fifo --set swappiness=10 --out p.json --store sqlite:fleet.db",
		"fleet send fifo --to http://127.0.0.1:1 --token-file token", "fleet send token --to https://127.0.0.1:1 --token-file token --ca fifo.pem", "fleet send token --to http://127.0.0.1:1 --token-file fifo",
		"fleet serve --listen 127.0.0.1:0 --tls-cert fifo.pem --tls-key token --tokens tokens.toml --store sqlite:fleet.db", "fleet serve --listen 127.0.0.1:0 --tokens fifo --store sqlite:fleet.db",
		"fleet serve --listen 127.0.0.1:0 --exceptions fifo --store sqlite:fleet.db", "fleet check MEM-006 --exceptions fifo --store sqlite:fleet.db", "fleet exceptions check fifo --store sqlite:fleet.db",
		"check --root fifo.txtar", "check --root fifo.json", "check --exceptions fifo", "facts --root fifo.txtar", "facts --root fifo.json", "assess --from fifo.txtar", "export systemd --role production-db --root fifo.txtar",
		"settings --root fifo", "set --root fifo swappiness=10 --dry-run", "verify --root fifo", "revert --root fifo",
		"predict --workload fifo", "predict --workload fifo.toml", "predict --host fifo.toml", "predict --host fifo.txtar", "watch --from fifo", "watch --root fifo.txtar --duration 1s",
		"study check fifo.toml", "study show fifo.toml", "run fifo.toml --out r", "run in.toml --out in -q", "run --resume --out fifo", "report fifo", "assess --compare fifo.txtar --dsn postgres://127.0.0.1:1/x", "assess --dsn-file fifo",
		"workload command run=cat stdin=fifo --runs 1", "workload dialog record=fifo --runs 1", "export systemd swappiness=10 --out exported",
	} {
		if strings.HasSuffix(line, "--out exported") { // what it would replace
			testkit.OK(t, os.MkdirAll("exported/sysctl.d", 0o755))
			testkit.OK(t, syscall.Mkfifo("exported/sysctl.d/90-hostlab.conf", 0o600))
		}
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(line), streams{strings.NewReader(""), &out, &errs})
		if said := errs.String(); status == 0 || !strings.Contains(said, "FIFO") && !strings.Contains(said, "regular file") && !strings.Contains(said, "expected a directory") &&
			!strings.Contains(said, "a pipe") && !strings.Contains(said, "but not from") && !strings.Contains(said, "names a file") {
			t.Errorf("%s: status %d, %s", line, status, said)
		}
	}
}

// What a shell hands over as a descriptor is read.
func TestDescriptorsAreRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fd := testkit.Must(syscall.Dup(int(r.Fd())))(t)
	r.Close()
	_, _ = w.WriteString("text")
	w.Close()
	f := testkit.Must(openNamed(fmt.Sprintf("/dev/fd/%d", fd)))(t)
	defer f.Close()
	testkit.Is(t, "text", string(testkit.Must(io.ReadAll(f))(t)))
	if n, is := descriptor("/dev/stdin"); !is || n != 0 {
		t.Error("/dev/stdin is not our standard input")
	}
	for _, name := range []string{"/proc/1/fd/0", "/dev/null", "fifo", "/dev/fd/x"} {
		if _, is := descriptor(name); is {
			t.Errorf("%s is a descriptor of ours", name)
		}
	}
}
