// Package psql runs PostgreSQL's psql on a private server of hostlab's.
package psql

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"hostlab/internal/privatedb"
)

// Socket is the directory of the socket of the one server that a workload has started
// below its working directory.
func Socket(work string) (string, error) {
	found, err := filepath.Glob(filepath.Join(work, "*", "run"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d servers have a socket below %s, not one", len(found), work)
	}
	return found[0], nil
}

// Run has psql run a script up to its first error, with more arguments, and returns
// what it printed.
func Run(ctx context.Context, socket, script string, more ...string) ([]byte, error) {
	args := append([]string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", socket, "-U", privatedb.Role, "-d", privatedb.Postgres}, more...)
	cmd := exec.CommandContext(ctx, "psql", args...)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("psql: %w: %s", err, out)
	}
	return out, nil
}

// Timed is Run of a script that turns \timing on: the time, in s, that psql itself
// tells of its first statement after that, without psql's start and connection.
func Timed(ctx context.Context, socket, script string, more ...string) (seconds float64, err error) {
	out, err := Run(ctx, socket, script, more...)
	if err != nil {
		return 0, err
	}
	return read(out)
}

var timing = regexp.MustCompile(`Time: ([0-9.]+) ms`)

func read(out []byte) (seconds float64, err error) {
	m := timing.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("psql told no time: %s", out)
	}
	ms, err := strconv.ParseFloat(string(m[1]), 64)
	return ms / 1000, err
}
