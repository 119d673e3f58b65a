package burstlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// maxBursts bounds what is kept in memory: 32 bytes each.
const maxBursts = 8_000_000

// Record is a record that was read: the lengths of all CPUs together.
type Record struct {
	Head
	Busy   []float64 // s, in the order of the lines
	Active int       // CPUs with at least one burst
	Span   float64   // s from the start to the latest end

	served float64 // s of Busy that the service ran
	drawn
}

// ErrNotRecord is the error of data whose first line is no head of a record, which
// may be a file of another kind.
var ErrNotRecord = errors.New("not a record of bursts")

// track is what is known of a CPU while reading.
type track struct {
	follower
	began  float64
	bursts []Burst
}

// New is a record of bursts that are at hand; those of a CPU follow each other.
func New(head Head, bursts []Burst) (*Record, error) {
	r := &Record{Head: head.numbered()}
	cpus, err := r.begin()
	if err != nil {
		return nil, fmt.Errorf("record of bursts: %w", err)
	}
	for _, b := range bursts {
		if err := r.add(b, cpus); err != nil {
			return nil, fmt.Errorf("record of bursts: %w", err)
		}
	}
	return r, r.finish(cpus)
}

// Read reads a record and checks all of it. Errors say the line, the CPU and the
// time.
func Read(in io.Reader) (*Record, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return nil, tooLong(err, 1)
		}
		return nil, fmt.Errorf("%w: it is empty", ErrNotRecord)
	}
	r := &Record{}
	if err := strictly(lines.Bytes(), &r.Head); err != nil {
		return nil, fmt.Errorf("line 1: %w: %w", ErrNotRecord, err)
	}
	cpus, err := r.begin()
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	n := 1
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		b, err := parse(lines.Bytes())
		if err == nil {
			err = r.add(b, cpus)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, tooLong(err, n+1)
	}
	return r, r.finish(cpus)
}

func (r *Record) begin() (map[int]*track, error) {
	cpus := map[int]*track{}
	for _, c := range r.CPUs {
		cpus[c] = &track{}
	}
	return cpus, r.validate()
}

func parse(line []byte) (Burst, error) {
	// Pointers tell a key that is missing from one that is 0.
	var b struct {
		CPU  *int     `json:"cpu"`
		At   *float64 `json:"at"`
		Busy *float64 `json:"busy"`
		Idle *float64 `json:"idle"`

		Service float64 `json:"service"`
	}
	if err := strictly(line, &b); err != nil {
		return Burst{}, err
	}
	if b.CPU == nil || b.At == nil || b.Busy == nil || b.Idle == nil {
		return Burst{}, errors.New("a burst has the keys cpu, at, busy and idle")
	}
	return Burst{*b.CPU, *b.At, *b.Busy, *b.Idle, b.Service}, nil
}

func (r *Record) add(burst Burst, cpus map[int]*track) error {
	t, ok := cpus[burst.CPU]
	if !ok {
		return fmt.Errorf("cpu %d is not among the CPUs of the head", burst.CPU)
	}
	if err := burst.validate(); err != nil {
		return fmt.Errorf("cpu %d: %w", burst.CPU, err)
	}
	if !t.any {
		t.began = burst.At
	}
	if err := t.follow(burst); err != nil {
		return err
	}
	if len(r.Busy) == maxBursts {
		return fmt.Errorf("more than %d bursts; cut the record", maxBursts)
	}
	r.Busy = append(r.Busy, burst.Busy)
	t.bursts = append(t.bursts, burst)
	r.served += burst.Busy * burst.Service
	r.Span = max(r.Span, t.end)
	return nil
}

// finish judges what was lost.
func (r *Record) finish(cpus map[int]*track) error {
	if len(r.Busy) == 0 {
		return errors.New("the record holds no burst, only its head")
	}
	if n := float64(r.Lost); n/(n+float64(len(r.Busy))) > MaxLost {
		return fmt.Errorf(
			"%d bursts were lost, %.2g %% of all, and at most %g %% may be: they are those of the busiest moments; "+
				"record again",
			r.Lost, n/(n+float64(len(r.Busy)))*100, MaxLost*100)
	}
	r.Span = max(r.Span, r.Length)
	for _, t := range cpus {
		if t.any {
			r.Active++
		}
	}
	r.draw(cpus)
	return nil
}

// inWords says an error of encoding/json without the words of Go.
func inWords(err error) string {
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
		moment *time.ParseError
	)
	switch {
	case errors.As(err, &typed):
		takes := map[reflect.Kind]string{reflect.Int: "a whole number", reflect.Float64: "a number",
			reflect.String: "a text in quotes",
			reflect.Slice:  "a list of whole numbers", reflect.Struct: "keys in braces"}[typed.Type.Kind()]
		if typed.Field == "" {
			return fmt.Sprintf("the line has %s where it takes %s", jsonWord(typed.Value), takes)
		}
		return fmt.Sprintf("%s takes %s, not %s", typed.Field, takes, jsonWord(typed.Value))
	case errors.As(err, &moment):
		return fmt.Sprintf("started takes a time as 2026-11-21T09:00:00Z, not %s", moment.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s (at byte %d)", syntax, syntax.Offset)
	}
	if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "unknown key " + key
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// jsonWord names a kind of JSON value; a number that does not fit comes with itself.
func jsonWord(value string) string {
	if w, ok := map[string]string{"string": "a text", "bool": "true or false", "array": "a list",
		"object": "keys in braces",
		"number": "a number"}[value]; ok {
		return w
	}
	return strings.TrimPrefix(value, "number ")
}

func tooLong(err error, line int) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: %w: it is longer than 8 MiB", line, ErrNotRecord)
	}
	return err
}

// strictly decodes one line, refusing unknown keys and anything after the value.
func strictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the line is cut off")
		}
		return fmt.Errorf("expected JSON: %s", inWords(err))
	}
	if d.More() {
		return errors.New("more than one JSON value on the line")
	}
	return nil
}
