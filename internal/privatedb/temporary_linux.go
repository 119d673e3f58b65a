package privatedb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// makeTemporary makes a directory to which the server's account can walk by name.
func makeTemporary(s *Server) error {
	in := s.places[0]
	if s.account.Other {
		parents := []string{s.cfg.Parent, os.TempDir(), "/tmp", "/var/tmp"}
		i := slices.IndexFunc(parents, reachable)
		if i < 0 {
			return fmt.Errorf("%s runs as %s here, and can enter neither %s nor /tmp for its temporary tables; set TMPDIR to a "+
				"directory that all may enter",
				s.Vendor.Product, s.account.Name, s.cfg.Parent)
		}
		s.Vendor.Sweep(parents[i])
		p, err := s.Vendor.NewPlace(parents[i])
		if err != nil {
			return err
		}
		s.places = append(s.places, p)
		if err := p.lock.Chmod(0o711); err != nil { // others may walk to what is theirs within
			return s.Vendor.CannotMake(parents[i], err)
		}
		in = p
	}
	const name = "tmp"
	f, err := in.Sub(name, s.account)
	if err != nil {
		return err
	}
	s.temporary = filepath.Join(in.Path, name)
	return f.Close()
}

// reachable reports whether everybody may walk to a directory.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}
