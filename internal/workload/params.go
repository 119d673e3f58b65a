package workload

import (
	"time"

	"hostlab/internal/lazyre"
)

// Kind is the type of a parameter's value.
type Kind string

// The kinds, with the Go type that Values holds and how study files and the
// command line write them. Keys of study files are of these kinds too.
const (
	String   Kind = "string"   // string
	Int      Kind = "int"      // int64
	Ints     Kind = "integers" // []int64
	Float    Kind = "float"    // float64
	Share    Kind = "share"    // float64 from 0 to 1: "3%" or 0.03
	Bool     Kind = "bool"     // bool
	Duration Kind = "duration" // time.Duration: "150ms"
	Bytes    Kind = "bytes"    // int64: "64MiB", "4KiB", or a plain number
	List     Kind = "list"     // []string: an argument list
	Table    Kind = "table"    // map[string]string
)

// Param is one parameter of a workload.
type Param struct {
	Name     string
	Kind     Kind
	Default  any    // of the Go type of Kind; nil with Required
	Required bool   // has no default
	Help     string // one line
	Unit     string // shown behind the default of plain numbers
	Choices  []string
	Form     *lazyre.Regexp // that a string, and each element of a list, must match; nil: any
	Wants    string         // Form in words, as in "a name begins with a letter"
	Numbers  bool           // of a string: TOML's numbers and booleans are taken too, as text
	Over     string         // a parameter that has no effect beside any value of this one but the default
	Min, Max float64        // range of numbers, seconds and bytes; both 0: any
}

// Words are values of a type of texts, as Choices have them.
func Words[T ~string](list ...T) (words []string) {
	for _, w := range list {
		words = append(words, string(w))
	}
	return words
}

// Values are checked parameters by name, of the Go types of their kinds.
type Values map[string]any

// Each getter panics for a name that the workload's description does not have, or
// has with another kind: a mistake in the program, which the contract suite finds.

// String returns a string parameter.
func (v Values) String(name string) string { return v[name].(string) }

// Int returns an int or bytes parameter.
func (v Values) Int(name string) int64 { return v[name].(int64) }

// Float returns a float parameter.
func (v Values) Float(name string) float64 { return v[name].(float64) }

// Bool returns a bool parameter.
func (v Values) Bool(name string) bool { return v[name].(bool) }

// Duration returns a duration parameter.
func (v Values) Duration(name string) time.Duration { return v[name].(time.Duration) }

// List returns a list parameter.
func (v Values) List(name string) []string { return v[name].([]string) }

// Table returns a table parameter.
func (v Values) Table(name string) map[string]string { return v[name].(map[string]string) }
