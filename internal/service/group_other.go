//go:build !linux

package service

import (
	"errors"
	"os"
)

// group is a control group, which only Linux has.
type group struct{ path string }

func groupAt(string) (*group, error)        { return nil, errors.New("only Linux has control groups") }
func pathsOf(int) []string                  { return nil }
func groupOf(int) *group                    { return nil }
func (g *group) controlled() string         { return "" }
func (g *group) file(_, _, _ string) string { return "" }
func (g *group) first() int                 { return 0 }
func (g *group) limited() *group            { return nil }
func (g *group) processes() []int           { return nil }
func (g *group) used() (float64, bool)      { return 0, false }
func (g *group) throttled() (float64, bool) { return 0, false }
func (g *group) id() os.FileInfo            { return nil }
func (g *group) same(os.FileInfo) bool      { return true }
