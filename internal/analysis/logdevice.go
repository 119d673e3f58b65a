package analysis

import (
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
	Experiment *result.Experiment
	Factor     *result.Factor    // whose levels are devices; nil: the record has none
	Duration   *result.Response  // nil: none was recorded, and there is nothing to show
	Write      *result.Response  // average log write; nil: not recorded
	Share      *result.Response  // of the time that waits for the log; nil: no bound
	Parts      []result.Response // of the duration
	Rows       []LogRow
}

// LogRow is a combination of the other factors' levels, such as a size.
type LogRow struct {
	Name  string
	Cells []LogCell // by level of the factor
	Pairs []LogPair // from the baseline, and from the slowest log where that is another
}

// LogPair is a log that was moved from one device to another.
type LogPair struct {
	From, To string
	Gain     stats.Interval // share of the duration on from
	Bound    stats.Interval // share of that which waits for the log
}

// Exceeds reports a gain that is beyond the bound by more than both intervals leave open.
func (p *LogPair) Exceeds() bool { return p.Gain.Low > p.Bound.High }

// LogCell is one device at one size.
type LogCell struct {
	Level  string
	N      int     // blocks, of which all but writes are means
	Mean   float64 // of the duration, s; NaN: no run
	Write  float64
	Share  float64
	Parts  []float64      // as LogDevice.Parts, s; NaN: unknown
	Rest   float64        // of the duration that is in none of them, s; below 0: they overlap by so much
	Waits  *LogWaits      // the server's events; nil: not sampled
	Writes stats.Interval // change of the average log write; N 0: the baseline itself, or no pair
}

// Responses by what they are called in the workloads that have them.
var (
	logDurations = []string{"duration", "elapsed", "wall"}
	logWrites    = []string{"log_write", "log_write_avg"}
	logShares    = []string{InCommits, "log_share"} // the first bounds most
	logParts     = []string{"part_application", "part_database_cpu", "part_log_wait", "part_data_reads", "part_locks", "part_other_waits", "part_unexplained",
		"application", "app_time", "database_cpu", "db_cpu", "log_wait", "commit_wait"}
)

// InCommits is the share of the time in commits, of which the wait for the log is the
// larger part, and in waits for it within other statements.
const InCommits = "log_gain_bound"

// NewLogDevice reads the runs that count. A record without a factor or a duration has no
// rows.
func NewLogDevice(x *result.Experiment, runs []result.Run) *LogDevice {
	s := &LogDevice{Experiment: x}
	for i := range x.Factors {
		if f := &x.Factors[i]; f.Name == "log" || s.Factor == nil && i == len(x.Factors)-1 {
			s.Factor = f
			break
		}
	}
	s.Duration, s.Write, s.Share = s.response(logDurations), s.response(logWrites), s.response(logShares)
	whole := false // parts that add up: others would tell the same twice
	for _, name := range logParts {
		if whole && !strings.HasPrefix(name, "part_") {
			break
		}
		if r := s.response([]string{name}); r != nil && r.Unit == "s" {
			s.Parts = append(s.Parts, *r)
			whole = whole || strings.HasPrefix(name, "part_")
		}
	}
	if s.Factor == nil || s.Duration == nil {
		return s
	}
	s.fill(runs)
	return s
}

func (s *LogDevice) response(names []string) *result.Response {
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
	means := func(r *result.Response, compare result.Comparison) []map[int]float64 {
		if r == nil {
			return make([]map[int]float64, len(s.Experiment.Cells))
		}
		other := *r
		other.Compare = compare
		return BlockMeans(s.Experiment, runs, &other)
	}
	// Gains are of logarithms; what is shown is plain, so that parts add up to a duration.
	duration, write, share := means(s.Duration, result.Ratio), means(s.Write, result.Ratio), means(s.Share, result.Difference)
	seconds, written := means(s.Duration, result.Difference), means(s.Write, result.Difference)
	var parts [][]map[int]float64
	for i := range s.Parts {
		parts = append(parts, means(&s.Parts[i], result.Difference))
	}
	ratio := result.Response{Compare: result.Ratio}
	for base := range s.Experiment.Cells {
		if s.Experiment.Cells[base].Duplicate || s.Experiment.Cells[base].Levels[s.Factor.Name] != s.Factor.Baseline {
			continue
		}
		row := LogRow{Name: s.others(base)}
		at := map[string]int{}
		for _, level := range s.Factor.Levels {
			i := besides(s.Experiment, base, s.Factor.Name, level)
			if i < 0 {
				continue
			}
			at[level] = i
			c := LogCell{Level: level, N: len(duration[i]),
				Mean: mean(seconds[i]), Write: mean(written[i]), Share: mean(share[i])}
			c.Rest = c.Mean
			for _, p := range parts {
				v := over(p[i], seconds[i])
				if c.Parts = append(c.Parts, v); !math.IsNaN(v) {
					c.Rest -= v
				}
			}
			c.Waits = s.waitsOf(runs, i)
			if i != base {
				c.Writes = paired(s.Experiment, &ratio, write[i], write[base])
			}
			row.Cells = append(row.Cells, c)
		}
		for _, from := range row.origins(s.Factor.Baseline) {
			bound := stats.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
			if shares := share[at[from]]; len(shares) > 0 {
				bound = stats.HodgesLehmann(slices.Collect(maps.Values(shares)), NominalAlpha)
			}
			for _, c := range row.Cells {
				if c.Level != from && c.N > 0 {
					row.Pairs = append(row.Pairs, LogPair{from, c.Level, negated(paired(s.Experiment, &ratio, duration[at[c.Level]], duration[at[from]])), bound})
				}
			}
		}
		s.Rows = append(s.Rows, row)
	}
}

// origins are the devices that a log is moved from: the baseline, and the slowest, which
// is what a buyer of a device has.
func (r *LogRow) origins(baseline string) []string {
	list, slowest := []string{baseline}, -1
	for i := range r.Cells {
		if w := r.Cells[i].slowness(); r.Cells[i].N > 0 && !math.IsNaN(w) && (slowest < 0 || w > r.Cells[slowest].slowness()) {
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
	if math.IsNaN(c.Write) {
		return c.Share
	}
	return c.Write
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

// mean is that of the blocks; NaN for none.
func mean(m map[int]float64) float64 { return over(m, m) }

// over is the mean of a part over the blocks of a whole: what is unknown in some of them
// is in the rest of those. NaN where it is unknown in all.
func over(part, whole map[int]float64) float64 {
	sum, n := 0.0, 0
	for _, b := range slices.Sorted(maps.Keys(part)) {
		if _, ok := whole[b]; ok {
			sum += part[b]
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(len(whole))
}

// Sampled reports whether any device has the server's wait events.
func (r *LogRow) Sampled() bool {
	return slices.ContainsFunc(r.Cells, func(c LogCell) bool { return c.Waits != nil })
}

// negated turns a change of a duration into a gain.
func negated(iv stats.Interval) stats.Interval {
	iv.Estimate, iv.Low, iv.High = -iv.Estimate, -iv.High, -iv.Low
	return iv
}

// others are the levels of a cell's other factors, as people read them.
func (s *LogDevice) others(cell int) string {
	var parts []string
	for _, f := range s.Experiment.Factors {
		if f.Name != s.Factor.Name {
			parts = append(parts, f.Name+" "+s.Experiment.Cells[cell].Levels[f.Name])
		}
	}
	if len(parts) == 0 {
		return "all runs"
	}
	return strings.Join(parts, ", ")
}

// Emulated reports whether a level stands for a device that is not there. The record's
// evidence is that of comparisons, and says so of all levels only where no level does.
func (s *LogDevice) Emulated(level string) bool {
	if s.standsIn(level) {
		return true
	}
	return s.Experiment.Evidence == result.Emulated && !slices.ContainsFunc(s.Factor.Levels, s.standsIn)
}

// standsIn reports whether the record says that a level is emulated.
func (s *LogDevice) standsIn(level string) bool {
	return strings.HasPrefix(s.Experiment.Context[s.Factor.Name+" "+level], string(result.Emulated))
}

// Volatile reports whether nothing on a level's device survives a power cut.
func (s *LogDevice) Volatile(level string) bool {
	return strings.HasSuffix(s.Experiment.Context[s.Factor.Name+" "+level], " on tmpfs")
}
