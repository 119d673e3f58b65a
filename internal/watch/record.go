package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/lockfile"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/trust"
)

// A record is JSON lines. The first is a head, and so is the first of each time that
// recording went on; every other line is a sample:
//
//	{"kind":"hostlab-watch","schema":1,"host":"db1","started":"2026-11-21T22:00:00Z","interval":1,"cpus":[0,1], ...}
//	{"t":1790000000.1,"dt":1,"user":"0 12","sys":"0*2","iow":"0*2","steal":"0*2","freq":"100*2","deep":"98 0","psi":[0.1,0,0]}
//
// Lines are written one at a time and whole, so that a line that is cut off, by a crash
// or a full disk, is the last of its recording and is left out.

// Schema is the version of the form, and Kind what a head says.
const (
	Schema = 1
	Kind   = "hostlab-watch"
)

// Head begins a recording.
type Head struct {
	Kind     string    `json:"kind"`
	Schema   int       `json:"schema"`
	Host     string    `json:"host"`
	Started  time.Time `json:"started"`
	Interval float64   `json:"interval"`          // s between samples
	CPUs     []int     `json:"cpus"`              // that were online
	Highest  string    `json:"highest,omitempty"` // Hz of each CPU
	// by the CPU that has them first; those after it have the same
	States    map[string][]IdleState `json:"states,omitempty"`
	Effective string                 `json:"effective,omitempty"`  // what "eff" is read from
	Disks     []string               `json:"log_disks,omitempty"`  // under the log directory
	Unknown   []Unknown              `json:"unknown,omitempty"`    // what is not in the record, and why
	DeepAbove float64                `json:"deep_above,omitempty"` // s of exit latency from which "deep" counts
}

// line is a sample as it is written. Shares are in %.
type line struct {
	T      float64      `json:"t"`  // s since 1970, the sample's end
	DT     float64      `json:"dt"` // s, its length
	User   string       `json:"user"`
	Sys    string       `json:"sys"`
	IOW    string       `json:"iow"`
	Steal  string       `json:"steal"`
	Freq   string       `json:"freq,omitempty"` // % of the highest
	Eff    string       `json:"eff,omitempty"`  // MHz while busy
	Deep   string       `json:"deep,omitempty"` // % in deep sleep; above 100 where a sleep began before the sample
	PSI    []*float64   `json:"psi,omitempty"`  // % of the time in which some task waited for CPU, I/O, memory
	Log    [][]*float64 `json:"log,omitempty"`  // of each disk: writes, us of each, flushes, us of each
	Commit []float64    `json:"commit,omitempty"`
	Queue  *float64     `json:"queue,omitempty"`    // threads that waited for a CPU at the end; Windows only
	Switch *float64     `json:"switches,omitempty"` // context switches a second; Windows only
}

// NewHead describes a recording that begins with a reading.
func NewHead(info Info, first Reading, interval time.Duration) Head {
	h := Head{Kind: Kind, Schema: Schema, Host: info.Hostname, Started: first.At.UTC().Truncate(time.Second),
		Interval:  interval.Seconds(),
		Effective: info.Effective, Disks: info.Disks, Unknown: info.Unknown}
	for _, c := range first.CPUs {
		h.CPUs = append(h.CPUs, c.ID)
	}
	if len(info.Highest) > 0 {
		h.Highest = string(appendRuns(nil, len(h.CPUs), func(i int) float64 {
			if hz := info.Highest[h.CPUs[i]]; hz > 0 {
				return hz
			}
			return unknown
		}, 0))
	}
	if len(info.States) > 0 {
		h.States, h.DeepAbove = map[string][]IdleState{}, DeepLatency
		var last []IdleState
		for i, c := range h.CPUs {
			if s := info.States[c]; i == 0 || !slices.Equal(s, last) {
				h.States[strconv.Itoa(c)], last = s, s
			}
		}
	}
	return h
}

// AppendLine writes a sample for the CPUs of a head, with a line end. CPUs that are
// offline are unknown in it.
func AppendLine(b []byte, h Head, s Sample) ([]byte, error) {
	cpus := make([]CPU, len(h.CPUs))
	j := 0
	for i, id := range h.CPUs {
		for j < len(s.CPUs) && s.CPUs[j].ID < id {
			j++
		}
		if j < len(s.CPUs) && s.CPUs[j].ID == id {
			cpus[i] = s.CPUs[j]
			continue
		}
		cpus[i] = CPU{ID: id, User: unknown, System: unknown, IOWait: unknown, Steal: unknown, Idle: unknown,
			Frequency: unknown, Ratio: unknown, Effective: unknown, Deep: unknown}
	}
	// One digit behind the point tells no more than 10 s do of ticks of 10 ms; of 1 s none.
	digits := 0
	if s.Seconds > 3 {
		digits = 1
	}
	all := func(digits int, of func(CPU) float64) string {
		return string(appendRuns(nil, len(cpus), func(i int) float64 { return of(cpus[i]) }, digits))
	}
	l := line{T: math.Round(float64(s.At.UnixMilli())/10) / 100, DT: math.Round(s.Seconds*1000) / 1000,
		User:  all(digits, func(c CPU) float64 { return 100 * c.User }),
		Sys:   all(digits, func(c CPU) float64 { return 100 * c.System }),
		IOW:   all(digits, func(c CPU) float64 { return 100 * c.IOWait }),
		Steal: all(digits, func(c CPU) float64 { return 100 * c.Steal })}
	if h.Highest != "" {
		l.Freq = all(0, func(c CPU) float64 { return 100 * c.Ratio })
	}
	if h.Effective != "" {
		l.Eff = all(0, func(c CPU) float64 { return c.Effective / 1e6 })
	}
	if len(h.States) > 0 {
		l.Deep = all(0, func(c CPU) float64 { return 100 * c.Deep })
	}
	for i, p := range s.Pressure {
		if known(p.Some) {
			if l.PSI == nil {
				l.PSI = make([]*float64, len(s.Pressure))
			}
			l.PSI[i] = rounded(100*p.Some, 10)
		}
	}
	for _, d := range s.Disks {
		l.Log = append(l.Log, []*float64{rounded(d.Writes, 1), rounded(1e6*d.PerWrite, 1), rounded(d.Flushes, 1),
			rounded(1e6*d.PerFlush, 1)})
	}
	if len(s.Commits) > 0 {
		l.Commit = []float64{float64(len(s.Commits)), math.Round(1e6 * stats.Median(s.Commits)),
			math.Round(1e6 * slices.Max(s.Commits))}
	}
	if s.System != nil {
		l.Queue, l.Switch = rounded(s.System.Queue, 1), rounded(s.System.Switches, 1)
	}
	text, err := result.RecordJSON(l)
	if err != nil {
		return b, fmt.Errorf("a sample cannot be written: %w", err)
	}
	return append(append(b, text...), '\n'), nil
}

// rounded rounds to 1/parts; nil for what is unknown.
func rounded(v float64, parts float64) *float64 {
	if !known(v) || math.IsInf(v, 0) {
		return nil
	}
	return new(math.Round(v*parts) / parts)
}

// HeadLine writes a head, with a line end.
func HeadLine(h Head) []byte {
	text, _ := result.RecordJSON(h) // of texts and finite numbers: it cannot fail
	return append(text, '\n')
}

// A record writes one number for each CPU as text with spaces between, where equal
// neighbours are joined: "0*62 3 17.5" is 62 idle CPUs and two others. An unknown
// number is "-". A quiet night of 512 CPUs takes no more room than one of 8.

// appendRuns writes numbers with so many digits behind the point, without zeros.
func appendRuns(b []byte, n int, value func(int) float64, digits int) []byte {
	scale := math.Pow10(digits)
	round := func(i int) float64 { return math.Round(value(i)*scale) / scale }
	for i := 0; i < n; {
		v := round(i)
		j := i + 1
		for j < n && (round(j) == v || math.IsNaN(v) && math.IsNaN(value(j))) {
			j++
		}
		if i > 0 {
			b = append(b, ' ')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, '-')
		} else {
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		}
		if j-i > 1 {
			b = append(b, '*')
			b = strconv.AppendInt(b, int64(j-i), 10)
		}
		i = j
	}
	return b
}

func parseRuns(s string, n int) ([]float64, error) {
	out := make([]float64, 0, n)
	for word := range strings.FieldsSeq(s) {
		text, times, many := strings.Cut(word, "*")
		v, err := unknown, error(nil)
		if text != "-" {
			v, err = strconv.ParseFloat(text, 64)
		}
		count := 1
		if err == nil && many {
			count, err = strconv.Atoi(times)
		}
		if err != nil || count < 1 || v < 0 || math.IsInf(v, 0) || text != "-" && math.IsNaN(v) {
			return nil, fmt.Errorf("expected numbers as 0*62 3 17.5, found %.40q", word)
		}
		if count > n-len(out) {
			return nil, fmt.Errorf("more than %d numbers", n)
		}
		for range count {
			out = append(out, v)
		}
	}
	if len(out) != n {
		return nil, errors.New("fewer numbers than CPUs")
	}
	return out, nil
}

// Recorder appends samples to a file.
type Recorder struct {
	file     *os.File
	interval time.Duration
	info     func() Info
	head     Head
	buf      []byte
	wrote    int64
	ours     bool // nobody else records to it, so that it may be removed
}

// NotRecord is a file that is there already and is no record, or one of another host.
type NotRecord struct {
	File, Why string
}

func (e *NotRecord) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Why) }

// OpenRecorder opens a file to append to. What is there must be a record of the same
// host; a last line that was cut off is removed. Another process that records to it
// is a *NotRecord too, and so is what is no regular file, or one that has a second name: that
// may be anywhere. An empty file that Close finds so is removed.
func OpenRecorder(name string, hostname string, interval time.Duration, info func() Info) (*Recorder, error) {
	dir, err := trust.Held(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := trust.OpenFile(dir, filepath.Base(name), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return nil, &NotRecord{name, refused.Why + "; name a file that can be appended to"}
	}
	if err != nil {
		return nil, err
	}
	r := &Recorder{file: f, interval: interval, info: info}
	if err := r.begin(name, hostname); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) begin(name, hostname string) error {
	stat, err := r.file.Stat()
	if err != nil {
		return err
	}
	if ok, err := lockfile.Try(r.file, true); err != nil {
		return err
	} else if !ok {
		return &NotRecord{name, "another hostlab records to it; name another file, or end that one"}
	}
	if stat.Size() == 0 {
		r.ours = true
		return nil
	}
	first := make([]byte, min(stat.Size(), 1<<20))
	if _, err := r.file.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, whole := bytes.Cut(first, []byte{'\n'})
	var h Head
	switch {
	case json.Unmarshal(line, &h) != nil || h.Kind != Kind || !whole:
		return &NotRecord{name, "holds something else than a record of hostlab watch; name another file"}
	case h.Schema != Schema:
		return &NotRecord{name, fmt.Sprintf("is a record of schema %d, and this version writes %d; name another file",
			h.Schema,
			Schema)}
	case h.Host != hostname:
		return &NotRecord{name, fmt.Sprintf("is a record of host %q, and this is %q; name another file", h.Host, hostname)}
	}
	return r.mend(stat.Size())
}

// mend removes a last line without an end.
func (r *Recorder) mend(size int64) error {
	const most = 1 << 20
	tail := make([]byte, min(size, most))
	if _, err := r.file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if cut := len(tail) - 1 - bytes.LastIndexByte(tail, '\n'); cut > 0 {
		return r.file.Truncate(size - int64(cut))
	}
	return nil
}

// Write appends a sample. Where CPUs have come or the machine has learnt of something
// else that is unknown, a head goes before it.
func (r *Recorder) Write(now Reading, s Sample) error {
	r.buf = r.buf[:0]
	h := NewHead(r.info(), now, r.interval)
	if !r.covers(h) {
		h.Started = s.At.Add(-time.Duration(s.Seconds * float64(time.Second))).UTC().Truncate(time.Second)
		r.head, r.buf = h, append(r.buf, HeadLine(h)...)
	}
	var err error
	if r.buf, err = AppendLine(r.buf, r.head, s); err != nil {
		return err
	}
	n, err := r.file.Write(r.buf)
	r.wrote += int64(n)
	return err
}

func (r *Recorder) covers(h Head) bool {
	if r.head.CPUs == nil || len(h.Unknown) != len(r.head.Unknown) {
		return false
	}
	for _, c := range h.CPUs {
		if _, ok := slices.BinarySearch(r.head.CPUs, c); !ok {
			return false
		}
	}
	return true
}

// Written is how many bytes were appended so far.
func (r *Recorder) Written() int64 { return r.wrote }

// Close ends the recording. A file without a sample, made for this, is removed.
func (r *Recorder) Close() error {
	var err error
	if stat, e := r.file.Stat(); e == nil && r.ours && stat.Size() == 0 {
		err = os.Remove(r.file.Name())
	}
	return errors.Join(err, r.file.Close())
}

// DaySize is about how large a day's record of so many CPUs becomes, in bytes: as a
// quiet machine and a busy one fill it.
func DaySize(cpus int, interval time.Duration) (quiet, busy float64) {
	lines := (24 * time.Hour).Seconds() / interval.Seconds()
	return lines * (140 + 0.5*float64(cpus)), lines * (160 + 11*float64(cpus))
}
