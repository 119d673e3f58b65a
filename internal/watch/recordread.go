package watch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/trust"
)

// Limits of what is read.
const (
	maxLine     = 4 << 20  // bytes
	maxValues   = 80 << 20 // numbers of CPUs in all samples: two weeks of 64 CPUs at 1 s
	maxUnpacked = 1 << 30  // bytes of a gzipped record
	maxEmpty    = 1000     // lines
	maxSeconds  = 3600     // of one sample

	maxSum      = 102  // %: four shares, each rounded to a whole one
	maxRatio    = 1000 // %: a boost is above the highest frequency that some drivers tell
	maxPressure = 2    // share: its clock and that of the sample are read one after the other
)

// Point is a sample of a record. Values have one entry for each of Record.CPUs.
type Point struct {
	At       time.Time
	Seconds  float64
	Busy     []float32 // share
	Steal    float64   // share of all CPUs
	Ratio    []float32 // frequency of the highest; nil unknown
	Deep     []float32 // share, 1 and more where a sleep began earlier; nil unknown
	Pressure float64   // share of the time in which some task waited for a CPU
}

// Record is what a file of --save holds.
type Record struct {
	Head     Head // the first
	CPUs     []int
	Points   []Point
	Warnings []string
}

// ReadRecord reads a record, also a gzipped one. Errors name the line.
func ReadRecord(r io.Reader) (*Record, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("it is not gzip after all: %w", err)
		}
		in = bufio.NewReaderSize(trust.Reader(z, maxUnpacked), 1<<16)
	}
	empty := 0
	rec := &recordReader{Record: &Record{}, at: map[int]int{}}
	for {
		text, err := readLine(in)
		rec.line++
		cut := errors.Is(err, io.EOF)
		if err != nil && !cut && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("line %d: %w", rec.line, err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			if empty++; empty > maxEmpty {
				return nil, fmt.Errorf("line %d: more than %d empty lines: not a record", rec.line, maxEmpty)
			}
		} else {
			switch e := rec.take(text); {
			case e != nil && err != nil && len(rec.Points) > 0:
				rec.Warnings = append(rec.Warnings, fmt.Sprintf("line %d is cut off and left out: the recording was interrupted",
					rec.line))
			case e != nil:
				return nil, fmt.Errorf("line %d: %w", rec.line, e)
			}
		}
		if err != nil {
			break
		}
	}
	if rec.CPUs == nil {
		return nil, errors.New("it is empty; 'hostlab watch --save FILE' writes a record")
	}
	if len(rec.Points) == 0 {
		return nil, errors.New("it has a head but no sample; let the recording run longer")
	}
	if rec.skipped > 0 {
		rec.Warnings = append(rec.Warnings,
			fmt.Sprintf("%d samples whose time does not follow the one before were left out: was the clock set back?",
				rec.skipped))
	}
	for i := range rec.Points { // before a CPU came
		p := &rec.Points[i]
		for _, v := range []*[]float32{&p.Busy, &p.Ratio, &p.Deep} {
			for *v != nil && len(*v) < len(rec.CPUs) {
				*v = append(*v, float32(unknown))
			}
		}
	}
	return rec.Record, nil
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(out)+len(part) > maxLine {
			return nil, fmt.Errorf("it is longer than %d MiB: not a record", maxLine>>20)
		}
		out = append(out, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, err
		}
	}
}

type recordReader struct {
	*Record
	line    int
	now     Head
	at      map[int]int // index in CPUs
	skipped int
	values  int
}

func (r *recordReader) take(text []byte) error {
	var kind struct {
		Kind *string `json:"kind"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		if r.CPUs == nil {
			return errors.New("not a record of hostlab watch")
		}
		return fmt.Errorf("expected JSON: %w", err)
	}
	if kind.Kind != nil {
		return r.head(text)
	}
	if r.CPUs == nil {
		return errors.New("not a record of hostlab watch: it begins with no head")
	}
	return r.sample(text)
}

func (r *recordReader) head(text []byte) error {
	var h Head
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("expected a head: %w", err)
	}
	switch {
	case h.Kind == "hostlab-bursts":
		return errors.New(
			"this is a record of bursts, which 'hostlab predict --workload FILE' reads; expected one of 'hostlab watch --save'")
	case h.Kind != Kind:
		return fmt.Errorf("kind is %.40q; a record of hostlab watch has %q", h.Kind, Kind)
	case h.Schema != Schema:
		return fmt.Errorf("schema is %d; this version reads %d", h.Schema, Schema)
	case !(h.Interval > 0 && h.Interval <= maxSeconds):
		return fmt.Errorf("interval is %g s; it must be above 0 and at most %d s", h.Interval, maxSeconds)
	case len(h.CPUs) == 0 || len(h.CPUs) > proc.MaxCPUs:
		return fmt.Errorf("cpus has %d entries; it must be 1 to %d", len(h.CPUs), proc.MaxCPUs)
	}
	for i, c := range h.CPUs {
		if c < 0 || c >= proc.MaxCPUs || i > 0 && c <= h.CPUs[i-1] {
			return errors.New("cpus is not in ascending order")
		}
	}
	if r.CPUs == nil {
		r.Head = h
	} else if h.Host != r.Head.Host {
		return fmt.Errorf("host is %q, and the record began on %q", h.Host, r.Head.Host)
	}
	for _, c := range h.CPUs {
		if _, ok := r.at[c]; !ok {
			r.at[c] = len(r.CPUs)
			r.CPUs = append(r.CPUs, c)
		}
	}
	r.now = h
	return nil
}

func (r *recordReader) sample(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("expected a sample: %w", err)
	}
	if !(l.DT > 0 && l.DT <= 86400*366) || !(l.T > 0 && l.T < 1e11) {
		return fmt.Errorf("t %g and dt %g are no time and length", l.T, l.DT)
	}
	if r.values += len(r.CPUs); r.values > maxValues {
		return fmt.Errorf(
			"too much to analyze at once (%d samples of %d CPUs); cut it, by days for instance, and keep a head line "+
				"before each part", len(r.Points), len(r.CPUs))
	}
	n := len(r.now.CPUs)
	p := Point{At: time.UnixMilli(int64(math.Round(l.T * 1000))).UTC(), Seconds: l.DT, Pressure: unknown}
	if k := len(r.Points); k > 0 && !p.At.After(r.Points[k-1].At) {
		r.skipped++
		return nil
	}
	var parsed [4][]float64
	for i, f := range []struct{ name, text string }{{"user", l.User}, {"sys", l.Sys}, {"iow", l.IOW}, {"steal", l.Steal}} {
		var err error
		if parsed[i], err = parseRuns(f.text, n); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		for j, v := range parsed[i] {
			if v > 100 {
				return fmt.Errorf("%s: %g %% of the time of CPU %d is more than all of it", f.name, v, r.now.CPUs[j])
			}
		}
	}
	for j, c := range r.now.CPUs {
		if sum := parsed[0][j] + parsed[1][j] + parsed[2][j] + parsed[3][j]; sum > maxSum {
			return fmt.Errorf("user, sys, iow and steal of CPU %d are %g %% of its time together, more than all of it", c, sum)
		}
	}
	p.Busy = r.spread(func(i int) float64 { return min(1, (parsed[0][i]+parsed[1][i])/100) })
	p.Steal = average(parsed[3]) / 100
	for _, f := range []struct {
		name, text string
		into       *[]float32
	}{{"freq", l.Freq, &p.Ratio}, {"deep", l.Deep, &p.Deep}} {
		if f.text == "" {
			continue
		}
		v, err := parseRuns(f.text, n)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		for j, v := range v {
			if f.name == "freq" && v > maxRatio {
				return fmt.Errorf("freq: CPU %d at %g %% of its highest frequency, which none reaches", r.now.CPUs[j], v)
			}
		}
		*f.into = r.spread(func(i int) float64 { return v[i] / 100 })
	}
	if len(l.PSI) > 0 && l.PSI[0] != nil {
		if p.Pressure = *l.PSI[0] / 100; p.Pressure < 0 || p.Pressure > maxPressure {
			return fmt.Errorf("psi: tasks waited for a CPU in %g %% of the time; expected 0 to 100", *l.PSI[0])
		}
	}
	r.Points = append(r.Points, p)
	return nil
}

// spread puts values of the CPUs of this head where the whole record has them.
func (r *recordReader) spread(value func(int) float64) []float32 {
	out := make([]float32, len(r.CPUs))
	for i := range out {
		out[i] = float32(unknown)
	}
	for i, c := range r.now.CPUs {
		out[r.at[c]] = float32(value(i))
	}
	return out
}

// average is the mean of what is known, NaN of nothing.
func average[T float32 | float64](v []T) float64 {
	var m mean
	for _, x := range v {
		m.add(float64(x), 1)
	}
	return m.sum / m.n
}

// Deepest names the deep states of the CPU with the lowest number, "" without.
func (h Head) Deepest() string {
	for _, c := range h.CPUs {
		out := ""
		for _, s := range h.States[strconv.Itoa(c)] {
			if s.Latency >= DeepLatency {
				if out != "" {
					out += ", "
				}
				out += s.Name
			}
		}
		if out != "" {
			return out
		}
	}
	return ""
}
