//go:build !linux

package service

import (
	"errors"

	"hostlab/internal/host"
)

// group is a control group, which only Linux has.
type group struct{ path string }

func groupAt(string) (*group, error) { return nil, errors.New("only Linux has control groups") }
func (g *group) controlled() string  { return "" }
func (g *group) first() int          { return 0 }
func (g *group) processes() []int    { return nil }
func (g *group) limit() *Quota       { return nil }
func limiting(int, string) []*group  { return nil }
func (g *group) around() []*group    { return nil }

func (g *group) throttled() (float64, bool) { return 0, false }

func (g *group) ceilings() []*Ceiling { return nil }

var errLinux = errors.New("only Linux has control groups, by which hostlab finds containers")

func pod(string, []host.Database) (*Service, error)       { return nil, errLinux }
func container(string, []host.Database) (*Service, error) { return nil, errLinux }

func Pods() []string { return nil }

func (s *Service) CPUSets(int) []string { return nil }

func (s *Service) Throttles() []Throttle { return nil }
