// Command fleet-pages times the pages of `hostlab fleet serve` on a store of many hosts with a year of history: each
// page of random hosts, as a reader on this host gets it, its size, and the memory of the server.
//
//	go run ./bench/fleet-pages [-hosts 5000] [-n 200] [-store ADDRESS] PROGRAM
//
// The store is made of the documents of 100 hosts of `fleet demo`, copied under other names by the database itself, and
// of a row for each earlier day's document, whose bytes are pruned. Each host changed once a week.
package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/demo"
	"hostlab/internal/fleet/store"
)

// made are the hosts that are copied.
const made = 100

func main() {
	hosts := flag.Int("hosts", 5000, "hosts, in hundreds")
	n := flag.Int("n", 200, "requests for each page")
	address := flag.String("store", "", "an empty PostgreSQL database; none: SQLite in a directory of its own")
	dir := flag.String("dir", os.TempDir(), "where SQLite's file is made")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *hosts, *n, *address, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "fleet-pages:", err)
		os.Exit(1)
	}
}

func run(program string, hosts, n int, address, dir string) error {
	tmp, err := os.MkdirTemp(dir, "fleet-pages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	driver, source := "pgx", address
	if address == "" {
		file := filepath.Join(tmp, "fleet.db")
		driver, source, address = "sqlite", "file:"+file+"?_pragma=busy_timeout(30000)&_pragma=synchronous(OFF)", "sqlite:"+file
	}
	begin := time.Now()
	if err := fill(tmp, address); err != nil {
		return err
	}
	if err := copies(driver, source, hosts/made); err != nil {
		return err
	}
	fmt.Printf("%d hosts and a year of documents made in %.0f s\n", hosts, time.Since(begin).Seconds())
	return measure(program, address, hosts, n)
}

// fill puts the made hosts into a new store.
func fill(dir, address string) error {
	ctx, now := context.Background(), time.Now()
	m := demo.Maker{Hosts: made, Seed: 1, Now: now, Version: "bench"}
	spool := filepath.Join(dir, "spool")
	if _, err := m.Make(ctx, spool); err != nil {
		return err
	}
	s, err := store.Make(ctx, address)
	if err != nil {
		return err
	}
	defer s.Close()
	var docs []*fleet.Document
	if err := fleet.Spool(spool, now, func(d fleet.Spooled) error { docs = append(docs, d.Document); return d.Err }); err != nil {
		return err
	}
	_, err = s.Put(ctx, docs, "bench", now)
	return err
}

// copies copies the made hosts, and gives all of them earlier documents and changes.
func copies(driver, source string, times int) error {
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer db.Close()
	const day = 86400e9
	numbers := func(last int) string {
		return fmt.Sprintf("WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < %d) ", last)
	}
	const name = "%s || '-' || k.n"
	of := func(column string) string { return fmt.Sprintf(name, column) }
	var steps []string
	for _, t := range []struct{ table, key, columns string }{
		{"host", "name", "machine, first_seen, last_seen, stratum, role"},
		{"fact_span", "host", "path, value, unit, state, since, until"},
		{"finding_span", "host", "role, check_id, status, severity, detail, since, until, exception"},
	} {
		steps = append(steps, fmt.Sprintf("INSERT INTO %s (%s, %s) %s SELECT %s, %s FROM %[1]s, k", t.table, t.key, t.columns, numbers(times-1), of(t.key), t.columns))
	}
	const columns = "kind, form, version, role, started, received, source, service, verdict"
	steps = append(steps, fmt.Sprintf("INSERT INTO document (id, host, sha256, body, %s) %s SELECT id + k.n * 1000000, %s, substr(sha256, 1, 59) || '-' || (1000 + k.n), body, %[1]s "+
		"FROM document, k", columns, numbers(times-1), of("host")))
	for _, t := range []struct{ table, columns string }{
		{"measurement", "name, value, low, high, n, noise, unit, evidence"}, {"lever", "name, likely, at_most, verdict, evidence, reason, command, seconds_per_day"}} {
		steps = append(steps, fmt.Sprintf("INSERT INTO %s (document, %s) %s SELECT document + k.n * 1000000, %s FROM %[1]s, k", t.table, t.columns, numbers(times-1),
			strings.Replace(", "+t.columns, ", n,", ", "+t.table+".n,", 1)[2:]))
	}
	steps = append(steps,
		// A row a day before the four weeks of demo; the hosts are numbered by their place.
		fmt.Sprintf("INSERT INTO document (id, host, sha256, %s) %s SELECT 1000000000 + k.n * 10000 + h.place, h.name, 'before-' || k.n || '-' || h.place, 'check', 1, 'bench', "+
			"'production-db', h.first_seen - k.n * CAST(%g AS BIGINT), h.first_seen, 'bench', '', '' FROM k, (SELECT name, first_seen, ROW_NUMBER() OVER (ORDER BY name) AS place FROM host) h",
			columns, numbers(335), day),
		fmt.Sprintf("INSERT INTO fact_span (host, path, value, unit, state, since, until) %s SELECT h.name, 'kernel.made', k.n || '', '', 'ok', h.last_seen - k.n * CAST(%g AS BIGINT), "+
			"CASE WHEN k.n = 1 THEN 9223372036854775807 ELSE h.last_seen - (k.n - 1) * CAST(%[2]g AS BIGINT) END FROM k, host h", numbers(52), 7*day))
	if driver == "pgx" {
		steps = append(steps, "ANALYZE")
	}
	for _, s := range steps {
		if _, err := db.Exec(s); err != nil {
			return fmt.Errorf("%.400s...: %w", s, err)
		}
	}
	return nil
}

// measure asks a server for pages.
func measure(program, address string, hosts, n int) error {
	cmd := exec.Command(program, "fleet", "serve", "--store", address, "--listen", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "pages on ")
	if err != nil || !ok {
		return errors.Join(errors.New("serve does not say where it listens"), err)
	}
	url = strings.TrimSuffix(url, "/")
	host := func() string {
		name := fmt.Sprintf("db%03d", 1+rand.IntN(20))
		if k := rand.IntN(hosts / made); k > 0 {
			name += fmt.Sprint("-", k)
		}
		return name
	}
	plan, err := planned(program, address)
	if err != nil {
		return err
	}
	begin := time.Now()
	if _, _, err := ask(url + "/"); err != nil {
		return err
	}
	fmt.Printf("the first page of all, for which the whole fleet is read: %.2f s\n", time.Since(begin).Seconds())
	fmt.Println("| page | n | p50, ms | p95, ms | largest, kB |\n|---|--:|--:|--:|--:|")
	for _, p := range []struct {
		name string
		path func() string
	}{
		{"/", func() string { return "/" }}, {"/hosts", func() string { return fmt.Sprint("/hosts?page=", 1+rand.IntN(hosts/100)) }},
		{"/hosts?q=", func() string { return "/hosts?q=" + host() }}, {"/hosts/NAME", func() string { return "/hosts/" + host() }},
		{"/compare", func() string { return "/compare?a=" + host() + "&b=" + host() }}, {"/checks", func() string { return "/checks" }},
		{"/checks/ID", func() string { return "/checks/MEM-006" }}, {"/levers", func() string { return "/levers" }}, {"/levers/NAME", func() string { return "/levers/clock" }},
		{"/changes", func() string { return "/changes" }}, {"/exceptions", func() string { return "/exceptions" }}, {"/studies", func() string { return "/studies" }},
		{"/studies/NAME", func() string { return "/studies/live-idle" }}, {"/rollouts", func() string { return "/rollouts" }},
		{"/rollouts/HASH", func() string { return "/rollouts/" + plan }},
	} {
		var took []float64
		largest := 0
		for range n {
			ms, size, err := ask(url + p.path())
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			took, largest = append(took, ms), max(largest, size)
		}
		slices.Sort(took)
		fmt.Printf("| %s | %d | %.1f | %.1f | %.0f |\n", p.name, n, took[n/2], took[n*95/100], float64(largest)/1000)
	}
	memory(cmd.Process.Pid, "serve after these pages")
	begin = time.Now()
	for { // compared in the background, the first time
		if _, _, err = ask(url + "/outliers"); err == nil || time.Since(begin) > 3*time.Minute {
			break
		}
		time.Sleep(time.Second)
	}
	fmt.Printf("all hosts compared: %.0f s\n", time.Since(begin).Seconds())
	for _, path := range []string{"/metrics", "/hosts?format=csv", "/outliers"} {
		ms, size, err := ask(url + path)
		if err != nil {
			fmt.Printf("%s: %v\n", path, err)
			continue
		}
		fmt.Printf("%s, once: %.0f ms, %.0f kB\n", path, ms, float64(size)/1000)
	}
	memory(cmd.Process.Pid, "serve after those")
	return nil
}

// planned makes a plan of a roll-out over all hosts, and returns its hash.
func planned(program, address string) (string, error) {
	file := filepath.Join(os.TempDir(), fmt.Sprintf("fleet-pages-%d.json", os.Getpid()))
	defer os.Remove(file)
	cmd := exec.Command(program, "fleet", "rollout", "plan", "--set", "swappiness=10", "--waves", "3", "--out", file, "--store", address)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("rollout plan: %w: %s", err, said)
	}
	text, err := os.ReadFile(file)
	return fleet.Hash(text), err
}

// memory prints what a process holds now, and held at most.
func memory(pid int, when string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("VmRSS")) || bytes.HasPrefix(line, []byte("VmHWM")) {
			fmt.Printf("%s: %s\n", when, strings.Join(strings.Fields(string(line)), " "))
		}
	}
}

// ask asks for a page.
func ask(url string) (ms float64, size int, err error) {
	begin := time.Now()
	resp, err := http.Get(url) //nolint:gosec // the server that was started
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return time.Since(begin).Seconds() * 1000, len(body), err
}
