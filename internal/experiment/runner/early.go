package runner

import (
	"fmt"
	"regexp"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// early judges the runs of a session while they come, so that nobody waits for an hour to hear that
// none of them counts.
type early struct {
	tried int             // runs so far, as long as none has counted
	count bool            // one has, unmarked
	row   int             // runs in a row that did not count, or are marked
	said  map[string]bool // kinds of problems
	noted bool            // that disturbed runs cost time
}

// mostKinds bounds what is said: a command that prints a random name would make a kind of every run.
const mostKinds = 5

// A session in which no run has counted ends after two blocks of them, or after one where that takes
// long; but not within the first minute, since a cron job may disturb so many short runs.
const (
	earliest = time.Minute
	longest  = 30 * time.Minute
)

// Problem is what was wrong with a run, without the place of its output.
func Problem(r *result.Run) string { return kept.ReplaceAllString(r.Reason+r.Contaminated, "") }

var kept = regexp.MustCompile(` \(its output is in .*`)

// varying is what differs between two reports of one problem: quoted words and numbers.
var varying = regexp.MustCompile(`"[^"]*"|[0-9.e+-]*[0-9]`)

// judge takes in a run. say reports that it shows a problem of which people should hear at once: one that
// is new, and no run has counted yet, or half a block in a row has not. The error ends the session.
func (s *session) judge(r *result.Run) (say bool, _ error) {
	e, why := &s.early, r.Reason+r.Contaminated
	if why == "" {
		if r.Status == result.OK {
			e.count, e.row = true, 0
		}
		return false, nil
	}
	e.tried++
	e.row++
	block, kind := s.x.Blocks[r.Block].Runs(), varying.ReplaceAllString(Problem(r), "")
	if !e.said[kind] && len(e.said) < mostKinds && (!e.count || 2*e.row >= block) {
		if e.said == nil {
			e.said = map[string]bool{}
		}
		e.said[kind], say = true, true
	}
	if e.count {
		return say, nil
	}
	after := s.sys.now().Sub(s.began)
	switch marks := s.study.Guard.Mark && (r.Contaminated != "" || r.Status == result.Void); {
	case marks && e.tried >= block && !e.noted:
		e.noted = true
		s.note("all of the first %d runs were disturbed. The last: %s. Each run is made up to %d times, then counts, "+
			"marked as contaminated (guard.exhausted): the experiment takes that many times as long. To avoid that, stop "+
			"with Ctrl-C, remove the cause, then: hostlab run --resume --out %s", e.tried, why,
			s.study.Workload.Retries+1, screen.Operand(s.cfg.Dir))
	case !marks && (e.tried >= 2*block && after >= earliest || e.tried >= block && after >= longest):
		return say, &Hopeless{fmt.Sprintf("stopped: none of the first %d runs counts, the last", e.tried), r,
			"remove the cause, then continue with: hostlab run --resume --out " + screen.Operand(s.cfg.Dir)}
	}
	return say, nil
}
