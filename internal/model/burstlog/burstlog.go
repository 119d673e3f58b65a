// Package burstlog is the record of how long each CPU computed and idled, in turn.
// It is what a prediction for a workload that nobody has described is made from.
//
// A record is JSON lines. The first is the head, every other one a burst:
//
//	{"schema":2,"kind":"hostlab-bursts","started":"2026-11-21T09:00:00Z","cpus":[0,1],"source":"scheduler events",
//	 "length":60,"seen":0.12,"load":0.31,"service":"unit:postgresql"}
//	{"cpu":0,"at":0.0125,"busy":0.0602,"idle":0.0410,"service":0.83}
//
// Times are in seconds; at counts from the start of the record. The bursts are those that
// began in windows, each in full length; what lies between them is not known. Those of one
// CPU stand in the order of their time, those of different CPUs in any. A CPU of the head
// without a burst idled. The head says how long all took, which share of that lay in
// windows, how busy the CPUs were, and whose share of a burst service gives.
package burstlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Schema is the version of the form, and Kind what its head says.
const (
	Schema = 2
	Kind   = "hostlab-bursts"
)

// MaxLost is the share of lost bursts from which on a record is refused: they are not
// a random part of it, but those of the busiest moments.
const MaxLost = 0.01

// Head describes a record.
type Head struct {
	Schema   int       `json:"schema"`
	Kind     string    `json:"kind"`
	Started  time.Time `json:"started"`
	Interval float64   `json:"interval"` // always 0: every switch was seen
	CPUs     []int     `json:"cpus"`
	Source   string    `json:"source"` // what the bursts were read from

	Length  float64 `json:"length,omitempty"`  // s from the first window to the last
	Seen    float64 `json:"seen,omitempty"`    // share of Length that lay in windows, above 0
	Load    float64 `json:"load,omitempty"`    // busy share of all CPUs, counted
	Lost    uint64  `json:"lost,omitempty"`    // bursts for which the recorder had no room
	Service string  `json:"service,omitempty"` // whose share of bursts is given
}

// Burst is one stretch of computing of a CPU and the idle time after it.
type Burst struct {
	CPU  int     `json:"cpu"`
	At   float64 `json:"at"`   // s from the start of the record
	Busy float64 `json:"busy"` // s
	Idle float64 `json:"idle"` // s
	// Service is the share of Busy that the head's service ran, 0 to 1.
	Service float64 `json:"service,omitempty"`
}

// Limits of what a record may hold.
const (
	maxCPUs   = 65536
	maxLength = 86400 * 366 // s
)

// numbered sets schema and kind.
func (h Head) numbered() Head {
	h.Schema, h.Kind = Schema, Kind
	return h
}

func (h Head) validate() error {
	switch {
	case h.Kind != Kind:
		return fmt.Errorf("kind is %q; a record of bursts begins with a line of kind %q", h.Kind, Kind)
	case h.Schema != Schema:
		return fmt.Errorf("schema is %d; this version reads %d", h.Schema, Schema)
	case !(h.Seen > 0 && h.Seen <= 1) || !(h.Load >= 0 && h.Load <= 1):
		return fmt.Errorf("seen is %g and load %g; they are shares, 0 to 1, and seen is above 0", h.Seen, h.Load)
	case !(h.Length > 0 && h.Length <= maxLength):
		return fmt.Errorf("length is %g s; it must be above 0 and at most %d s", h.Length, maxLength)
	case len(h.CPUs) == 0:
		return errors.New("cpus is empty; it lists the CPUs that were watched")
	case len(h.CPUs) > maxCPUs:
		return fmt.Errorf("cpus has %d entries; it must be at most %d", len(h.CPUs), maxCPUs)
	}
	seen := map[int]bool{}
	for _, c := range h.CPUs {
		if c < 0 || seen[c] {
			return fmt.Errorf("cpus: %d is negative or there twice", c)
		}
		seen[c] = true
	}
	return nil
}

func (b Burst) validate() error {
	switch {
	case !(b.At >= 0 && b.At <= maxLength):
		return fmt.Errorf("at is %g s; it must be 0 to %d s", b.At, maxLength)
	case !(b.Busy > 0 && b.Busy <= maxLength):
		return fmt.Errorf("busy is %g s; it must be above 0 and at most %d s", b.Busy, maxLength)
	case !(b.Idle >= 0 && b.Idle <= maxLength):
		return fmt.Errorf("idle is %g s; it must be 0 to %d s", b.Idle, maxLength)
	case !(b.Service >= 0 && b.Service <= 1):
		return fmt.Errorf("service is %g; it is a share, 0 to 1", b.Service)
	}
	return nil
}

// follower checks that the bursts of one CPU follow each other.
type follower struct {
	end float64 // at + busy + idle of the last burst
	any bool
}

// slack is how far times may be off, s: clocks are read one after the other, and numbers are
// rounded.
const slack = 50e-6

func (f *follower) follow(b Burst) error {
	// What a CPU did before its first burst is idle time that nobody measured.
	if f.any && b.At < f.end-slack {
		return fmt.Errorf(
			"cpu %d: a burst at %s begins before the one before it, with its idle time, ends at %s: they overlap or "+
				"are out of order",
			b.CPU, seconds(b.At), seconds(f.end))
	}
	f.any, f.end = true, b.At+b.Busy+b.Idle
	return nil
}

func seconds(s float64) string {
	if a := math.Abs(s); a > 0 && a < 1 {
		return fmt.Sprintf("%.4g ms", s*1e3)
	}
	return fmt.Sprintf("%.7g s", s)
}

// Writer writes a record. It refuses what Read would refuse, so that a recorder
// finds its own mistakes. It is not safe for concurrent use.
type Writer struct {
	out  *bufio.Writer
	enc  *json.Encoder
	last map[int]*follower
}

// NewWriter writes the head, whose schema and kind it sets.
func NewWriter(w io.Writer, head Head) (*Writer, error) {
	head = head.numbered()
	if err := head.validate(); err != nil {
		return nil, fmt.Errorf("record of bursts: %w", err)
	}
	out := bufio.NewWriter(w)
	r := &Writer{out: out, enc: json.NewEncoder(out), last: map[int]*follower{}}
	for _, c := range head.CPUs {
		r.last[c] = &follower{}
	}
	return r, r.enc.Encode(head)
}

// Write appends a burst. It reaches the file at Flush, or when the buffer is full.
func (r *Writer) Write(b Burst) error {
	f, ok := r.last[b.CPU]
	if !ok {
		return fmt.Errorf("record of bursts: cpu %d is not among the CPUs of the head", b.CPU)
	}
	if err := b.validate(); err != nil {
		return fmt.Errorf("record of bursts: cpu %d: %w", b.CPU, err)
	}
	if err := f.follow(b); err != nil {
		return fmt.Errorf("record of bursts: %w", err)
	}
	return r.enc.Encode(b)
}

// Flush writes what is buffered.
func (r *Writer) Flush() error { return r.out.Flush() }
