// Command fleet measures the store of 'hostlab fleet' with SQLite and PostgreSQL: how many documents a second it keeps,
// how fast it tells that it knows them, and by how much it grows with a host and a year.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"hostlab/internal/fleet/demo"
	"hostlab/internal/fleet/store"
	"hostlab/internal/privatedb"
)

func main() {
	log.SetFlags(0)
	hosts := flag.Int("hosts", 200, "hosts, of ten assessments each")
	dir := flag.String("dir", os.TempDir(), "where stores are made")
	flag.Parse()
	if err := bench(context.Background(), *hosts, *dir); err != nil {
		log.Fatal("fleet: ", err)
	}
}

func bench(ctx context.Context, hosts int, parent string) error {
	dir, err := os.MkdirTemp(parent, "hostlab-bench-fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	spool := filepath.Join(dir, "spool")
	p, err := demo.Maker{Hosts: hosts, Seed: 1, Now: time.Now(), Version: "bench"}.Make(ctx, spool)
	if err != nil {
		return err
	}
	year := filepath.Join(dir, "year")
	const yearHosts = 20 // so many share an empty database of 8 MB
	if _, err := (demo.Maker{Hosts: yearHosts, Seed: 2, Now: time.Now(), Version: "bench", Days: 365, Each: 1}).Make(ctx, year); err != nil {
		return err
	}
	server, err := privatedb.Start(ctx, privatedb.PostgreSQL, privatedb.Config{Parent: dir})
	if err != nil {
		return err
	}
	defer server.Close()
	address := func(name string) string {
		return (&url.URL{Scheme: "postgres", User: url.User(privatedb.Role), Path: "/" + name, RawQuery: url.Values{"host": {server.SocketDir()}}.Encode()}).String()
	}
	for _, name := range []string{"fleet", "year"} {
		conn, err := server.Connect(ctx)
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
		if err := conn.Close(ctx); err != nil {
			return err
		}
	}
	for _, e := range []struct{ name, many, year string }{
		{"SQLite", "sqlite:" + filepath.Join(dir, "fleet.db"), "sqlite:" + filepath.Join(dir, "year.db")}, {"PostgreSQL", address("fleet"), address("year")},
	} {
		for _, what := range []string{"first", "second"} {
			took, cpu, err := hostlab(ctx, "ingest", "--store", e.many, spool)
			if err != nil {
				return err
			}
			fmt.Printf("%s, %s ingest of %d documents: %.0f a second, %.2f ms of a CPU each\n", e.name, what, p.Documents, float64(p.Documents)/took.Seconds(),
				1e3*cpu.Seconds()/float64(p.Documents))
		}
		if _, _, err := hostlab(ctx, "ingest", "--store", e.year, year); err != nil {
			return err
		}
		if _, _, err := hostlab(ctx, "store", "prune", "--store", e.year); err != nil {
			return err
		}
		if e.name == "PostgreSQL" { // what is free would be used for what comes
			if out, err := exec.CommandContext(ctx, "psql", e.year, "-qc", "VACUUM FULL").CombinedOutput(); err != nil { //nolint:gosec // our own server
				return fmt.Errorf("psql: %w: %s", err, out)
			}
		}
		size, err := sizeOf(ctx, e.year)
		if err != nil {
			return err
		}
		fmt.Printf("%s, a year of daily assessments, pruned: %.2f MB a host (%d hosts)\n", e.name, float64(size)/1e6/yearHosts, yearHosts)
	}
	return nil
}

// hostlab runs a command of fleet.
func hostlab(ctx context.Context, args ...string) (took, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, "bin/hostlab", append([]string{"fleet"}, args...)...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cpu = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	return took, cpu, nil
}

func sizeOf(ctx context.Context, address string) (int64, error) {
	s, err := store.Open(ctx, address)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	return s.Size(ctx)
}
