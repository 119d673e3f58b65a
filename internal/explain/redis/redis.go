// Package redis asks a Redis or Valkey of this host how long its commands took (INFO commandstats). One thread runs
// them all, one after the other. It is sent no password.
package redis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/screen"
)

// Command is one by its name, with what it took so far, or between two answers.
type Command struct {
	Name    string  `json:"name"`
	Calls   int64   `json:"calls"`
	Seconds float64 `json:"seconds"`
}

// An answer has so many bytes and commands at most, and takes so long at most: who listens may be anybody.
const (
	longest  = 1 << 18
	most     = 1000
	patience = 3 * time.Second
)

// Ask asks at an address, a host and port or a socket file. ours reports, once there is an answer, that it is the
// service's.
func Ask(ctx context.Context, address string, ours func() bool) ([]Command, error) {
	network := "tcp"
	if !strings.Contains(address, ":") || strings.HasPrefix(address, "/") {
		network = "unix"
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "INFO commandstats\r\n"); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(conn, longest))
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "$")))
	switch {
	case !strings.HasPrefix(line, "$"):
		return nil, fmt.Errorf("it answers %q", screen.Cut(strings.TrimSpace(line), 60))
	case err != nil || size < 0 || size > longest:
		return nil, errors.New("its answer is too long, or none of Redis")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, err
	}
	if !ours() {
		return nil, errors.New("another process answers at its address")
	}
	return commands(string(text)), nil
}

// commands reads "cmdstat_keys:calls=12,usec=3456,usec_per_call=288.00".
func commands(text string) (list []Command) {
	for line := range strings.Lines(text) {
		name, values, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, ok := strings.CutPrefix(name, "cmdstat_")
		if !ok || len(list) >= most {
			continue
		}
		c := Command{Name: strings.ToUpper(screen.Clean(screen.Cut(name, 40)))}
		for pair := range strings.SplitSeq(values, ",") {
			key, value, _ := strings.Cut(pair, "=")
			n, err := strconv.ParseInt(value, 10, 64)
			switch {
			case err != nil:
			case key == "calls":
				c.Calls = n
			case key == "usec":
				c.Seconds = float64(n) / 1e6
			}
		}
		list = append(list, c)
	}
	return list
}

// Since are the commands between two answers, those first that took most. A server that began anew, or whose statistics
// were reset, has none.
func Since(before, after []Command) (list []Command) {
	for _, c := range after {
		if i := slices.IndexFunc(before, func(b Command) bool { return b.Name == c.Name }); i >= 0 {
			c.Calls, c.Seconds = c.Calls-before[i].Calls, c.Seconds-before[i].Seconds
		}
		if c.Calls < 0 {
			return nil
		}
		if c.Calls > 0 {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Command) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list
}
