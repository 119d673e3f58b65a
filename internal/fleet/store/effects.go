package store

import (
	"context"
	"time"

	"hostlab/internal/fleet"
)

// Ran are the effects of a study's experiments on all hosts, the oldest first.
func (s *Store) Ran(ctx context.Context, study string) (list []fleet.Ran, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		var r fleet.Ran
		if err := scan(&r.Host, &r.Stratum, &r.Hash, &r.Experiment, &r.Study, &r.StudyHash, &r.Contrast, &r.Response,
			&r.Compare,
			&r.Unit, &r.Better,
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

// Points are measurements, the oldest first: of one host, or of all where none is named.
func (s *Store) Points(ctx context.Context, host string) (list []fleet.Point, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		p, at := fleet.Point{}, int64(0)
		if err := scan(&p.Host, &at, &p.Hash, &p.Name, &p.Value, &p.Low, &p.High, &p.N, &p.Noise, &p.Unit,
			&p.Evidence); err != nil {
			return err
		}
		p.At = time.Unix(0, at)
		list = append(list, p)
		return nil
	}, `SELECT d.host, d.started, d.sha256, m.name, m.value, m.low, m.high, m.n, m.noise, m.unit, m.evidence FROM document d JOIN measurement m
		ON m.document = d.id WHERE d.host = ? OR ? = '' ORDER BY d.host, d.started, d.id, m.name`, host, host)
	return list, err
}
