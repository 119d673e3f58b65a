package store

import (
	"context"
	"strings"

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

// Compared are all hosts with the measurements of their newest assessments.
func (s *Store) Compared(ctx context.Context) ([]fleet.Compared, error) {
	var list []fleet.Compared
	at := map[string]int{}
	err := s.query(ctx, func(scan func(...any) error) error {
		var c fleet.Compared
		if err := scan(&c.Name, &c.Stratum, &c.Role); err != nil {
			return err
		}
		at[c.Name], list = len(list), append(list, c)
		return nil
	}, "SELECT name, stratum, role FROM host ORDER BY name")
	if err != nil {
		return nil, err
	}
	once := map[string]string{} // words that all hosts share
	share := func(words ...*string) {
		for _, w := range words {
			if _, known := once[*w]; !known {
				once[*w] = *w
			}
			*w = once[*w]
		}
	}
	err = s.query(ctx, func(scan func(...any) error) error {
		var host string
		var m fleet.Measurement
		if err := scan(&host, &m.Name, &m.Value, &m.Low, &m.High, &m.N, &m.Noise, &m.Unit, &m.Evidence); err != nil {
			return err
		}
		share(&m.Name, &m.Unit, &m.Evidence)
		c := &list[at[host]]
		if c.Measured == nil {
			c.Measured = map[string]fleet.Measurement{}
		}
		c.Measured[m.Name] = m
		return nil
	}, newest("")+"SELECT newest.host, m.name, m.value, m.low, m.high, m.n, m.noise, m.unit, m.evidence FROM newest JOIN measurement m ON "+
		"m.document = newest.id")
	return list, err
}
