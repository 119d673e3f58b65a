//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"
)

// irqAffinity runs the study irq-affinity on a PostgreSQL of the disk, beside a card of several queues: to its end, and
// killed while the level is in force.
func irqAffinity() {
	cardUp()
	moved := cardInterrupts()
	require("a card of two queues, each with an interrupt of its own", len(moved) >= 4 &&
		len(glob("/sys/class/net/e*/queues/rx-*")) == 2, "%v %v", moved, glob("/sys/class/net/e*/queues/*"))
	before := affinities()
	level := maps.Clone(before)
	for _, file := range moved {
		level[file] = "0"
	}
	require("not all of them arrive at CPU 0", !maps.Equal(before, level), "%v", before)
	postmaster()
	begun("")
	var ignored atomic.Value
	clients(&ignored)

	args := []string{"run", "irq-affinity", "--yes", "--quiet"}
	for _, set := range []string{"workload.dsn=host=" + disk + "/run user=postgres dbname=postgres", "workload.for=2s",
		"workload.short=0s", "workload.every=1s", "settle=300ms"} {
		args = append(args, "--set", set)
	}
	seen := false
	stop := make(chan struct{})
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for !seen {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				seen = maps.Equal(affinities(), level)
			}
		}
	}()
	r := hostlab(append(args, "--blocks", "2", "--out", "/run/whole")...)
	close(stop)
	<-looked
	require("irq-affinity to its end", r.code == 0, "exit %d: %s %s", r.code, r.out, r.err)
	require("the card's interrupts, and no others, were at the level", seen, "they were %v before, and are to be %v",
		before, level)
	require("they are back", maps.Equal(before, affinities()) && !journalLeft(), "%v, and were %v", affinities(), before)
	both := map[string]int{"pair 1, current": 1, "pair 1, 0": 1, "pair 2, current": 1, "pair 2, 0": 1}
	require("each pair has a period of both", maps.Equal(both, periods("/run/whole")), "%v", periods("/run/whole"))

	cmd := command(append(args, "--blocks", "6", "--out", "/run/killed")...)
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	for began := time.Now(); !maps.Equal(affinities(), level) && time.Since(began) < 5*time.Minute; {
		time.Sleep(20 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	require("it is killed at the level", wasKilled(cmd), "it had ended before")
	for began := time.Now(); !maps.Equal(before, affinities()) && time.Since(began) < time.Minute; {
		time.Sleep(20 * time.Millisecond)
	}
	require("its guard puts them back", maps.Equal(before, affinities()), "%v, and were %v", affinities(), before)
	r = hostlab("run", "--restore", "--out", "/run/killed")
	require("nothing is left to put back", r.code == 0 && maps.Equal(before, affinities()) && !journalLeft(),
		"exit %d: %s %s", r.code, r.out, r.err)
}

// cardUp has the card up, since nobody judges one that is down (net-sysfs.c).
func cardUp() {
	if err := put("0x1003", "/sys/class/net/e*/flags")(); err != nil { // IFF_UP
		cannot("the card does not come up: " + err.Error())
	}
	for range 200 {
		if links := glob("/sys/class/net/e*/operstate"); len(links) == 1 && cat(links[0]) != "down" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// cardInterrupts are the files of those that hostlab moves.
func cardInterrupts() (files []string) {
	for _, s := range settings().Settings {
		for _, o := range s.Objects {
			if s.Name == "irq_affinity" {
				files = append(files, o.Path)
			}
		}
	}
	return files
}

// periods counts those that count of a record, by pair and level.
func periods(record string) map[string]int {
	seen := map[string]int{}
	for text := range strings.Lines(cat(record + "/runs.jsonl")) {
		var r struct {
			Block  int
			Status string
			After  map[string]string
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			fail("record", "%v: %q", err, text)
		}
		if r.Status == "ok" {
			seen[fmt.Sprintf("pair %d, %s", r.Block+1, r.After["irq_affinity"])]++
		}
	}
	return seen
}
