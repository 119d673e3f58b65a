package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// LogDevice is what the section "log" shows: what a job gained on each log device, what it waited
// for, and whether the gain stayed below what the baseline's wait for its log allows.
type LogDevice struct {
	Name   string         `json:"name"`
	Alpha  float64        `json:"alpha"`  // of each interval
	Factor *result.Factor `json:"factor"` // whose levels are devices; nil: the record has none
	Rows   []LogRow       `json:"rows"`

	Experiment *result.Experiment `json:"-"`
	Duration   *result.Response   `json:"-"` // nil: none was recorded, and there is nothing to show
	Write      *result.Response   `json:"-"` // average log write; nil: not recorded
	Share      *result.Response   `json:"-"` // of the time that waits for the log; nil: no bound
	Parts      []result.Response  `json:"-"` // of the duration
}

// LogRow is a combination of the other factors' levels, such as a size.
type LogRow struct {
	Name  string    `json:"at"`
	Cells []LogCell `json:"cells"` // by level of the factor
	Pairs []LogPair `json:"pairs"` // from the baseline, and from the slowest log where that is another
}

// LogPair is a log that was moved from one device to another.
type LogPair struct {
	From    string          `json:"from"`
	To      string          `json:"to"`
	Gain    result.Estimate `json:"gain"`    // share of the duration on From
	Bound   result.Estimate `json:"at_most"` // share of that which waits for the log
	Exceeds bool            `json:"exceeds"` // beyond the bound by more than both intervals leave open
}

// LogCell is one device at one size. What is unknown is NaN.
type LogCell struct {
	Level    string `json:"level"`
	Emulated bool   `json:"emulated"`
	// s, of N blocks, without an interval, as all but the change of writes
	Mean  result.Estimate            `json:"duration"`
	Write result.Estimate            `json:"log_write"` // s
	Share result.Estimate            `json:"log_share"` // of the duration
	Parts map[string]result.Estimate `json:"parts"`     // by the response's name, s
	// of the duration that is in none of them, s; below 0: they overlap by so much
	Rest   result.Estimate `json:"rest"`
	Writes result.Estimate `json:"log_write_change"`
	Waits  *LogWaits       `json:"waits"` // the server's events; nil: not sampled
}

// LogWaits are the server's wait events with one device at one size: of the runs in
// which the job's session was sampled.
type LogWaits struct {
	Runs   int     `json:"runs"`
	Looks  int     `json:"looks"`
	Mean   float64 `json:"duration"` // of those runs, s
	Seen   float64 `json:"-"`        // of a run, s: what the looks stand for
	Events []Event `json:"events"`   // most time first
}

// Event is one in the server's words, and the part of the time that it belongs to.
type Event struct {
	Name    string  `json:"name"`
	Part    string  `json:"part"`
	Seconds float64 `json:"seconds"` // of a run
	Share   float64 `json:"share"`   // of the duration
}

// Responses by what they are called in the workloads that have them.
var (
	logDurations = []string{"duration", "elapsed", "wall"}
	logWrites    = []string{"log_write", "log_write_avg"}
	logShares    = []string{InCommits, "log_share"} // the first bounds most
	logParts     = []string{"application", "app_time", "database_cpu", "db_cpu", "log_wait", "commit_wait"}
)

// InCommits is the share of the time in commits, of which the wait for the log is the
// larger part, and in waits for it within other statements.
const InCommits = "log_gain_bound"

// NewLogDevice reads the runs that count. A record without a factor or a duration has no
// rows.
func NewLogDevice(x *result.Experiment, runs []result.Run) *LogDevice {
	s := &LogDevice{Name: "log", Alpha: NominalAlpha, Rows: []LogRow{}, Experiment: x, Factor: x.Factor("log")}
	if n := len(x.Factors); s.Factor == nil && n > 0 {
		s.Factor = &x.Factors[n-1]
	}
	s.Duration, s.Write, s.Share = s.response(logDurations...), s.response(logWrites...), s.response(logShares...)
	for _, r := range x.Responses {
		if strings.HasPrefix(r.Name, "part_") && r.Unit == "s" {
			s.Parts = append(s.Parts, r)
		}
	}
	if s.Parts == nil { // where none add up
		for _, name := range logParts {
			if r := s.response(name); r != nil && r.Unit == "s" {
				s.Parts = append(s.Parts, *r)
			}
		}
	}
	if s.Factor != nil && s.Duration != nil {
		s.fill(runs)
	}
	return s
}

func (s *LogDevice) response(names ...string) *result.Response {
	for _, name := range names {
		for i := range s.Experiment.Responses {
			if s.Experiment.Responses[i].Name == name {
				return &s.Experiment.Responses[i]
			}
		}
	}
	return nil
}

// fill makes a row for each combination of the other factors.
func (s *LogDevice) fill(runs []result.Run) {
	x := s.Experiment
	means := func(r *result.Response, compare result.Comparison) []map[int]float64 {
		if r == nil {
			return make([]map[int]float64, len(x.Cells))
		}
		other := *r
		other.Compare = compare
		return BlockMeans(x, runs, &other)
	}
	// Gains are of logarithms; what is shown is plain, so that parts add up to a duration.
	duration, write, share := means(s.Duration, result.Ratio), means(s.Write, result.Ratio),
		means(s.Share, result.Difference)
	seconds, written := means(s.Duration, result.Difference), means(s.Write, result.Difference)
	parts := map[string][]map[int]float64{}
	for i := range s.Parts {
		parts[s.Parts[i].Name] = means(&s.Parts[i], result.Difference)
	}
	ratio := result.Response{Compare: result.Ratio}
	others := slices.DeleteFunc(slices.Clone(x.Factors), func(f result.Factor) bool { return f.Name == s.Factor.Name })
	for base, cell := range x.Cells {
		if cell.Levels[s.Factor.Name] != s.Factor.Baseline {
			continue
		}
		row := LogRow{Name: cmp.Or(result.LevelsText(others, cell.Levels), allRuns), Pairs: []LogPair{}}
		at := map[string]int{}
		for _, level := range s.Factor.Levels {
			i := besides(x, base, s.Factor.Name, level)
			if i < 0 {
				continue
			}
			at[level] = i
			c := LogCell{Level: level, Emulated: s.emulated(level), Mean: mean(seconds[i]), Write: mean(written[i]),
				Share: mean(share[i]),
				Parts: map[string]result.Estimate{}, Waits: s.waitsOf(runs, i)}
			c.Rest = c.Mean
			for name, p := range parts {
				v := over(p[i], seconds[i])
				if c.Parts[name] = v; v.Known() {
					c.Rest.Value -= v.Value
				}
			}
			if i != base {
				c.Writes = paired(x, &ratio, write[i], write[base])
			}
			row.Cells = append(row.Cells, c)
		}
		for _, from := range row.origins(s.Factor.Baseline) {
			bound := result.Unknown()
			if shares := share[at[from]]; len(shares) > 0 {
				bound = scale{result.Response{Compare: result.Difference}}.estimate(stats.HodgesLehmann(slices.Collect(maps.Values(shares)),
					NominalAlpha))
			}
			for _, c := range row.Cells {
				if c.Level != from && c.Mean.N > 0 {
					gain := paired(x, &ratio, duration[at[c.Level]], duration[at[from]]).Negated()
					row.Pairs = append(row.Pairs, LogPair{from, c.Level, gain, bound, gain.Low > bound.High})
				}
			}
		}
		s.Rows = append(s.Rows, row)
	}
}

// allRuns is what a combination is called where there is one only.
const allRuns = "all runs"

// origins are the devices that a log is moved from: the baseline, and the slowest, which
// is what a buyer of a device has.
func (r *LogRow) origins(baseline string) []string {
	list, slowest := []string{baseline}, -1
	for i := range r.Cells {
		w := r.Cells[i].slowness()
		if r.Cells[i].Mean.N > 0 && !math.IsNaN(w) && (slowest < 0 || w > r.Cells[slowest].slowness()) {
			slowest = i
		}
	}
	if slowest >= 0 && r.Cells[slowest].Level != baseline {
		list = append(list, r.Cells[slowest].Level)
	}
	return list
}

// slowness orders devices: by their log writes, or, where no server times those, as
// MariaDB, by the share of the time that waits.
func (c *LogCell) slowness() float64 {
	if !c.Write.Known() {
		return c.Share.Value
	}
	return c.Write.Value
}

// Pair returns what a device gave in place of another; nil: they were not compared.
func (r *LogRow) Pair(from, to string) *LogPair {
	for i := range r.Pairs {
		if p := &r.Pairs[i]; p.From == from && p.To == to {
			return p
		}
	}
	return nil
}

// mean is that of the blocks; unknown for none.
func mean(m map[int]float64) result.Estimate { return over(m, m) }

// over is the mean of a part over the blocks of a whole: what is unknown in some of them
// is in the rest of those. It is unknown where it is so in all.
func over(part, whole map[int]float64) result.Estimate {
	out, sum, n := result.Unknown(), 0.0, 0
	for _, b := range slices.Sorted(maps.Keys(part)) {
		if _, ok := whole[b]; ok {
			sum += part[b]
			n++
		}
	}
	if out.N = len(whole); n > 0 {
		out.Value = sum / float64(len(whole))
	}
	return out
}

// Sampled reports whether any device has the server's wait events.
func (r *LogRow) Sampled() bool {
	return slices.ContainsFunc(r.Cells, func(c LogCell) bool { return c.Waits != nil })
}

// emulated reports whether a level stands for a device that is not there. The record's
// evidence is that of comparisons, and says so of all levels only where no level does.
func (s *LogDevice) emulated(level string) bool {
	own := func(level string) bool { return s.Experiment.Place(s.Factor.Name, level).Emulated }
	return own(level) || s.Experiment.Evidence == result.Emulated && !slices.ContainsFunc(s.Factor.Levels, own)
}

// waitsOf are those of a cell; nil where no run has any.
func (s *LogDevice) waitsOf(runs []result.Run, cell int) *LogWaits {
	w, events := &LogWaits{}, map[Event]float64{}
	for i := range runs {
		r := &runs[i]
		d, timed := r.Values[s.Duration.Name]
		if r.Cell != cell || r.Waits == nil || !timed {
			continue
		}
		w.Runs++
		w.Looks += r.Waits.Looks
		w.Mean += d
		for _, e := range r.Waits.Events {
			w.Seen += e.Seconds
			events[Event{Name: e.Name, Part: e.Part}] += e.Seconds
		}
	}
	if w.Runs == 0 || w.Looks == 0 || !(w.Mean > 0) {
		return nil
	}
	n := float64(w.Runs)
	w.Mean, w.Seen = w.Mean/n, w.Seen/n
	w.Events = make([]Event, 0, len(events))
	for e, seconds := range events {
		e.Seconds, e.Share = seconds/n, seconds/n/w.Mean
		w.Events = append(w.Events, e)
	}
	slices.SortStableFunc(w.Events, byShare)
	return w
}

func byShare(a, b Event) int {
	return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part))
}

// Seconds returns the time of a run in events of the names and parts given.
func (w *LogWaits) Seconds(events ...Event) (sum float64) {
	for _, e := range w.Events {
		if slices.ContainsFunc(events, func(o Event) bool { return o.Name == e.Name && o.Part == e.Part }) {
			sum += e.Seconds
		}
	}
	return sum
}

// Top returns the events by the largest share that any device has.
func (r *LogRow) Top() (out []Event) {
	for i := range r.Cells {
		if w := r.Cells[i].Waits; w != nil {
			out = append(out, w.Events...)
		}
	}
	slices.SortStableFunc(out, byShare)
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(out, func(e Event) bool {
		twice := seen[[2]string{e.Name, e.Part}]
		seen[[2]string{e.Name, e.Part}] = true
		return twice
	})
}
