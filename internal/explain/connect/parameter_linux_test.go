//go:build system

package connect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// pg is a server of our own, with how to open a parameter of it.
type pg struct {
	*testing.T
	*privatedb.Server
	dsn string
}

func startPG(t *testing.T) *pg {
	t.Helper()
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: t.TempDir()}))(t)
	t.Cleanup(func() { s.Close() })
	return &pg{t, s, "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"}
}

func (s *pg) try(name string) (Parameter, error) {
	s.Helper()
	d, err := Parse(s.dsn)
	if err != nil {
		s.Fatal(err)
	}
	p, err := OpenParameter(s.Context(), d, name)
	if err == nil {
		s.Cleanup(func() { p.Close() })
	}
	return p, err
}

func (s *pg) open(name string) (Parameter, Saved) {
	s.Helper()
	p, err := s.try(name)
	if err != nil {
		s.Fatal(err)
	}
	was, err := p.Save(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return p, was
}

func (s *pg) exec(text string) {
	s.Helper()
	c, err := s.Connect(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close(s.Context())
	for one := range strings.SplitSeq(text, ";") {
		if _, err := c.Exec(s.Context(), one); err != nil {
			s.Fatal(err)
		}
	}
}

// auto is the file of ALTER SYSTEM, without its comments.
func (s *pg) auto() string {
	s.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir(), "postgresql.auto.conf"))
	if err != nil {
		s.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(b)), "\n"),
		func(l string) bool { return strings.HasPrefix(l, "#") })
	return strings.Join(lines, "; ")
}

func (s *pg) reads(p Parameter, want string) {
	s.Helper()
	if now, err := p.Read(s.Context()); err != nil || now != want {
		s.Errorf("%s reads %q, %v; want %q", p.Name(), now, err, want)
	}
}

// A level is in the server's memory alone, also for sessions that are open, and a reload brings
// back what was.
func TestPostgresParameter(t *testing.T) {
	s := startPG(t)
	s.exec("alter system set work_mem = '7MB'; select pg_reload_conf()")
	for name, c := range map[string]struct{ level, was, disk string }{
		"commit_delay": {"1000", "0", "work_mem = '7MB'"},
		"work_mem":     {"8192", "7168", "work_mem = '7MB'"},
	} {
		p, was := s.open(name)
		testkit.Is(t, c.was, was.Value, name)
		c2, err := s.Connect(t.Context())
		if err == nil {
			_, err = c2.Exec(t.Context(), "set application_name = 'erp'") // those of hostlab are not waited for
		}
		testkit.OK(t, err)
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { // a session that works
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = c2.Exec(t.Context(), "select 1")
				}
			}
		}()
		if missed, err := p.Set(t.Context(), c.level, was); err != nil || missed != 0 {
			t.Fatalf("%s: %d missed, %v", name, missed, err)
		}
		close(stop)
		<-done
		s.reads(p, c.level)
		var now string
		if err := c2.QueryRow(t.Context(), "select setting from pg_settings where name = '"+name+
			"'").Scan(&now); err != nil || now != c.level {
			t.Errorf("the open session reads %q, %v", now, err)
		}
		_ = c2.Close(t.Context())
		testkit.Is(t, c.disk, s.auto(), "the disk has")
		if _, err := p.Set(t.Context(), "", was); err != nil {
			t.Error(err)
		}
		s.reads(p, c.was)
		// A killed process may leave the level on the disk and in force.
		s.exec("alter system set " + name + " = '" + c.level + "'; select pg_reload_conf()")
		if err := p.Back(t.Context(), was, []string{c.level}, false); err != nil {
			t.Error(err)
		}
		s.reads(p, c.was)
		// What is none of ours is left.
		s.exec("alter system set " + name + " = '77'")
		if err := p.Back(t.Context(), was, []string{c.level}, false); err == nil ||
			!strings.Contains(err.Error(), "another program has changed "+name) {
			t.Errorf("foreign: %v", err)
		}
		testkit.Refused(p.Set(t.Context(), c.level, was))(t, "", "a foreign value was overwritten")
		if err := p.Back(t.Context(), was, nil, true); err != nil {
			t.Error(err)
		}
		testkit.Is(t, c.disk, s.auto(), "the disk has")
	}
}

// What cannot be varied is one line, before anything is changed.
func TestPostgresParameterRefused(t *testing.T) {
	s := startPG(t)
	s.exec("create role blind login; create role own login superuser; alter role own set commit_delay = 5; alter role blind set work_mem = '1MB'")
	dsn := s.dsn
	for _, c := range []struct{ user, name, want string }{
		{privatedb.Role, "shared_buffers", "needs a restart"},
		{privatedb.Role, "server_version", "cannot be changed at all"},
		{privatedb.Role, "comit_delay", "did you mean commit_delay?"},
		{privatedb.Role, "a';--", "has no parameter"},
		{privatedb.Role, "search_path", "list of names"},
		{privatedb.Role, "Statement_timeout", "limits hostlab's own session too"},
		{privatedb.Role, "fsync", "whether data survive a crash"},
		{"blind", "commit_delay", "grant alter system on parameter \"commit_delay\""},
		{"own", "commit_delay", "value of its own for role own"},
	} {
		s.dsn = strings.ReplaceAll(dsn, "user="+privatedb.Role, "user="+c.user)
		_, err := s.try(c.name)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s as %s: %v", c.name, c.user, err)
		}
	}
	// What the message says is enough.
	s.exec("grant alter system on parameter work_mem to blind; grant execute on function pg_reload_conf(), pg_show_all_file_settings() to blind; grant select on pg_file_settings to blind; grant pg_read_all_stats to blind; alter role blind reset work_mem")
	s.dsn = strings.ReplaceAll(dsn, "user="+privatedb.Role, "user=blind")
	p, was := s.open("work_mem")
	if _, err := p.Set(t.Context(), "8192", was); err != nil {
		t.Error(err)
	}
	if err := p.Back(t.Context(), was, []string{"8192"}, false); err != nil {
		t.Error(err)
	}
	s.dsn = dsn
	// A reload would make a change of somebody else's take effect.
	s.exec("alter system set checkpoint_timeout = '7min'")
	p = testkit.Must(s.try("commit_delay"))(t)
	testkit.Refused(p.Save(t.Context()))(t, "checkpoint_timeout = 7min, which is not in force yet")
}

// What hostlab sets for its own sessions elsewhere is read as the server has it.
func TestPostgresParameterOfOurs(t *testing.T) {
	s := startPG(t)
	for name, c := range map[string][2]string{"jit": {"off", "on"}, "max_parallel_workers_per_gather": {"0", "2"}} {
		p, was := s.open(name)
		testkit.Is(t, c[1], was.Value, name)
		if _, err := p.Set(t.Context(), c[0], was); err != nil {
			t.Error(err)
		}
		s.reads(p, c[0])
		if err := p.Back(t.Context(), was, []string{c[0]}, false); err != nil {
			t.Error(err)
		}
		s.reads(p, c[1])
	}
}

// What somebody else prepares in the server's files while the experiment runs is not brought into force, and stays.
func TestPostgresParameterMeanwhile(t *testing.T) {
	s := startPG(t)
	p, was := s.open("commit_delay")
	set := func(level string) error {
		t.Helper()
		_, err := p.Set(t.Context(), level, was)
		return err
	}
	inForce := func(name string) (now string) {
		t.Helper()
		c, err := s.Connect(t.Context())
		if err == nil {
			err = c.QueryRow(t.Context(), "select setting from pg_settings where name = $1", name).Scan(&now)
			_ = c.Close(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
		return now
	}
	reload := func(name, want string) { // the server reads its files in its own time
		t.Helper()
		s.exec("select pg_reload_conf()")
		for inForce(name) != want && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
	}
	other := func(want string) {
		t.Helper()
		testkit.Is(t, want, inForce("checkpoint_timeout"), "checkpoint_timeout is")
	}
	// Of another parameter.
	s.exec("alter system set checkpoint_timeout = '7min'")
	testkit.Fails(t, set("1000"), "not in force yet")
	for _, err := range []error{set(""), p.Back(t.Context(), was, []string{"1000"}, false)} {
		if err != nil {
			t.Error(err)
		}
	}
	other("300")
	reload("checkpoint_timeout", "420")
	testkit.OK(t, set("1000"))
	s.exec("alter system reset checkpoint_timeout")
	testkit.Fails(t, set("1000"), "no longer have checkpoint_timeout, of which 420 is still in force")
	s.reads(p, "1000")
	if err := set(""); err != nil { // to end a level goes first
		t.Error(err)
	}
	s.reads(p, "0")
	other("300")
	// Of the same one, while a level is in force: it ends nevertheless.
	for _, back := range []func() error{func() error { return set("") },
		func() error { return p.Back(t.Context(), was, []string{"1000"}, false) }} {
		testkit.OK(t, set("1000"))
		s.exec("alter system set commit_delay = 77")
		testkit.Fails(t, back(), "another program has changed commit_delay")
		s.reads(p, "0")
		testkit.Is(t, "commit_delay = '77'", s.auto(), "the disk has")
		s.exec("alter system reset commit_delay")
	}
	// The server went down while the file had the level.
	s.exec("alter system set commit_delay = 1000")
	reload("commit_delay", "1000")
	if err := set(""); err != nil {
		t.Error(err)
	}
	s.reads(p, "0")
	// Another server, which is the busiest now.
	elsewhere := was
	elsewhere.Of = "port 1, system 2"
	testkit.Fails(t, p.Back(t.Context(), elsewhere, nil, true), "found the server (port ")
	// What is in force by now is theirs, and by force that is the end of it.
	f, err := os.OpenFile(filepath.Join(s.Dir(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("commit_delay = 50\n")
		_ = f.Close()
	}
	testkit.OK(t, err)
	reload("commit_delay", "50")
	testkit.Fails(t, p.Back(t.Context(), was, []string{"1000"}, false), "reads 50 after a reload")
	if err := p.Back(t.Context(), was, []string{"1000"}, true); err != nil {
		t.Error(err)
	}
}

// A session that is lost is opened again, and a killed server is said to be one.
func TestPostgresParameterKilled(t *testing.T) {
	s := startPG(t)
	p, was := s.open("commit_delay")
	s.exec("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hostlab' and pid <> pg_backend_pid()")
	if _, err := p.Set(t.Context(), "500", was); err != nil {
		t.Error(err)
	}
	_ = syscall.Kill(s.PID(), syscall.SIGKILL)
	<-s.Done()
	if err := p.Back(t.Context(), was, []string{"500"}, false); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	testkit.Is(t, "", s.auto(), "the disk has")
}

func TestMariaDBParameter(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.MariaDB, privatedb.Config{Parent: t.TempDir(), LogBytes: 8 << 20}))(t)
	defer s.Close()
	d := testkit.Must(Parse("mariadb://" + privatedb.Role + "@localhost/?socket=" + s.SocketDir() + "/mariadb.sock"))(t)
	for name, want := range map[string]string{
		"innodb_log_file_buffering_x": "has no variable", "datadir": "needs a restart",
		"last_insert_id":                "only in each session",
		"inodb_flush_log_at_trx_commit": "did you mean innodb_flush_log_at_trx_commit?",
	} {
		testkit.Refused(OpenParameter(t.Context(), d, name))(t, want, name)
	}
	for name, levels := range map[string][2]string{"innodb_flush_log_at_trx_commit": {"2", "two"},
		"innodb_adaptive_hash_index": {"ON", "maybe"}, "innodb_io_capacity": {"777", "1;"},
		"max_join_size": {"1000000", "-"}} {
		p := testkit.Must(OpenParameter(t.Context(), d, name))(t)
		defer p.Close()
		testkit.Refused(p.Level(levels[1]))(t, "", name, "takes", levels[1])
		level := testkit.Must(p.Level(levels[0]))(t)
		was := testkit.Must(p.Save(t.Context()))(t)
		testkit.Must(p.Set(t.Context(), level, was))(t)
		if now, err := p.Read(t.Context()); err != nil || now != level || now == was.Value {
			t.Errorf("%s reads %s, %v; it was %s", name, now, err, was.Value)
		}
		testkit.Fails(t, p.Back(t.Context(), was, nil, false), "", "what is no level of ours was overwritten")
		if err := p.Back(t.Context(), was, []string{level}, false); err != nil {
			t.Error(err)
		}
		testkit.Is(t, was.Value, testkit.Must(p.Read(t.Context()))(t), name, "reads", "it was")
	}
}

// A server that takes no new session while a level is in its file keeps no level there.
func TestPostgresTakesNoNewSession(t *testing.T) {
	s := startPG(t)
	s.exec(`create role mon login connection limit 1; grant pg_monitor to mon; grant alter system on parameter commit_delay to mon;
		grant execute on function pg_reload_conf(), pg_show_all_file_settings() to mon; grant select on pg_file_settings to mon`)
	s.dsn = strings.Replace(s.dsn, "user="+privatedb.Role, "user=mon", 1)
	p, was := s.open("commit_delay")
	testkit.Refused(p.Set(t.Context(), "700", was))(t, "too many connections")
	testkit.Is(t, "", s.auto(), "the file has")
	if _, err := p.Set(t.Context(), "", was); err != nil {
		t.Error(err)
	}
	s.reads(p, "0")
}
