//go:build system

package store

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

var kills = flag.Int("kills", 9, "how often TestKills kills a store's program")

// forKill are the documents of a trial: the same in each process.
func forKill(t *testing.T) (docs []*fleet.Document) {
	for hour := range 80 {
		for _, host := range []string{"db1", "db2", "db3"} {
			docs = append(docs, written(t, host, hour, map[string]string{"steady": "1", "a": fmt.Sprint(hour / 9),
				"b": fmt.Sprint(hour / 5)}, []string{"ok", "finding"}[hour/11%2]))
		}
	}
	return docs
}

var pruneBefore = begin.Add(70 * time.Hour)

// work is what the killed program does with a store; done again, it ends what was begun.
func work(t *testing.T, ctx context.Context, what, address string) {
	t.Helper()
	s := testkit.Must(Make(ctx, address))(t) // migrates
	defer s.Close()
	switch what {
	case "ingest":
		docs := forKill(t)
		for len(docs) > 0 {
			n := min(7, len(docs))
			testkit.Must(s.Put(ctx, docs[:n], "test", begin))(t)
			docs = docs[n:]
		}
	case "prune":
		testkit.Must(s.Prune(ctx, pruneBefore))(t)
	}
}

// TestKilled is the program that TestKills kills.
func TestKilled(t *testing.T) {
	if what := os.Getenv("HOSTLAB_TEST_KILLED"); what != "" {
		work(t, t.Context(), what, os.Getenv("HOSTLAB_TEST_STORE"))
	}
}

// trials are stores of one engine, by name: clone makes one like another.
type trials struct {
	address func(name string) string
	clone   func(t *testing.T, from, to string)
}

// TestKills kills ingest, prune and migrate at any moment. Done again, they leave what they leave undisturbed: nothing
// is lost, and nothing is there twice.
func TestKills(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		file := func(name string) string { return filepath.Join(dir, name+".db") }
		killing(t, trials{func(name string) string { return "sqlite:" + file(name) },
			func(t *testing.T, from, to string) { copyFile(t, file(from), file(to)) }})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server := postgres(t)
		killing(t, trials{server.address, server.clone})
	})
}

func killing(t *testing.T, e trials) {
	// What each begins with, and what it ends with.
	e.clone(t, "", "full")
	work(t, t.Context(), "ingest", e.address("full"))
	before := map[string]string{"ingest": "", "prune": "full", "migrate": ""}
	want, lasts := map[string][]string{}, map[string]time.Duration{}
	for what, from := range before {
		end := what + "_end"
		e.clone(t, from, end)
		started := time.Now()
		testkit.OK(t, child(t, what, e.address(end)).Wait())
		lasts[what] = time.Since(started)
		want[what] = all(t, e.address(end))
	}
	if len(want["ingest"]) < 300 || len(want["prune"]) >= len(want["ingest"]) {
		t.Fatalf("%d and %d rows", len(want["ingest"]), len(want["prune"]))
	}
	killed := 0
	for i := range *kills {
		what, at := []string{"ingest", "prune", "migrate"}[i%3], fmt.Sprint("trial", i)
		e.clone(t, before[what], at)
		cmd := child(t, what, e.address(at))
		time.Sleep(time.Duration(rand.Float64() * float64(lasts[what])))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if !cmd.ProcessState.Exited() {
			killed++
		}
		work(t, t.Context(), what, e.address(at))
		if diff := cmp.Diff(want[what], all(t, e.address(at))); diff != "" {
			t.Fatalf("trial %d, %s killed: %s", i, what, diff)
		}
	}
	t.Logf("%d of %d killed; undisturbed they take %v", killed, *kills, lasts)
	if killed == 0 {
		t.Error("none was killed")
	}
}

func child(t *testing.T, what, address string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$") //nolint:gosec // this very test
	cmd.Env = append(os.Environ(), "HOSTLAB_TEST_KILLED="+what, "HOSTLAB_TEST_STORE="+address)
	testkit.OK(t, cmd.Start())
	return cmd
}

// all is what a store has, and that it is whole.
func all(t *testing.T, address string) []string {
	t.Helper()
	s := testkit.Must(Make(t.Context(), address))(t)
	defer s.Close()
	if s.postgres == nil {
		if got := table(t, s, "PRAGMA integrity_check", 1); len(got) != 1 || got[0] != "ok" {
			t.Fatalf("%s: %v", address, got)
		}
	}
	return everything(t, s)
}

func copyFile(t *testing.T, from, to string) {
	if filepath.Base(from) == ".db" { // none: it is to be made
		return
	}
	in := testkit.Must(os.Open(from))(t)
	defer in.Close()
	out := testkit.Must(os.Create(to))(t)
	testkit.Must(io.Copy(out, in))(t)
	testkit.OK(t, out.Close())
}
