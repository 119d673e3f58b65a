package effects

import (
	"maps"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// logDevice is the section "log": what a job gained on each log device, what it waited
// for, and whether the gain stayed below what the baseline's wait for its log allows.
type logDevice struct {
	x        *result.Experiment
	factor   *result.Factor    // whose levels are devices; nil: the record has none
	duration *result.Response  // nil: none was recorded, and there is nothing to show
	write    *result.Response  // average log write; nil: not recorded
	share    *result.Response  // of the time that waits for the log; nil: no bound
	parts    []result.Response // of the duration
	rows     []logRow
}

// logRow is a combination of the other factors' levels, such as a size.
type logRow struct {
	name  string
	cells []logCell // by level of the factor
	pairs []logPair // from the baseline, and from the slowest log where that is another
}

// logPair is a log that was moved from one device to another.
type logPair struct {
	from, to string
	gain     stats.Interval // share of the duration on from
	bound    stats.Interval // share of that which waits for the log
}

// exceeds reports a gain that is beyond the bound by more than both intervals leave open.
func (p *logPair) exceeds() bool { return p.gain.Low > p.bound.High }

// logCell is one device at one size.
type logCell struct {
	level  string
	n      int     // blocks, of which all but writes are means
	mean   float64 // of the duration, s; NaN: no run
	write  float64
	share  float64
	parts  []float64      // as logDevice.parts, s; NaN: unknown
	rest   float64        // of the duration that is in none of them, s; below 0: they overlap by so much
	waits  *logWaits      // the server's events; nil: nobody looked
	writes stats.Interval // change of the average log write; N 0: the baseline itself, or no pair
}

// Responses by what they are called in the workloads that have them.
var (
	logDurations = []string{"duration", "elapsed", "wall"}
	logWrites    = []string{"log_write", "log_write_avg"}
	logShares    = []string{inCommits, "log_share", "log_wait_share"} // the first bounds most
	logParts     = []string{"part_application", "part_database_cpu", "part_log_wait", "part_data_reads", "part_locks", "part_other_waits", "part_unexplained",
		"application", "app_time", "database_cpu", "db_cpu", "db_read", "db_write", "log_wait", "commit_wait", "data_reads", "locks", "other_waits", "unexplained"}
)

// inCommits is the share of the time in commits, of which the wait for the log is the
// larger part, and in waits for it within other statements.
const inCommits = "log_gain_bound"

func newLogDevice(a *analysis.Analysis, runs []result.Run) extra {
	x := a.Experiment
	s := &logDevice{x: x}
	for i := range x.Factors {
		if f := &x.Factors[i]; f.Name == "log" || s.factor == nil && i == len(x.Factors)-1 {
			s.factor = f
			break
		}
	}
	s.duration, s.write, s.share = s.response(logDurations), s.response(logWrites), s.response(logShares)
	whole := false // parts that add up: others would tell the same twice
	for _, name := range logParts {
		if whole && !strings.HasPrefix(name, "part_") {
			break
		}
		if r := s.response([]string{name}); r != nil && r.Unit == "s" {
			s.parts = append(s.parts, *r)
			whole = whole || strings.HasPrefix(name, "part_")
		}
	}
	if s.factor == nil || s.duration == nil {
		return s
	}
	s.fill(runs)
	return s
}

func (s *logDevice) response(names []string) *result.Response {
	for _, name := range names {
		for i := range s.x.Responses {
			if s.x.Responses[i].Name == name {
				return &s.x.Responses[i]
			}
		}
	}
	return nil
}

// fill makes a row for each combination of the other factors.
func (s *logDevice) fill(runs []result.Run) {
	means := func(r *result.Response, compare result.Comparison) []map[int]float64 {
		if r == nil {
			return make([]map[int]float64, len(s.x.Cells))
		}
		other := *r
		other.Compare = compare
		return analysis.BlockMeans(s.x, runs, &other)
	}
	// Gains are of logarithms; what is shown is plain, so that parts add up to a duration.
	duration, write, share := means(s.duration, result.Ratio), means(s.write, result.Ratio), means(s.share, result.Difference)
	seconds, written := means(s.duration, result.Difference), means(s.write, result.Difference)
	var parts [][]map[int]float64
	for i := range s.parts {
		parts = append(parts, means(&s.parts[i], result.Difference))
	}
	ratio := result.Response{Compare: result.Ratio}
	for base := range s.x.Cells {
		if s.x.Cells[base].Duplicate || s.x.Cells[base].Levels[s.factor.Name] != s.factor.Baseline {
			continue
		}
		row := logRow{name: s.others(base)}
		at := map[string]int{}
		for _, level := range s.factor.Levels {
			i := besides(s.x, base, s.factor.Name, level)
			if i < 0 {
				continue
			}
			at[level] = i
			c := logCell{level: level, n: len(duration[i]),
				mean: mean(seconds[i]), write: mean(written[i]), share: mean(share[i])}
			c.rest = c.mean
			for _, p := range parts {
				v := over(p[i], seconds[i])
				if c.parts = append(c.parts, v); !math.IsNaN(v) {
					c.rest -= v
				}
			}
			c.waits = s.waitsOf(runs, i)
			if i != base {
				c.writes = paired(s.x, &ratio, write[i], write[base])
			}
			row.cells = append(row.cells, c)
		}
		for _, from := range row.origins(s.factor.Baseline) {
			bound := stats.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
			if shares := share[at[from]]; len(shares) > 0 {
				bound = stats.HodgesLehmann(slices.Collect(maps.Values(shares)), crossAlpha)
			}
			for _, c := range row.cells {
				if c.level != from && c.n > 0 {
					row.pairs = append(row.pairs, logPair{from, c.level, negated(paired(s.x, &ratio, duration[at[c.level]], duration[at[from]])), bound})
				}
			}
		}
		s.rows = append(s.rows, row)
	}
}

// origins are the devices that a log is moved from: the baseline, and the slowest, which
// is what somebody who thinks of buying a device has.
func (r *logRow) origins(baseline string) []string {
	list, slowest := []string{baseline}, -1
	for i := range r.cells {
		if w := r.cells[i].slowness(); r.cells[i].n > 0 && !math.IsNaN(w) && (slowest < 0 || w > r.cells[slowest].slowness()) {
			slowest = i
		}
	}
	if slowest >= 0 && r.cells[slowest].level != baseline {
		list = append(list, r.cells[slowest].level)
	}
	return list
}

// slowness orders devices: by their log writes, or, where no server times those, as
// MariaDB, by the share of the time that waits.
func (c *logCell) slowness() float64 {
	if math.IsNaN(c.write) {
		return c.share
	}
	return c.write
}

// from is what a device gave in place of another; nil: they were not compared.
func (r *logRow) from(from, to string) *logPair {
	for i := range r.pairs {
		if p := &r.pairs[i]; p.from == from && p.to == to {
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

// sampled reports whether any device has the server's wait events.
func (r *logRow) sampled() bool {
	return slices.ContainsFunc(r.cells, func(c logCell) bool { return c.waits != nil })
}

// negated turns a change of a duration into a gain.
func negated(iv stats.Interval) stats.Interval {
	iv.Estimate, iv.Low, iv.High = -iv.Estimate, -iv.High, -iv.Low
	return iv
}

// others are the levels of a cell's other factors, as people read them.
func (s *logDevice) others(cell int) string {
	var parts []string
	for _, f := range s.x.Factors {
		if f.Name != s.factor.Name {
			parts = append(parts, f.Name+" "+s.x.Cells[cell].Levels[f.Name])
		}
	}
	if len(parts) == 0 {
		return "all runs"
	}
	return strings.Join(parts, ", ")
}

// emulated reports whether a level stands for a device that is not there. The record's
// evidence is that of comparisons, and says so of all levels only where no level does.
func (s *logDevice) emulated(level string) bool {
	if s.standsIn(level) {
		return true
	}
	return s.x.Evidence == result.Emulated && !slices.ContainsFunc(s.factor.Levels, s.standsIn)
}

// standsIn reports whether the record says that a level is emulated.
func (s *logDevice) standsIn(level string) bool {
	return strings.HasPrefix(s.x.Context[s.factor.Name+" "+level], string(result.Emulated))
}

// evidence labels the figures of all levels.
func (s *logDevice) evidence() string {
	emulated := 0
	for _, l := range s.factor.Levels {
		if s.emulated(l) {
			emulated++
		}
	}
	switch emulated {
	case 0:
		return string(s.x.Evidence)
	case len(s.factor.Levels):
		return string(result.Emulated)
	}
	return string(result.Measured) + " where no device is marked as emulated"
}

// volatile reports whether nothing on a level's device survives a power cut.
func (s *logDevice) volatile(level string) bool {
	return strings.HasSuffix(s.x.Context[s.factor.Name+" "+level], " on tmpfs")
}

// exceeding are the rows and levels whose gain is beyond the bound.
func (s *logDevice) exceeding() (list []string) {
	for _, r := range s.rows {
		for _, p := range r.pairs {
			if p.exceeds() {
				list = append(list, s.factor.Name+" "+p.to+" at "+r.name)
			}
		}
	}
	return list
}
