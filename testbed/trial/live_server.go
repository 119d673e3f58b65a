//go:build linux && amd64

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// disk is where the image is mounted that outlives a power cut. It holds PostgreSQL with its libraries, so that it is
// PostgreSQL's root, and hostlab's records beside.
const disk = "/disk"

// autoConf is the file of ALTER SYSTEM.
const autoConf = disk + "/data/postgresql.auto.conf"

// parameter is the one that the experiment tries.
const parameter = "commit_delay"

// postmaster starts PostgreSQL as the owner of its data, with the disk as its root, and returns once it answers:
// after a power cut, when its recovery has ended.
func postmaster() {
	info, err := os.Stat(disk + "/data")
	if err != nil {
		cannot(err.Error())
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	programs := glob(disk + "/usr/lib/postgresql/*/bin/postgres")
	if !known || len(programs) != 1 {
		cannot("the disk has no PostgreSQL")
	}
	cmd := exec.Command(strings.TrimPrefix(programs[0], disk), "-D", "/data")
	cmd.Dir, cmd.Env = "/", []string{"PGDATA=/data"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: disk, Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	log, err := os.Create("/run/postgres.log")
	if err != nil {
		cannot(err.Error())
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(100 * time.Millisecond) {
		if _, err = ask("select 1::text"); err == nil {
			return
		}
	}
	fail("server", "it does not answer: %v: %s", err, cat("/run/postgres.log"))
	os.Exit(1)
}

func session() (*pgx.Conn, error) {
	return pgx.Connect(context.Background(), "host="+disk+"/run user=postgres dbname=postgres application_name=client")
}

// ask executes a statement in a session of its own and returns its value, "" where it has none. An open session that
// pauses would keep its value of the parameter, and hostlab would wait for it.
func ask(text string) (value string, err error) {
	c, err := session()
	if err != nil {
		return "", err
	}
	err = c.QueryRow(context.Background(), text).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return value, errors.Join(err, c.Close(context.Background()))
}

func statement(text string) string {
	value, err := ask(text)
	if err != nil {
		cannot(text + ": " + err.Error())
	}
	return value
}

// begun gives the parameter the value that is there before the experiment, in the file of ALTER SYSTEM; "": nothing
// is there. The clients' table is made the first time.
func begun(original string) {
	text := "alter system reset " + parameter
	if original != "" {
		text = fmt.Sprintf("alter system set %s = %s", parameter, original)
	}
	for _, one := range []string{text, "create table if not exists work (id int primary key, n int)",
		"insert into work select generate_series(1, 100), 0 on conflict do nothing", "select pg_reload_conf()::text"} {
		statement(one)
	}
}

// clients commit until the machine ends. Each transaction tells the value of the parameter that was in force for it.
func clients(inForce *atomic.Value) {
	for n := range 3 {
		go func() {
			c, err := session()
			for i := 0; ; i++ {
				if err != nil {
					fail("client", "%v", err)
					return
				}
				var value string
				err = c.QueryRow(context.Background(), "update work set n = n + 1 where id = $1 returning current_setting($2)",
					1+n+3*(i%30), parameter).Scan(&value)
				if err == nil {
					inForce.Store(value)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
	}
}

// onDisk is what the file of ALTER SYSTEM has of the parameter, "" for nothing. PostgreSQL replaces the whole file, so
// that it is never seen half written.
func onDisk() string {
	for line := range strings.Lines(cat(autoConf)) {
		if name, value, found := strings.Cut(line, "="); found && strings.TrimSpace(name) == parameter {
			return strings.Trim(strings.TrimSpace(value), "'")
		}
	}
	return ""
}
