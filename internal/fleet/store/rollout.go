package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/rollout"
)

// plan keeps a plan of a roll-out.
func (t tx) plan(ctx context.Context, d *fleet.Document, source string, now time.Time) (fresh bool, err error) {
	fresh = true
	err = t.query(ctx, func(scan func(...any) error) error { fresh = false; return scan(new(string)) },
		"SELECT sha256 FROM rollout WHERE sha256 = ?", d.Hash)
	if err != nil || !fresh {
		return false, err
	}
	err = t.exec(ctx, "INSERT INTO rollout (sha256, created, received, source, body) VALUES (?, ?, ?, ?, ?)", d.Hash,
		d.Started.UnixNano(), now.UnixNano(), source, fleet.Pack(d.Body))
	return err == nil, err
}

// Plans are the newest plans of roll-outs with their hashes, at most so many, and how many there are.
func (s *Store) Plans(ctx context.Context, most int) (list []*fleet.Document, all int, err error) {
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&all) }, "SELECT COUNT(*) FROM rollout")
	if err != nil {
		return nil, 0, err
	}
	hashes, err := column[string](ctx, s, "SELECT sha256 FROM rollout ORDER BY created DESC, sha256 LIMIT ?", most)
	for _, hash := range hashes {
		if err != nil {
			break
		}
		var d *fleet.Document
		if d, err = s.Plan(ctx, hash); err == nil {
			list = append(list, d)
		}
	}
	return list, all, err
}

func (s *Store) Plan(ctx context.Context, hash string) (*fleet.Document, error) {
	body, err := s.Body(ctx, hash)
	if err != nil {
		return nil, err
	}
	d, err := fleet.Read(body, "", time.Now())
	if err == nil && d.Plan == nil {
		err = fmt.Errorf("document %.12s is not a plan", hash)
	}
	return d, err
}

// Progress is how far a plan is, as documents of verify tell. It knows nothing of measurements, so that no gate can be
// asked.
func (s *Store) Progress(ctx context.Context, p *rollout.Plan) (*rollout.Course, error) {
	verified, err := s.verified(ctx, p.Created)
	if err != nil {
		return nil, err
	}
	return rollout.Follow(p, verified, nil), nil
}

// Course is what has become of a plan, as documents tell.
func (s *Store) Course(ctx context.Context, p *rollout.Plan) (*rollout.Course, error) {
	verified, err := s.verified(ctx, p.Created)
	if err != nil {
		return nil, err
	}
	values, err := s.Values(ctx, p.Measure.Name, p.Created.Add(-rollout.History))
	if err != nil {
		return nil, err
	}
	return rollout.Follow(p, verified, values), nil
}

// Values are a measurement of assessments since a moment, by host, the oldest first.
func (s *Store) Values(ctx context.Context, name string, since time.Time) (map[string][]rollout.Sample, error) {
	out := map[string][]rollout.Sample{}
	err := s.query(ctx, func(scan func(...any) error) error {
		host, v := "", rollout.Sample{}
		err := scan(&host, moment{&v.At}, &v.Value)
		out[host] = append(out[host], v)
		return err
	}, "SELECT d.host, d.started, m.value FROM host h CROSS JOIN document d CROSS JOIN "+
		"measurement m WHERE d.host = h.name AND d.kind = 'assess' AND d.started >= ? AND m.document = d.id AND m.name = ? "+
		"ORDER BY h.name, d.started, d.id", since.UnixNano(), name)
	return out, err
}

// MeasuredNames are what the newest assessments measure, on how many hosts and in which unit.
func (s *Store) MeasuredNames(ctx context.Context) ([]rollout.Measured, error) {
	return rows(ctx, s, func(m *rollout.Measured) []any { return []any{&m.Name, &m.Unit, &m.Hosts} },
		newest("")+"SELECT m.name, MIN(m.unit), COUNT(*) FROM newest JOIN measurement m ON m.document = newest.id GROUP "+
			"BY m.name ORDER BY m.name")
}

// verified are what documents of verify said of hosts since a moment: when each was written, and which settings were as
// they were set from when to when.
func (s *Store) verified(ctx context.Context, since time.Time) (map[string]rollout.Verified, error) {
	out := map[string]rollout.Verified{}
	// 'verify' stands in the statements, and they ask for no order by host, so that SQLite takes the indexes of it alone.
	err := s.query(ctx, func(scan func(...any) error) error {
		host, at := "", time.Time{}
		err := scan(&host, moment{&at})
		v := out[host]
		v.At = append(v.At, at)
		out[host] = v
		return err
	}, "SELECT host, started FROM document WHERE kind = 'verify' AND started >= ? ORDER BY started", since.UnixNano())
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
	}, "SELECT host, check_id, status, since, until FROM finding_span WHERE role = 'verify' AND until > ?",
		since.UnixNano())
	for _, v := range out {
		slices.SortStableFunc(v.Set, func(a, b rollout.Set) int {
			return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Object, b.Object))
		})
	}
	return out, err
}
