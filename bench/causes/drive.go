//go:build linux

package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// crowd are clients in a process of their own, which repeat a script. Four times a second that prints
// how many transactions are done.
type crowd struct {
	Kind    string // mariadb, redis, http
	Network string
	Address string
	setup
}

// client sends one statement and waits for its answer.
type client interface {
	do(statement string) error
	io.Closer
}

// drive is the process of clients.
func drive(text string) error {
	var c crowd
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	var done atomic.Int64
	failed := make(chan error)
	for i := range max(c.Clients, 1) {
		go func() { failed <- c.repeat(i, &done) }()
	}
	tick := time.NewTicker(250 * time.Millisecond)
	for {
		select {
		case err := <-failed:
			return err
		case <-tick.C:
			fmt.Printf("mark %.6f %d\n", float64(time.Now().UnixNano())/1e9, done.Load())
		}
	}
}

// repeat is one client.
func (c *crowd) repeat(number int, done *atomic.Int64) (err error) {
	var now client
	lines := strings.Split(c.Script, "\n")
	for {
		if now == nil {
			if now, err = c.connect(); err != nil {
				return err
			}
		}
		for _, line := range lines {
			words := strings.NewReplacer(":own", strconv.Itoa(number+1), ":any", strconv.Itoa(1+rand.IntN(rows)), ":hundred", strconv.Itoa(1+rand.IntN(100)))
			line = words.Replace(strings.TrimSpace(line))
			if pause, ok := strings.CutPrefix(line, `\sleep `); ok {
				milliseconds, err := strconv.ParseFloat(pause, 64)
				if err != nil {
					return err
				}
				rest(milliseconds)
				continue
			}
			if err := now.do(line); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
		done.Add(1)
		if c.Anew {
			now.Close()
			now = nil
		}
		rest(c.Think)
	}
}

// rows is how many the table that clients choose from has.
const rows = 100_000

func rest(milliseconds float64) {
	if milliseconds > 0 {
		time.Sleep(time.Duration(milliseconds * float64(time.Millisecond)))
	}
}

func (c *crowd) connect() (client, error) {
	if c.Kind == "mariadb" {
		m := mysql.NewConfig()
		m.User, m.DBName, m.Net, m.Addr = "hostlab", "hostlab", "unix", c.Address
		connector, err := mysql.NewConnector(m)
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(connector)
		conn, err := db.Conn(context.Background())
		return statements{conn, db}, err
	}
	conn, err := net.Dial(c.Network, c.Address)
	if err != nil {
		return nil, err
	}
	lines := wire{conn, bufio.NewReader(conn)}
	if c.Kind == "redis" {
		return redis{lines}, nil
	}
	return web{lines}, nil
}

type statements struct {
	*sql.Conn
	db *sql.DB
}

func (s statements) do(statement string) error {
	r, err := s.QueryContext(context.Background(), statement)
	if err != nil {
		return err
	}
	for r.Next() {
	}
	r.Close()
	return r.Err()
}

func (s statements) Close() error { return errors.Join(s.Conn.Close(), s.db.Close()) }

type wire struct {
	net.Conn
	in *bufio.Reader
}

type redis struct{ wire }

// do sends an inline command; a length begins an answer of more than one line.
func (r redis) do(statement string) error {
	if _, err := io.WriteString(r, statement+"\r\n"); err != nil {
		return err
	}
	line, err := r.in.ReadString('\n')
	switch {
	case err != nil:
		return err
	case line[0] == '-':
		return fmt.Errorf("redis: %s", strings.TrimSpace(line))
	case line[0] != '$' || line[1] == '-':
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err == nil {
		_, err = r.in.Discard(n + 2)
	}
	return err
}

type web struct{ wire }

func (w web) do(path string) error {
	if _, err := fmt.Fprintf(w, "GET %s HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n", path); err != nil {
		return err
	}
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, r.Status)
	}
	return nil
}

// self is this program, as another process starts it.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
