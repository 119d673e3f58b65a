package redis

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// TestAsk asks who answers as Redis 7 does, who wants a password, and who sends without end.
func TestAsk(t *testing.T) {
	const stats = "# Commandstats\r\ncmdstat_keys:calls=12,usec=3456000,usec_per_call=288000.00,rejected_calls=0\r\ncmdstat_get:calls=9,usec=9\r\n"
	for name, c := range map[string]struct {
		answer, err string
		ours        bool
	}{
		"redis":             {"$SIZE\r\n" + stats, "", true},
		"a password":        {"-NOAUTH Authentication required.\r\n", "it answers \"-NOAUTH", true},
		"another":           {"$SIZE\r\n" + stats, "another process answers", false},
		"without an end":    {strings.Repeat("x", 2*longest), "EOF", true},
		"too long":          {"$999999999\r\n", "too long", true},
		"a negative length": {"$-1\r\n", "too long", true},
	} {
		address := filepath.Join(t.TempDir(), "s")
		l := testkit.Must(net.Listen("unix", address))(t)
		go func() {
			if conn, err := l.Accept(); err == nil {
				_, _ = conn.Read(make([]byte, 100))
				_, _ = conn.Write([]byte(strings.Replace(c.answer, "SIZE", strconv.Itoa(len(stats)), 1)))
				conn.Close()
			}
		}()
		list, err := Ask(t.Context(), address, func() bool { return c.ours })
		l.Close()
		if c.err != "" {
			testkit.Fails(t, err, c.err, name)
			continue
		}
		testkit.OK(t, err)
		testkit.Same(t, []Command{{"KEYS", 12, 3.456}, {"GET", 9, 9e-6}}, list, name)
	}
}

func TestSince(t *testing.T) {
	before := []Command{{"GET", 5, 0.1}, {"PING", 1, 0.1}}
	after := []Command{{"GET", 6, 0.2}, {"KEYS", 2, 5}, {"PING", 1, 0.1}}
	testkit.Same(t, []Command{{"KEYS", 2, 5}, {"GET", 1, 0.1}}, Since(before, after), "since")
	testkit.Is(t, 0, len(Since(after, before[:1])), "reset")
}
