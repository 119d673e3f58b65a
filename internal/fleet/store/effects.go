package store

import (
	"context"
	"strings"

	"hostlab/internal/fleet"
)

// Ran are the effects of a study's experiments on all hosts, the oldest first.
func (s *Store) Ran(ctx context.Context, study string) ([]fleet.Ran, error) {
	return rows(ctx, s, func(r *fleet.Ran) []any {
		return []any{&r.Host, &r.Stratum, &r.Hash, &r.Experiment, &r.Study, &r.StudyHash, &r.Contrast, &r.Response,
			&r.Compare,
			&r.Unit, &r.Better, &r.Value, &r.Low, &r.High, &r.Alpha, &r.N, &r.Margin, &r.Noise, &r.Verdict, &r.Evidence}
	}, `SELECT d.host, h.stratum, d.sha256, e.experiment, e.study, e.study_hash, e.contrast, e.response, e.compare, e.unit,
		e.better, e.value, e.low, e.high, e.alpha, e.n, e.margin, e.noise, e.verdict, e.evidence
		FROM effect e JOIN document d ON d.id = e.document JOIN host h ON h.name = d.host
		WHERE e.study = ? ORDER BY d.started, d.id`, study)
}

// Studies are the names of those of which experiments are kept.
func (s *Store) Studies(ctx context.Context) ([]string, error) {
	return column[string](ctx, s, "SELECT DISTINCT study FROM effect ORDER BY study")
}

// recently are so many of a host's newest assessments.
const recently = "FROM (SELECT id, host, started, sha256 FROM document WHERE host = ? AND kind IN ('assess', 'day') " +
	"ORDER BY started DESC, id DESC LIMIT ?) d "

// Newest are a host's measurements of kinds in so many of its newest assessments, the oldest first.
func (s *Store) Newest(ctx context.Context, host string, most int, kinds []string) ([]fleet.Point, error) {
	args, where := []any{host, most}, ""
	for _, k := range kinds {
		where += " OR m.name = ? OR m.name LIKE ?"
		args = append(args, k, k+".%")
	}
	return rows(ctx, s, point, "SELECT d.host, d.started, d.sha256, m.name, m.value, m.low, m.high, m.n, m.noise, "+
		"m.unit, m.evidence "+recently+"JOIN measurement m ON m.document = d.id WHERE ("+strings.TrimPrefix(where, " OR ")+
		") ORDER BY d.started, d.id, m.name", args...)
}

// Estimates are what levers may save by each of a host's newest assessments, the oldest first.
func (s *Store) Estimates(ctx context.Context, host string, most int) ([]fleet.Point, error) {
	return rows(ctx, s, func(p *fleet.Point) []any { return []any{&p.Host, moment{&p.At}, &p.Name, &p.Value} },
		"SELECT d.host, d.started, l.name, l.estimate "+recently+
			"JOIN lever l ON l.document = d.id WHERE l.estimate IS NOT NULL "+
			"ORDER BY d.started, d.id, l.name", host, most)
}

// Spans are the times in which checks found something on a host, accepted or not, since so many of its newest documents
// with checks, the oldest first.
func (s *Store) Spans(ctx context.Context, host string, most int) ([]fleet.Span, error) {
	return rows(ctx, s, func(x *fleet.Span) []any {
		return []any{&x.Check, &x.Severity, moment{&x.Since}, moment{&x.Until}}
	}, "SELECT s.check_id, s.severity, CASE WHEN s.since < f.first THEN f.first ELSE s.since END AS since, s.until "+
		"FROM finding_span s, (SELECT COALESCE(MIN(started), 0) AS first FROM (SELECT started FROM document WHERE host = ? AND "+
		judges+" ORDER BY started DESC LIMIT ?) d) f WHERE s.host = ? AND s.status IN ('finding', 'accepted') AND "+
		"s.until > f.first ORDER BY 3, 1", host, most, host)
}

// Points are measurements, the oldest first: of one host, or of all where none is named.
func (s *Store) Points(ctx context.Context, host string) ([]fleet.Point, error) {
	return rows(ctx, s, point, `SELECT d.host, d.started, d.sha256, m.name, m.value, m.low, m.high, m.n, m.noise,
		m.unit, m.evidence FROM document d JOIN measurement m ON m.document = d.id WHERE d.host = ? OR ? = ''
		ORDER BY d.host, d.started, d.id, m.name`, host, host)
}

func point(p *fleet.Point) []any {
	return []any{&p.Host, moment{&p.At}, &p.Hash, &p.Name, &p.Value, &p.Low, &p.High, &p.N, &p.Noise, &p.Unit, &p.Evidence}
}
