package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/service"
	"hostlab/internal/trust"
	"hostlab/internal/workload/logcommit"
)

// place is where the commit probe writes.
type place struct {
	dir   string // "": nowhere
	why   string // a clause: why there, for the report
	none  string // why no commit is timed; "": some are
	found bool   // it is the watched server's own, which nobody named
	wrong string // what its figures do not hold for; "" where they do
}

// named is the directory that was asked for; nil: none was.
func (o *Options) named(tree host.Tree) (*place, error) {
	if o.LogDir == "" || o.OnlyService {
		return nil, nil //nolint:nilnil // that is said above
	}
	if err := logcommit.Preflight(host.StorageOf(tree, o.LogDir), o.LogDir, probe.CommitRoom); err != nil {
		return nil, &Unusable{err}
	}
	return &place{dir: o.LogDir, why: "named with --log-dir"}, nil
}

// tried is a place, or why no commit can be timed there.
func (o *Options) tried(tree host.Tree, p place) place {
	if err := logcommit.Preflight(host.StorageOf(tree, p.dir), p.dir, probe.CommitRoom); err != nil {
		p.why, p.none = "", err.Error()
	}
	return p
}

// logOf is where the log of the watched service is, and nobody else's: nil is a service that is no database of this
// host.
func logOf(t host.Tree, of *service.Service, servers []host.Database) place {
	if of == nil {
		return place{none: "no service was watched, so there is no log to time; name its directory with --log-dir"}
	}
	if own := of.Server(servers); own != nil {
		return findLog(t, *own)
	}
	return place{none: "no log of the watched service is known on this host; name its directory with --log-dir"}
}

// findLog looks for the log of a database server that runs here, or else for a directory on the same device.
func findLog(t host.Tree, d host.Database) place {
	log, known := d.LogDir.Get()
	var why string
	switch {
	case known:
		if filepath.Base(log) == "#innodb_redo" {
			log = filepath.Dir(log) // MySQL takes what lies in there for its own; the device is the same
		}
		problem := unfit(t, log)
		if problem == nil {
			return place{dir: log, why: "the log directory of " + nameOf(d), found: true}
		}
		why = fmt.Sprintf("hostlab does not use %s, the log directory of %s (%s)", log, nameOf(d), problemOf(problem))
	default:
		why = fmt.Sprintf("the log directory of %s is not known (%s)", nameOf(d),
			cmp.Or(d.LogDir.Reason, string(d.LogDir.State)))
	}
	device, near := deviceNear(t, d)
	for _, dir := range []string{os.TempDir(), "/var/tmp"} {
		if device == "" || host.StorageOf(t, dir).Device.Or("") != device || unfit(t, dir) != nil {
			continue
		}
		p := place{dir: dir, why: fmt.Sprintf("on the same device (%s), because %s", device, why)}
		if near != log {
			p.why = fmt.Sprintf("on the device of %s (%s), because %s", near, device, why)
			p.wrong = fmt.Sprintf("the log of %s may be on another device than %s", nameOf(d), near)
			if d.LogDir.State == host.StateAbsent { // it may have none
				p.wrong = why
			}
		}
		return p
	}
	return place{none: why + "; name a directory on its device with --log-dir"}
}

func nameOf(d host.Database) string {
	return fmt.Sprintf("%s (process %d)", d.Product(), d.PID)
}

// unfit says why the commit probe cannot write there; nil where it can.
func unfit(t host.Tree, dir string) error {
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
