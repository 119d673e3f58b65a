//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/privatedb"
)

// kinds start a service and its clients.
var kinds = map[string]func(*stage) error{
	"postgres": (*stage).postgres, "mariadb": (*stage).mariadb, "pgbouncer": (*stage).pgbouncer, "python": (*stage).python,
	"jvm": (*stage).jvm, "redis": (*stage).redis, "nginx": (*stage).nginx, "haproxy": (*stage).haproxy, "process": (*stage).process,
}

// begin puts a load on the stage.
func (s *stage) begin(kind string) error {
	if err := s.prepare(); err != nil {
		return err
	}
	s.data = s.dir
	if err := kinds[kind](s); err != nil {
		return fmt.Errorf("%w: %s", err, s.last())
	}
	if s.setup.Cold {
		s.evict()
	}
	return s.others()
}

// others starts what runs beside the service.
func (s *stage) others() error {
	var apart []string
	if s.setup.Apart {
		had := len(s.groups)
		if err := s.group("cpu", "batch", "cpu.shares", "8192"); err != nil {
			return err
		}
		apart, s.groups = s.groups[had:], s.groups[:had]
	}
	s.env = append(s.env, "SERVICE="+strconv.Itoa(s.pid))
	for _, text := range s.setup.Beside {
		cmd, err := s.start(apart, "/bin/sh", "-c", "exec "+text)
		if err != nil {
			return err
		}
		if s.beside == 0 {
			s.beside = cmd.Process.Pid
		}
	}
	return nil
}

// private starts a database.
func (s *stage) private(v *privatedb.Vendor, settings map[string]string, statements string) (*privatedb.Server, error) {
	c := privatedb.Config{Parent: s.dir, Settings: settings}
	if s.setup.Sync > 0 {
		c.LogDir = s.dir + "/log"
	}
	server, err := privatedb.Start(s.ctx, v, c)
	if err != nil {
		return nil, err
	}
	s.later(server.Close)
	s.pid, s.data = server.PID(), server.Dir()
	if err := s.limit(); err != nil {
		return nil, err
	}
	db, err := server.Open()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, statement := range strings.Split(statements, "\n") {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		if _, err := db.ExecContext(s.ctx, statement); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return server, nil
}

func (s *stage) startPostgres() (*privatedb.Server, error) {
	settings := map[string]string{"shared_buffers": "128MB", "max_connections": "400", "track_io_timing": "on",
		"track_wal_io_timing": "on", "checkpoint_timeout": "1h", "max_wal_size": "4GB", "autovacuum": "off", "max_parallel_workers_per_gather": "0"}
	maps.Copy(settings, s.setup.pairs())
	scale := "5"
	if s.setup.Cold {
		scale = "15"
	}
	scale = cmp.Or(settings["scale"], scale)
	for _, name := range []string{"scale", "pool_size", "pool_mode"} {
		delete(settings, name)
	}
	server, err := s.private(privatedb.PostgreSQL, settings, "")
	if err != nil {
		return nil, err
	}
	s.env = append(s.env, "PGHOST="+server.SocketDir(), "PGUSER="+privatedb.Role, "PGDATABASE="+privatedb.Postgres, "PGPORT=5432")
	if err := s.run("pgbench", "-i", "-q", "-s", scale); err != nil {
		return nil, err
	}
	return server, s.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "create role postgres superuser login", "-c", "checkpoint", "-c", s.setup.Init)
}

func (s *stage) postgres() error {
	if _, err := s.startPostgres(); err != nil {
		return err
	}
	return s.pgbench()
}

// pgbench are clients of PostgreSQL. A script that begins with "@" is one of its own.
func (s *stage) pgbench() error {
	args := []string{"-n", "-c", strconv.Itoa(max(s.setup.Clients, 1)), "-j", "2", "-P", "1", "--progress-timestamp", "-T", "3600", "--max-tries=100"}
	if own, ok := strings.CutPrefix(s.setup.Script, "@"); ok && s.setup.Think == 0 {
		args = append(args, "-b", own)
	} else {
		text := s.setup.Script
		if ok {
			text = `\set any random(1, 100000)` + "\nselect abalance from pgbench_accounts where aid = :any"
		}
		if s.setup.Think > 0 {
			text += fmt.Sprintf("\n\\sleep %d us", int(1000*s.setup.Think))
		}
		var lines []string
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, `\`) {
				line += ";"
			}
			lines = append(lines, line)
		}
		file := filepath.Join(s.dir, "script")
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		args = append(args, "-f", file)
	}
	if s.setup.Anew {
		args = append(args, "-C")
	} else if s.setup.Watch == "" {
		args = append(args, "-M", "prepared")
	}
	return s.clients("pgbench", args...)
}

// clients start, on the CPUs that they may use.
func (s *stage) clients(name string, args ...string) error {
	if s.setup.Script == "" { // nobody comes
		return nil
	}
	if s.setup.Pin != "" {
		name, args = "taskset", append([]string{"-c", s.setup.Pin, name}, args...)
	}
	_, err := s.start(nil, name, args...)
	return err
}

func (s *stage) crowd(kind, network, address string) error {
	text, err := json.Marshal(crowd{kind, network, address, s.setup})
	if err != nil {
		return err
	}
	return s.clients(self(), "drive", string(text))
}

func (s *stage) mariadb() error {
	settings := map[string]string{"innodb_buffer_pool_size": "128M", "max_connections": "400", "performance_schema": "ON"}
	maps.Copy(settings, s.setup.pairs())
	server, err := s.private(privatedb.MariaDB, settings, fmt.Sprintf(`create table t (id int primary key, n int not null, k int not null, pad char(200))
insert into t select seq, 0, seq %% 1000, 'x' from seq_1_to_%d
`, rows)+s.setup.Init)
	if err != nil {
		return err
	}
	socket := server.SocketDir() + "/mariadb.sock"
	s.env = append(s.env, "SOCKET="+socket)
	return s.crowd("mariadb", "unix", socket)
}

// pgbouncer pools sessions of a PostgreSQL, on which no limits are.
func (s *stage) pgbouncer() error {
	s.free = true
	server, err := s.startPostgres()
	if err != nil {
		return err
	}
	host := server.SocketDir()
	if err := os.Chmod(filepath.Dir(host), 0o711); err != nil { //nolint:gosec // the pooler has an account of its own
		return err
	}
	size := cmp.Or(s.setup.pairs()["pool_size"], "20")
	run, file := s.dir+"/run", filepath.Join(s.dir, "pgbouncer.ini")
	if err := errors.Join(os.Mkdir(run, 0o755), s.run("chown", "postgres", run)); err != nil { //nolint:gosec // clients enter it
		return err
	}
	text := fmt.Sprintf(`[databases]
postgres = host=%s port=5432 user=%s pool_size=%s
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = any
pool_mode = %s
max_client_conn = 400
`, host, privatedb.Role, size, run, cmp.Or(s.setup.pairs()["pool_mode"], "transaction"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // another account reads it
		return err
	}
	if err := s.service("pgbouncer", "-u", "postgres", file); err != nil {
		return err
	}
	socket := filepath.Join(run, ".s.PGSQL.6432")
	if err := s.ready("unix", socket); err != nil {
		return err
	}
	if s.setup.Watch == "server" {
		s.pid = server.PID()
	}
	s.env = append(s.env, "PGHOST="+run, "PGPORT=6432")
	if s.setup.Watch == "" {
		s.setup.Watch = "pooler"
	}
	return s.pgbench()
}

// service starts one within its control groups and on its CPUs.
func (s *stage) service(name string, args ...string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	if s.setup.CPUs != "" {
		path, args = "/usr/bin/taskset", append([]string{"-c", s.setup.CPUs, path}, args...)
	}
	cmd, err := s.start(s.groups, path, args...)
	if err == nil {
		s.pid = cmd.Process.Pid
	}
	return err
}

// ready waits until a service takes connections.
func (s *stage) ready(network, address string) error {
	for range 300 {
		conn, err := net.Dial(network, address)
		if err == nil {
			return conn.Close()
		}
		if err := s.wait(100 * time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New(address + " takes no connections")
}

// port is one that nobody uses.
func port() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, p, err := net.SplitHostPort(l.Addr().String())
	return p, err
}

// listening starts a web server and its clients.
func (s *stage) listening(command func(port string) []string) error {
	p, err := port()
	if err != nil {
		return err
	}
	args := command(p)
	if err := s.service(args[0], args[1:]...); err != nil {
		return err
	}
	if err := s.ready("tcp4", "127.0.0.1:"+p); err != nil {
		return err
	}
	return s.crowd("http", "tcp4", "127.0.0.1:"+p)
}

func (s *stage) python() error {
	return s.listening(func(p string) []string {
		return []string{"/usr/bin/python3", s.dir + "/bin/web.py", p, s.dir + "/log", s.setup.pairs()["workers"], cmp.Or(s.setup.pairs()["backlog"], "64")}
	})
}

func (s *stage) jvm() error {
	if err := s.run("javac", "-d", s.dir, s.dir+"/bin/Web.java"); err != nil {
		return err
	}
	return s.listening(func(p string) []string {
		return slices.Concat([]string{"java"}, strings.Fields(s.setup.Settings), []string{"-cp", s.dir, "Web", p})
	})
}

func (s *stage) redis() error {
	args := []string{"--port", "0", "--unixsocket", s.dir + "/redis.sock", "--dir", s.dir + "/log", "--save", ""}
	for name, value := range s.setup.pairs() {
		args = append(args, "--"+name, value)
	}
	if err := s.service("redis-server", args...); err != nil {
		return err
	}
	if err := s.ready("unix", s.dir+"/redis.sock"); err != nil {
		return err
	}
	return s.crowd("redis", "unix", s.dir+"/redis.sock")
}

func (s *stage) nginx() error {
	root := s.dir + "/www"
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	s.data = root
	files, size := 1, 4096
	if s.setup.Disk {
		files, size = 100, 1<<20
	}
	for i := range files {
		if err := os.WriteFile(fmt.Sprintf("%s/%d", root, i+1), make([]byte, size), 0o644); err != nil { //nolint:gosec // all read it
			return err
		}
	}
	if s.setup.Cold { // what is not written yet stays in the cache
		if err := s.run("sync", "-f", root); err != nil {
			return err
		}
	}
	server, upstream := "root "+root+";", ""
	if s.setup.pairs()["behind"] != "" {
		behind, err := s.behind(s.setup.pairs()["behind"] == "unix")
		if err != nil {
			return err
		}
		server = "location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection \"\"; }"
		upstream = "upstream up { server " + behind + "; keepalive 16; }"
		if s.setup.pairs()["upstream"] == "anew" {
			upstream = "upstream up { server " + behind + "; }"
			server = "location / { proxy_pass http://up; }"
		}
	}
	packs := ""
	if level := s.setup.pairs()["gzip"]; level != "" {
		packs = "gzip on; gzip_types *; gzip_comp_level " + level + ";"
	}
	workers := cmp.Or(s.setup.pairs()["worker_processes"], "1")
	return s.listening(func(p string) []string {
		file := s.dir + "/nginx.conf"
		_ = os.WriteFile(file, fmt.Appendf(nil, `daemon off; user nobody nogroup; worker_processes %s; pid %s/pid; error_log stderr;
events { worker_connections 400; }
http { access_log off; keepalive_requests 1000000000; %s %s server { listen 127.0.0.1:%s; %s } }
`, workers, s.dir, packs, upstream, p, server), 0o600)
		return []string{"nginx", "-e", "stderr", "-c", file}
	})
}

// behind starts a web server that another one asks, over TCP or a Unix socket.
func (s *stage) behind(local bool) (address string, err error) {
	p, err := port()
	if err != nil {
		return "", err
	}
	network, address, at := "tcp4", "127.0.0.1:"+p, "127.0.0.1:"+p
	if local {
		p = s.dir + "/web.sock"
		network, address, at = "unix", p, "unix:"+p
	}
	if _, err := s.start(nil, "/usr/bin/python3", s.dir+"/bin/web.py", p, s.dir+"/log", s.setup.pairs()["workers"]); err != nil {
		return "", err
	}
	return at, s.ready(network, address)
}

// haproxy asks one server, of which it may limit connections.
func (s *stage) haproxy() error {
	behind, err := s.behind(false)
	if err != nil {
		return err
	}
	return s.listening(func(p string) []string {
		file := s.dir + "/haproxy.cfg"
		_ = os.WriteFile(file, fmt.Appendf(nil, `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout queue 60s
listen all
  bind 127.0.0.1:%s
  server one %s maxconn %s
`, p, behind, cmp.Or(s.setup.pairs()["maxconn"], "100")), 0o600)
		return []string{"haproxy", "-db", "-f", file}
	})
}

// process is a service without clients, which says itself how much it has done.
func (s *stage) process() error {
	words := strings.Fields(os.Expand(s.setup.Script, func(name string) string {
		return map[string]string{"LOG": s.dir + "/log", "DIR": s.dir, "BIN": s.dir + "/bin"}[name]
	}))
	err := s.service("/usr/bin/python3", append([]string{s.dir + "/bin/job.py"}, words...)...)
	return err
}
