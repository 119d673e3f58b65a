package burstlog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Writer writes a record. It refuses what Read would refuse, so that a recorder
// finds its own mistakes. It is not safe for concurrent use.
type Writer struct {
	head Head
	out  *bufio.Writer
	enc  *json.Encoder
	last map[int]*follower
}

// NewWriter writes the head, whose schema and kind it sets.
func NewWriter(w io.Writer, head Head) (*Writer, error) {
	head.Schema, head.Kind = Schema, Kind
	if err := head.validate(); err != nil {
		return nil, fmt.Errorf("record of bursts: %w", err)
	}
	out := bufio.NewWriter(w)
	r := &Writer{head: head, out: out, enc: json.NewEncoder(out), last: map[int]*follower{}}
	for _, c := range head.CPUs {
		r.last[c] = &follower{}
	}
	return r, r.enc.Encode(head)
}

// Write appends a burst. A hole before it is written as it is: a recorder that
// missed something must not hide it. Bursts reach the file at Flush, or when the
// buffer is full.
func (r *Writer) Write(b Burst) error {
	f, ok := r.last[b.CPU]
	if !ok {
		return fmt.Errorf("record of bursts: cpu %d is not among the CPUs of the head", b.CPU)
	}
	if err := b.validate(); err != nil {
		return fmt.Errorf("record of bursts: cpu %d: %w", b.CPU, err)
	}
	if _, err := f.follow(r.head, b); err != nil {
		return fmt.Errorf("record of bursts: %w", err)
	}
	return r.enc.Encode(b)
}

// Flush writes what is buffered.
func (r *Writer) Flush() error { return r.out.Flush() }
