//go:build linux && amd64

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
)

// program is the hostlab that is tried: it lies beside this program.
const program = "/job/hostlab"

// journalPath is where root's journal lies.
const journalPath = "/var/lib/hostlab/settings.journal"

// run is what a call of hostlab gave.
type run struct {
	code     int // -1: it was killed
	out, err string
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=/bin:/tools", "HOME=/", "NO_COLOR=1"}
	return cmd
}

func hostlab(args ...string) run {
	cmd := command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	r := run{code: cmd.ProcessState.ExitCode(), out: out.String(), err: strings.TrimSpace(errs.String())}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		cannot(err.Error())
	}
	return r
}

// change is what set, verify and revert print as JSON.
type change struct {
	Outcomes []outcome `json:"outcomes"`
	Same     []outcome `json:"same"`
	Skipped  []outcome `json:"skipped"`
	Left     []struct {
		Record string `json:"record"`
	} `json:"left"` // of live experiments
	Error string `json:"error"`
}

type outcome struct {
	Setting, Object, Path, From, To, Read, Result, Reason string
}

func (r run) change() (c change) {
	if err := json.Unmarshal([]byte(r.out), &c); err != nil {
		fail("output", "no JSON: %v: %q %q", err, r.out, r.err)
	}
	return c
}

// results counts the outcomes by their result.
func (c change) results() map[string]int {
	n := map[string]int{}
	for _, o := range c.Outcomes {
		n[o.Result]++
	}
	return n
}

// known is what `hostlab settings` lists.
type known struct {
	Settings []struct {
		Name    string `json:"name"`
		Missing string `json:"missing"`
		Held    bool   `json:"held"`
		Objects []struct{ Name, Path, Value string }
	} `json:"settings"`
}

func settings() (k known) {
	r := hostlab("settings", "--format", "json")
	if err := json.Unmarshal([]byte(r.out), &k); err != nil || r.code != 0 {
		cannot("hostlab settings: exit " + r.err)
	}
	return k
}

func journalLeft() bool {
	_, err := os.Stat(journalPath)
	return err == nil
}
