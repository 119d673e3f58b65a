package service

import (
	"os"
	"path/filepath"
)

// Throttles are the limits on devices of its control group, and of those around it.
func (s *Service) Throttles() (list []Throttle) {
	for _, g := range limiting(s.PID, "blkio") {
		list = append(list, g.throttles()...)
	}
	return list
}

func (g *group) throttles() []Throttle {
	dir, v1 := g.dirs["blkio"]
	if !v1 {
		dir = g.dirs[""]
	}
	if dir == "" {
		return nil
	}
	list := throttles(v1, func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return string(b)
	})
	for i := range list {
		list[i].File = filepath.Join(dir, list[i].File)
	}
	return list
}
