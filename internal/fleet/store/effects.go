package store

import (
	"context"
	"strings"
	"time"

	"hostlab/internal/fleet"
)

// Ran are the effects of a study's experiments on all hosts, the oldest first.
func (s *Store) Ran(ctx context.Context, study string) (list []fleet.Ran, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		var r fleet.Ran
		if err := scan(&r.Host, &r.Stratum, &r.Hash, &r.Experiment, &r.Study, &r.StudyHash, &r.Contrast, &r.Response,
			&r.Compare, &r.Unit, &r.Better,
			&r.Value, &r.Low, &r.High, &r.Alpha, &r.N, &r.Margin, &r.Noise, &r.Verdict, &r.Evidence); err != nil {
			return err
		}
		list = append(list, r)
		return nil
	}, `SELECT d.host, h.stratum, d.sha256, e.experiment, e.study, e.study_hash, e.contrast, e.response, e.compare, e.unit, e.better, e.value, e.low, e.high,
		e.alpha, e.n, e.margin, e.noise, e.verdict, e.evidence FROM effect e JOIN document d ON d.id = e.document JOIN host h ON h.name = d.host
		WHERE e.study = ? ORDER BY d.started, d.id`, study)
	return list, err
}

// Studies are the names of those of which experiments are kept.
func (s *Store) Studies(ctx context.Context) (names []string, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		name := ""
		if err := scan(&name); err != nil {
			return err
		}
		names = append(names, name)
		return nil
	}, "SELECT DISTINCT study FROM effect ORDER BY study")
	return names, err
}

// recently are so many of a host's newest assessments.
const recently = "FROM (SELECT id, host, started, sha256 FROM document WHERE host = ? AND kind IN ('assess', 'day') " +
	"ORDER BY started DESC, id DESC LIMIT ?) d "

// Newest are a host's measurements of kinds in so many of its newest assessments, the oldest first.
func (s *Store) Newest(ctx context.Context, host string, most int, kinds []string) (list []fleet.Point, err error) {
	args, where := []any{host, most}, ""
	for _, k := range kinds {
		where += " OR m.name = ? OR m.name LIKE ?"
		args = append(args, k, k+".%")
	}
	err = s.query(ctx, points(&list), "SELECT d.host, d.started, d.sha256, m.name, m.value, m.low, m.high, m.n, m.noise, "+
		"m.unit, m.evidence "+recently+"JOIN measurement m ON m.document = d.id WHERE ("+strings.TrimPrefix(where, " OR ")+
		") ORDER BY d.started, d.id, m.name", args...)
	return list, err
}

// Likely are what levers would likely save by each of a host's newest assessments, the oldest first.
func (s *Store) Likely(ctx context.Context, host string, most int) (list []fleet.Point, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		p, at := fleet.Point{Host: host}, int64(0)
		err := scan(&at, &p.Name, &p.Value)
		p.At = time.Unix(0, at)
		list = append(list, p)
		return err
	}, "SELECT d.started, l.name, l.likely "+recently+"JOIN lever l ON l.document = d.id WHERE l.likely IS NOT NULL "+
		"ORDER BY d.started, d.id, l.name", host, most)
	return list, err
}

// Spans are the times in which checks found something on a host, accepted or not, since so many of its newest documents
// with checks, the oldest first.
func (s *Store) Spans(ctx context.Context, host string, most int) (list []fleet.Span, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		var x fleet.Span
		var since, until int64
		err := scan(&x.Check, &x.Severity, &since, &until)
		x.Since, x.Until = time.Unix(0, since), time.Unix(0, until)
		list = append(list, x)
		return err
	}, "SELECT s.check_id, s.severity, CASE WHEN s.since < f.first THEN f.first ELSE s.since END AS since, s.until "+
		"FROM finding_span s, (SELECT COALESCE(MIN(started), 0) AS first FROM (SELECT started FROM document WHERE host = ? AND "+
		judges+" ORDER BY started DESC LIMIT ?) d) f WHERE s.host = ? AND s.status IN ('finding', 'accepted') AND "+
		"s.until > f.first ORDER BY 3, 1", host, most, host)
	return list, err
}

// Points are measurements, the oldest first: of one host, or of all where none is named.
func (s *Store) Points(ctx context.Context, host string) (list []fleet.Point, err error) {
	err = s.query(ctx, points(&list), `SELECT d.host, d.started, d.sha256, m.name, m.value, m.low, m.high, m.n, m.noise,
		m.unit, m.evidence FROM document d JOIN measurement m ON m.document = d.id WHERE d.host = ? OR ? = '' ORDER BY d.host, d.started, d.id, m.name`, host, host)
	return list, err
}

func points(list *[]fleet.Point) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		p, at := fleet.Point{}, int64(0)
		err := scan(&p.Host, &at, &p.Hash, &p.Name, &p.Value, &p.Low, &p.High, &p.N, &p.Noise, &p.Unit, &p.Evidence)
		p.At = time.Unix(0, at)
		*list = append(*list, p)
		return err
	}
}
