// Package lazyre has regular expressions that are compiled when they are first used. A command uses few of those that
// the program holds, and compiling all of them took a third of the time until its first line.
package lazyre

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression, as package regexp reads it.
type Regexp struct {
	get func() *regexp.Regexp
}

// New takes an expression that is known to be right: an error in it panics at its first use.
func New(expr string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// The methods of regexp.Regexp.

func (r *Regexp) MatchString(s string) bool                  { return r.get().MatchString(s) }
func (r *Regexp) FindString(s string) string                 { return r.get().FindString(s) }
func (r *Regexp) FindStringSubmatch(s string) []string       { return r.get().FindStringSubmatch(s) }
func (r *Regexp) FindStringSubmatchIndex(s string) []int     { return r.get().FindStringSubmatchIndex(s) }
func (r *Regexp) FindAllString(s string, n int) []string     { return r.get().FindAllString(s, n) }
func (r *Regexp) ReplaceAllString(s, repl string) string     { return r.get().ReplaceAllString(s, repl) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte             { return r.get().FindSubmatch(b) }
func (r *Regexp) FindAll(b []byte, n int) [][]byte           { return r.get().FindAll(b, n) }
func (r *Regexp) FindIndex(b []byte) []int                   { return r.get().FindIndex(b) }
func (r *Regexp) String() string                             { return r.get().String() }
func (r *Regexp) FindStringIndex(s string) []int             { return r.get().FindStringIndex(s) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }
func (r *Regexp) ReplaceAllStringFunc(s string, repl func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, repl)
}
