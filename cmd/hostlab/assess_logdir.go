package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/service"
	"hostlab/internal/trust"
	"hostlab/internal/workload/logcommit"
)

// logPlace is where the commit probe writes.
type logPlace struct {
	dir   string
	why   string // a clause: why there, for the report
	found bool   // it is a database server's own, which nobody named
	wrong string // what its figures do not hold for; "" where they do
}

// findLog looks for the log of the database server that runs here. here is the current
// directory, which is taken where no server runs, "" where it is not known; used tells a
// server's CPU time.
func findLog(t host.Tree, servers []host.Database, here string, used func(pid int) float64) logPlace {
	if len(servers) == 0 {
		return logPlace{dir: here, why: "the current directory, because no running database server was found here"}
	}
	// A process of a server's name that is none takes no part, however busy it is.
	real := slices.DeleteFunc(slices.Clone(servers), func(d host.Database) bool { return d.LogDir.State == host.StateError })
	if len(real) > 0 && len(real) < len(servers) {
		p := findLog(t, real, here, used)
		for _, d := range servers {
			if d.LogDir.State == host.StateError {
				p.why += fmt.Sprintf("; %s is left out (%s)", nameOf(d), d.LogDir.Reason)
			}
		}
		return p
	}
	busiest := service.Busiest(servers, used)
	who := nameOf(busiest)
	if n := len(servers); n > 1 {
		who += fmt.Sprintf(", the one of %d database servers here that has used the most CPU time", n)
	}
	log, known := busiest.LogDir.Get()
	var why string
	switch {
	case known:
		if filepath.Base(log) == "#innodb_redo" {
			log = filepath.Dir(log) // MySQL takes what lies in there for its own; the device is the same
		}
		problem := unusable(t, log)
		if problem == nil {
			return logPlace{dir: log, why: "the log directory of " + who, found: true}
		}
		why = fmt.Sprintf("hostlab does not use %s, the log directory of %s (%s)", log, who, problemOf(problem))
	default:
		why = fmt.Sprintf("the log directory of %s is not known (%s)", who, cmp.Or(busiest.LogDir.Reason, string(busiest.LogDir.State)))
	}
	device, near := deviceNear(t, busiest)
	if device != "" {
		for _, dir := range []string{here, os.TempDir(), "/var/tmp", os.Getenv("HOME")} {
			if filepath.IsAbs(dir) && host.StorageOf(t, dir).Device.Or("") == device && unusable(t, dir) == nil {
				p := logPlace{dir: dir, why: fmt.Sprintf("on the same device (%s), because %s", device, why)}
				if near != log {
					p.why = fmt.Sprintf("on the device of %s (%s), because %s", near, device, why)
					p.wrong = fmt.Sprintf("the log of %s may be on another device than %s", who, near)
				}
				return p
			}
		}
	}
	return logPlace{dir: here, why: "the current directory, because " + why, wrong: "the log of " + who + " may be on another device"}
}

func nameOf(d host.Database) string {
	return fmt.Sprintf("%s (process %d)", d.Product(), d.PID)
}

// unusable says why the commit probe cannot write there; nil where it can.
func unusable(t host.Tree, dir string) error {
	if strings.HasPrefix(dir, "/proc/") {
		return errors.New("it is in a container")
	}
	if err := logcommit.Preflight(host.StorageOf(t, dir), dir, probe.CommitRoom); err != nil {
		return err
	}
	root, err := trust.OpenDir(dir)
	if err != nil {
		return err
	}
	return root.Close()
}

// problemOf is an error without the directory's name and the remedy.
func problemOf(err error) string {
	if d, ok := errors.AsType[*logcommit.DirError](err); ok {
		return d.Problem
	}
	return err.Error()
}

// deviceNear is the device of a server's log, or else that of its data, and whose it is;
// "" where neither is known.
func deviceNear(t host.Tree, d host.Database) (device, of string) {
	for _, f := range []host.Fact[string]{d.LogDir, d.DataDir} {
		dir, ok := f.Get()
		if !ok {
			continue
		}
		if dev := host.StorageOf(t, dir).Device.Or(""); dev != "" {
			return dev, dir
		}
	}
	return "", ""
}
