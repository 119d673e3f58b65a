//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// nodes tries what hostlab makes of two memory nodes and of a network card.
func nodes() {
	accounts := []byte("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
	if err := os.WriteFile("/etc/passwd", accounts, 0o644); err != nil { //nolint:gosec // all read it
		cannot(err.Error())
	}
	nodeFacts()
	interrupts()
	studies()
}

// nodeFacts reads the nodes, a card, and where the memory of a server lies.
func nodeFacts() {
	defer remedy{servers: []string{postgres}}.serve()()
	cardUp()
	type fact[T any] struct {
		State string
		Value T
	}
	var f struct {
		Topology struct {
			NUMA []struct {
				CPUs     fact[[]int]
				Memory   fact[int64]
				Distance fact[[]int] `json:"distances"`
			}
		}
		Network struct {
			Cards []struct {
				Receive fact[int64] `json:"receive_queues"`
				Served  fact[[]int] `json:"interrupt_cpus"`
				Steered fact[[]int] `json:"steered_cpus"`
			}
		}
		Databases []struct {
			NodeMemory fact[[]int64] `json:"node_memory"`
		}
	}
	r := hostlab("facts", "--format", "json")
	if err := json.Unmarshal([]byte(r.out), &f); err != nil {
		cannot("hostlab facts: " + err.Error() + r.err)
	}
	n := f.Topology.NUMA
	require("two nodes, with their CPUs and memory", len(n) == 2 &&
		fmt.Sprint(n[0].CPUs.Value, n[1].CPUs.Value) == "[0 1] [2 3]" &&
		n[0].Memory.Value > 600<<20 && n[1].Memory.Value > 600<<20 && fmt.Sprint(n[1].Distance.Value) == "[20 10]", "%+v", n)
	c := f.Network.Cards
	require("a card with its queue and its interrupts", len(c) == 1 && c[0].Receive.Value == 1 &&
		c[0].Served.State == "ok" && len(c[0].Served.Value) > 0 &&
		c[0].Steered.State == "ok" && len(c[0].Steered.Value) == 0, "%+v", c)
	d := f.Databases
	require("a server's memory by node", len(d) == 1 && len(d[0].NodeMemory.Value) == 2 &&
		d[0].NodeMemory.Value[0]+d[0].NodeMemory.Value[1] > 0, "%+v", d)
	all, problem := answers()
	require("the check of the card applies", all["NET-011"].Status == "finding", "%+v %s", all["NET-011"], problem)
}

// affinities are where each interrupt may arrive.
func affinities() map[string]string {
	out := map[string]string{}
	for _, f := range glob("/proc/irq/*/smp_affinity_list") {
		out[f] = cat(f)
	}
	return out
}

// interrupts moves those of the card, and those alone, and puts them back.
func interrupts() {
	before, want := affinities(), affinities()
	moved := cardInterrupts()
	for _, file := range moved {
		want[file] = "1"
	}
	r := hostlab("set", "irq_affinity=1", "--yes")
	require("the card's interrupts are moved, and no others", r.code == 0 && len(moved) >= 2 && maps.Equal(want, affinities()),
		"exit %d: %s %s; %d: %v", r.code,
		r.out, r.err, len(moved), affinities())
	v := hostlab("verify")
	r = hostlab("revert")
	require("they are verified and put back", v.code == 0 && r.code == 0 && maps.Equal(before, affinities()) &&
		!journalLeft(), "%s %s %s", v.err, r.err,
		affinities())
	end := remedy{servers: []string{"irqbalance"}}.serve()
	r = hostlab("set", "irq_affinity=1", "--yes")
	end()
	require("irqbalance is a reason not to", r.code != 0 && strings.Contains(r.err, "irqbalance (PID") &&
		maps.Equal(before, affinities()), "exit %d: %s %s",
		r.code, r.out, r.err)
}

// studies run two on a private MariaDB, each to its end, and look at what the kernel and the server have meanwhile.
func studies() {
	oneBlock("numa-interleave", func(process string) bool {
		return strings.Contains(cat(process+"/numa_maps"), " interleave:0-1 ")
	})
	oneBlock("doublewrite", func(process string) bool {
		return strings.Contains(cat(process+"/cmdline"), "--innodb-doublewrite=OFF")
	})
}

// oneBlock runs a study of MariaDB for a block: both levels, one of which its process shows, and the other does not.
func oneBlock(study string, shows func(process string) bool) {
	const server = "mariadbd"
	seen := map[bool]bool{}
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			for _, f := range glob("/proc/[0-9]*/comm") {
				if cat(f) == server {
					seen[shows(filepath.Dir(f))] = true
				}
			}
		}
	})
	record := "/run/" + study
	r := hostlab("run", study, "--yes", "--quiet", "--blocks", "1", "--out", record, "--set", "workload.rows=200",
		"--set", "workload.tables=4")
	close(stop)
	wait.Wait()
	good := strings.Count(cat(record+"/runs.jsonl"), `"status":"ok"`)
	require(study+" to its end", r.code == 0 && good >= 2, "exit %d, %d runs: %s %s", r.code, good, r.out, r.err)
	require(study+": processes have both levels", seen[true] && seen[false], "seen: %v", seen)
	left := 0
	for _, f := range glob("/proc/[0-9]*/comm") {
		if cat(f) == server {
			left++
		}
	}
	require(study+": its servers are gone, and no setting is left", left == 0 && !journalLeft(), "%d servers", left)
}
