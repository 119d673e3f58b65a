package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/fleet"
)

// Hosts are all hosts by name, with what their newest documents say.
func (s *Store) Hosts(ctx context.Context) ([]*fleet.Host, error) {
	list, _, err := s.Since(ctx, 0)
	return list, err
}

// excepted reads an exception, which is kept as JSON; nil: there is none.
type excepted struct{ to **check.Exception }

func (e excepted) Scan(kept any) error {
	found := &check.Exception{}
	if *e.to = nil; json.Unmarshal(fmt.Appendf(nil, "%s", kept), found) == nil {
		*e.to = found
	}
	return nil
}

// newest begins a query with each host's newest assessment. where chooses hosts, which it calls h.
func newest(where string) string {
	return "WITH newest AS (SELECT h.name AS host, (SELECT d.id FROM document d WHERE d.host = h.name AND d.kind = " +
		"'assess' ORDER BY d.started DESC, d.id DESC LIMIT 1) AS id FROM host h" + where + ") "
}

// Facts are those of a host now.
func (s *Store) Facts(ctx context.Context, host string) (map[string]fleet.Value, error) {
	out := map[string]fleet.Value{}
	err := s.query(ctx, func(scan func(...any) error) error {
		var path string
		var v fleet.Value
		err := scan(&path, &v.Text, &v.Unit, &v.State)
		out[path] = v
		return err
	}, "SELECT path, value, unit, state FROM fact_span WHERE host = ? AND until = ?", host, int64(forever))
	return out, err
}

// Measured are the measurements of a host's newest assessment, by name.
func (s *Store) Measured(ctx context.Context, host string) (map[string]fleet.Measurement, error) {
	out := map[string]fleet.Measurement{}
	err := s.query(ctx, func(scan func(...any) error) error {
		var m fleet.Measurement
		err := scan(&m.Name, &m.Value, &m.Low, &m.High, &m.N, &m.Noise, &m.Unit, &m.Evidence)
		out[m.Name] = m
		return err
	}, newest(" WHERE h.name = ?")+"SELECT m.name, m.value, m.low, m.high, m.n, m.noise, m.unit, m.evidence FROM newest "+
		"JOIN measurement m ON m.document = newest.id", host)
	return out, err
}

// Check is what a check says on each host now.
func (s *Store) Check(ctx context.Context, id string) ([]fleet.Held, error) {
	return rows(ctx, s, func(f *fleet.Held) []any {
		return []any{&f.Check, &f.Host, &f.Role, &f.Status, &f.Severity, &f.Detail, moment{&f.Since}, excepted{&f.Exception}}
	},
		"SELECT check_id, host, role, status, severity, detail, since, exception FROM finding_span WHERE check_id = ? AND until = "+
			"? ORDER BY host, role", id, int64(forever))
}

// Changes are what changed since a moment: of facts and of checks, the latest first. What a host said first is none.
func (s *Store) Changes(ctx context.Context, since time.Time) ([]fleet.Change, error) {
	list, err := rows(ctx, s, change, `SELECT b.host, b.path, b.value, a.value, a.since FROM fact_span b JOIN fact_span a
		ON a.host = b.host AND a.path = b.path AND a.since = b.until
		WHERE a.since >= ? ORDER BY a.since DESC, b.host, b.path`, since.UnixNano())
	if err != nil {
		return nil, err
	}
	more, err := rows(ctx, s, change, `SELECT b.host, b.check_id, b.status, a.status, a.since FROM finding_span b
		JOIN finding_span a ON a.host = b.host AND a.role = b.role AND a.check_id = b.check_id AND a.since = b.until
		WHERE a.since >= ? AND a.status <> b.status ORDER BY a.since DESC, b.host, b.check_id`, since.UnixNano())
	list = append(list, more...)
	slices.SortStableFunc(list, func(a, b fleet.Change) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Host, b.Host), strings.Compare(a.Subject, b.Subject))
	})
	return list, err
}

func change(c *fleet.Change) []any {
	return []any{&c.Host, &c.Subject, &c.Before, &c.After, moment{&c.At}}
}

// Documents is how many there are.
func (s *Store) Documents(ctx context.Context) (n int, err error) {
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&n) }, "SELECT COUNT(*) FROM document")
	return n, err
}
