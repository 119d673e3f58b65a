package store

import (
	"context"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/rollout"
)

// Values are a measurement of assessments since a moment, by host, the oldest first.
func (s *Store) Values(ctx context.Context, name string, since time.Time) (map[string][]rollout.Sample, error) {
	out := map[string][]rollout.Sample{}
	err := s.query(ctx, func(scan func(...any) error) error {
		host, at, v := "", int64(0), rollout.Sample{}
		if err := scan(&host, &at, &v.Value); err != nil {
			return err
		}
		v.At = time.Unix(0, at).UTC()
		out[host] = append(out[host], v)
		return nil
	}, "SELECT d.host, d.started, m.value FROM measurement m JOIN document d ON d.id = m.document WHERE m.name = ? AND d.started >= ? "+
		"ORDER BY d.host, d.started, d.id", name, since.UnixNano())
	return out, err
}

// MeasuredNames are what the newest assessments measure, on how many hosts and in which unit.
func (s *Store) MeasuredNames(ctx context.Context) (list []rollout.Measured, err error) {
	err = s.query(ctx, func(scan func(...any) error) error {
		m := rollout.Measured{}
		if err := scan(&m.Name, &m.Unit, &m.Hosts); err != nil {
			return err
		}
		list = append(list, m)
		return nil
	}, newest("")+"SELECT m.name, MIN(m.unit), COUNT(*) FROM newest JOIN measurement m ON m.document = newest.id GROUP BY m.name ORDER BY m.name")
	return list, err
}

// Verified are what documents of verify said of hosts since a moment: when each was written, and which settings were as
// they were set from when to when.
func (s *Store) Verified(ctx context.Context, since time.Time) (map[string]rollout.Verified, error) {
	out := map[string]rollout.Verified{}
	err := s.query(ctx, func(scan func(...any) error) error {
		host, at := "", int64(0)
		if err := scan(&host, &at); err != nil {
			return err
		}
		v := out[host]
		v.At = append(v.At, time.Unix(0, at).UTC())
		out[host] = v
		return nil
	}, "SELECT host, started FROM document WHERE kind = ? AND started >= ? ORDER BY host, started", string(fleet.Verified), since.UnixNano())
	if err != nil {
		return nil, err
	}
	err = s.query(ctx, func(scan func(...any) error) error {
		host, from, until, x := "", int64(0), int64(0), rollout.Set{}
		if err := scan(&host, &x.Object, &x.Status, &from, &until); err != nil {
			return err
		}
		x.Since = time.Unix(0, from).UTC()
		if until != int64(forever) {
			x.Until = time.Unix(0, until).UTC()
		}
		v := out[host]
		v.Set = append(v.Set, x)
		out[host] = v
		return nil
	}, "SELECT host, check_id, status, since, until FROM finding_span WHERE role = ? AND until > ? ORDER BY host, since, check_id",
		string(fleet.AsSet), since.UnixNano())
	return out, err
}
