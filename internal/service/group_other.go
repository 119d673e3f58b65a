//go:build !linux

package service

import "errors"

// group is a control group, which only Linux has.
type group struct{ path string }

func groupAt(string) (*group, error) { return nil, errors.New("only Linux has control groups") }
func groupOf(int) *group             { return nil }
func (g *group) controlled() string  { return "" }
func (g *group) first() int          { return 0 }
func (g *group) limited() *group     { return nil }
func (g *group) processes() []int    { return nil }
func (g *group) limit() *Quota       { return nil }
func (g *group) bounded() *group     { return nil }
func boundedOf(int) *group           { return nil }
func (g *group) ceiling() *Ceiling   { return nil }
