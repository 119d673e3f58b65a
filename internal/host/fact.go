// Package host reads what a machine is: topology, frequency control, idle
// states, memory and kernel settings, storage, virtualization and limits.
//
// It only reads. Every value carries its unit, the path it came from and a
// state, because "the file is not there", "I may not read it" and "0" are three
// different answers, and a verdict built on a confusion of them is wrong.
package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"

	"hostlab/internal/trust"
)

// State says how much is known about a fact.
type State string

// The states of a fact. Only StateOK has a value.
const (
	StateOK     State = "ok"     // read and understood
	StateAbsent State = "absent" // this machine or kernel has no such thing
	StateDenied State = "denied" // it is there, but this user may not read it
	StateError  State = "error"  // it is there, but could not be read or parsed
	// all around it is hidden, as an empty file system over /sys hides settings that every kernel has
	StateMasked State = "masked"
)

// Fact is one value read from the host. Value is meaningful only while State is
// StateOK; use Get. Units are base units: s, Hz, B, or empty for text and counts.
type Fact[T any] struct {
	Value  T
	Unit   string
	Source string // path, or the call that gave it
	State  State  // the zero value, "", means nobody has looked: treated as absent
	Reason string // why State is not ok, in plain words
}

// Known makes a fact that was read.
func Known[T any](v T, unit, source string) Fact[T] {
	return Fact[T]{Value: v, Unit: unit, Source: source, State: StateOK}
}

// Unknown makes a fact in the state that err stands for: absent for
// fs.ErrNotExist, denied for fs.ErrPermission, error for most others (StateOf).
func Unknown[T any](source string, err error) Fact[T] {
	return Fact[T]{Source: source, State: StateOf(err), Reason: reason(err)}
}

// unknown makes all facts of a struct unknown, for one reason.
func unknown(into any, source string, err error) {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Type().Implements(reflect.TypeFor[AnyFact]()) {
			f.FieldByName("Source").SetString(source)
			f.FieldByName("State").SetString(string(StateOf(err)))
			f.FieldByName("Reason").SetString(reason(err))
		}
	}
}

// Get returns the value and whether it is known.
func (f Fact[T]) Get() (T, bool) { return f.Value, f.State == StateOK }

// Or returns the value, or other when it is not known.
func (f Fact[T]) Or(other T) T {
	if f.State == StateOK {
		return f.Value
	}
	return other
}

// Convert turns a fact of one type into another, keeping source and state. A
// conversion error decides the state as for Unknown, with the error as its reason.
func Convert[A, B any](f Fact[A], unit string, conv func(A) (B, error)) Fact[B] {
	out := unlike[B](f)
	if f.State != StateOK {
		return out
	}
	v, err := conv(f.Value)
	if err != nil {
		out.State, out.Reason = StateOf(err), err.Error()
		return out
	}
	out.Value, out.Unit = v, unit
	return out
}

// unlike is an unknown fact of another type, for the same reason.
func unlike[B, A any](f Fact[A]) Fact[B] {
	return Fact[B]{Source: f.Source, State: f.State, Reason: f.Reason}
}

// absentFact is a fact of something that this machine does not have.
func absentFact[T any](source, why string) Fact[T] {
	return Fact[T]{Source: source, State: StateAbsent, Reason: why}
}

// firstKnown returns the first known fact. If none is known, it returns the
// first that is more than absent, since "denied" says more than "not there".
func firstKnown[T any](facts ...Fact[T]) Fact[T] {
	var best Fact[T]
	for i, f := range facts {
		if f.State == StateOK {
			return f
		}
		if i == 0 || (best.State == StateAbsent && f.State != StateAbsent) {
			best = f
		}
	}
	return best
}

// StateOf maps an error of the os package to a state. A device or process that
// goes away between two reads (ENODEV, ENXIO, ESRCH) is absent, and so is what
// the driver answers EOPNOTSUPP for.
func StateOf(err error) State {
	switch {
	case err == nil:
		return StateOK
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EOPNOTSUPP),
		errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ESRCH):
		return StateAbsent
	case errors.Is(err, fs.ErrPermission):
		return StateDenied
	case errors.As(err, new(masked)):
		return StateMasked
	default:
		return StateError
	}
}

// reason drops the path from an os error, since Fact.Source already names it.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return trust.Bare(err).Error()
}

// MarshalJSON writes null for a value that is not known.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	out := struct {
		Value  any    `json:"value"`
		Unit   string `json:"unit,omitempty"`
		Source string `json:"source"`
		State  State  `json:"state"`
		Reason string `json:"reason,omitempty"`
	}{nil, f.Unit, f.Source, cmp.Or(f.State, StateAbsent), f.Reason}
	if f.State == StateOK {
		out.Value = f.Value
		if rv := reflect.ValueOf(f.Value); rv.Kind() == reflect.Slice && rv.IsNil() {
			out.Value = []int{} // an empty list that was read is not an unknown one
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Fact[T]) UnmarshalJSON(b []byte) error {
	var in struct {
		Value  *T     `json:"value"`
		Unit   string `json:"unit"`
		Source string `json:"source"`
		State  State  `json:"state"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*f = Fact[T]{Unit: in.Unit, Source: in.Source, State: in.State, Reason: in.Reason}
	switch {
	case !slices.Contains([]State{StateOK, StateAbsent, StateDenied, StateError, StateMasked}, in.State):
		return fmt.Errorf("a fact has the state %q", in.State)
	case in.State == StateOK && in.Value == nil:
		return fmt.Errorf("a fact of %s is known and has no value", in.Source)
	case in.State == StateOK:
		f.Value = *in.Value
	}
	return nil
}

// AnyFact is a Fact without its type, for code that walks all facts.
type AnyFact interface {
	Any() (value any, unit, source string, state State, reason string)
}

func (f Fact[T]) Any() (any, string, string, State, string) {
	return f.Value, f.Unit, f.Source, cmp.Or(f.State, StateAbsent), f.Reason
}

// SetUp has each path of the facts' JSON, as memory.swappiness, and whether it says how a machine is set up: see Facts.
var SetUp = sync.OnceValue(func() map[string]bool {
	paths := map[string]bool{}
	setUp(reflect.TypeFor[Facts](), "", paths)
	return paths
})

func setUp(t reflect.Type, path string, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[AnyFact]()) {
		return
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		name = strings.TrimPrefix(path+"."+name, ".")
		into[name] = t.Field(i).Tag.Get("setup") != "no"
		setUp(t.Field(i).Type, name, into)
	}
}
