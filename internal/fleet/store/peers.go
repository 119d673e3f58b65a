package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
)

// FactsOf are facts of hosts now, by host and path: of these paths and of these hosts, or of all where a list is empty.
func (s *Store) FactsOf(ctx context.Context, paths, hosts []string) (map[string]map[string]fleet.Value, error) {
	out := map[string]map[string]fleet.Value{}
	where, args := "until = ?", []any{int64(forever)}
	among := func(column string, list []string) {
		if len(list) == 0 {
			return
		}
		where += " AND " + column + " IN (?" + strings.Repeat(", ?", len(list)-1) + ")"
		for _, v := range list {
			args = append(args, v)
		}
	}
	among("path", paths)
	among("host", hosts)
	err := s.query(ctx, func(scan func(...any) error) error {
		var host, path string
		var v fleet.Value
		if err := scan(&host, &path, &v.Text, &v.Unit, &v.State); err != nil {
			return err
		}
		if out[host] == nil {
			out[host] = map[string]fleet.Value{}
		}
		out[host][path] = v
		return nil
	}, "SELECT host, path, value, unit, state FROM fact_span WHERE "+where, args...)
	return out, err
}

// Compared are all hosts, by name.
func (s *Store) Compared(ctx context.Context) ([]fleet.Compared, error) {
	return rows(ctx, s, func(c *fleet.Compared) []any {
		return []any{&c.Name, &c.Stratum, &c.Role, moment{&c.Last}}
	}, "SELECT name, stratum, role, last_seen FROM host ORDER BY name")
}

// EachNewest calls each with the measurements of all hosts' newest assessments, in the order of the measurements'
// names.
func (s *Store) EachNewest(ctx context.Context, each func(host string, m fleet.Measurement)) error {
	return s.query(ctx, func(scan func(...any) error) error {
		var host string
		var m fleet.Measurement
		if err := scan(&host, &m.Name, &m.Value, &m.Low, &m.High, &m.N, &m.Noise, &m.Unit, &m.Evidence); err != nil {
			return err
		}
		each(host, m)
		return nil
	}, newest("")+"SELECT newest.host, m.name, m.value, m.low, m.high, m.n, m.noise, m.unit, m.evidence FROM newest JOIN "+
		"measurement m ON m.document = newest.id ORDER BY m.name")
}

// Diff says why two hosts differ.
func (s *Store) Diff(ctx context.Context, a, b *fleet.Host, now time.Time,
	limit time.Duration) (*document.Document, error) {
	pair := [2]fleet.Seen{{Host: a}, {Host: b}}
	for i := range pair {
		var err error
		if pair[i].Facts, err = s.Facts(ctx, pair[i].Name); err != nil {
			return nil, err
		}
		if pair[i].Measured, err = s.Measured(ctx, pair[i].Name); err != nil {
			return nil, err
		}
	}
	return fleet.DiffDocument(pair[0], pair[1], now, limit,
		func(study string) ([]fleet.Ran, error) { return s.Ran(ctx, study) })
}

// Outliers finds those among hosts that are known, and what sets them apart.
func (s *Store) Outliers(ctx context.Context, now time.Time, limit time.Duration) (*document.Document, error) {
	list, err := s.Compared(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c fleet.Compared) bool { return now.Sub(c.Last) > limit })
	compared := fleet.NewPeers(list)
	if err := s.EachNewest(ctx, compared.Add); err != nil {
		return nil, err
	}
	found, groups := compared.Outliers()
	told := map[string][]fleet.Trait{}
	for i, o := range found {
		if _, done := told[o.Host]; !done {
			if told[o.Host], err = s.traits(ctx, o, list); err != nil {
				return nil, err
			}
		}
		found[i].Apart = told[o.Host]
	}
	return fleet.OutliersDocument(found, list, groups), nil
}

// traits are the facts in which a host is not as its peers.
func (s *Store) traits(ctx context.Context, o fleet.Outlier, list []fleet.Compared) ([]fleet.Trait, error) {
	var names []string
	for _, c := range list {
		if c.Stratum == o.Stratum && c.Role == o.Role {
			names = append(names, c.Name)
		}
	}
	const most = 200 // peers are enough to say what is usual
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == o.Host })[:min(len(names)-1, most)], o.Host)
	facts, err := s.FactsOf(ctx, nil, names)
	if err != nil {
		return nil, err
	}
	var others []map[string]fleet.Value
	for _, n := range names[:len(names)-1] {
		others = append(others, facts[n])
	}
	return fleet.Traits(facts[o.Host], others), nil
}
