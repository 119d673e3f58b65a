package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"hostlab/internal/fleet"
)

// forever is the end of what still holds.
const forever = math.MaxInt64

// Put keeps documents, each once, in one transaction. It returns how many were new. source says where they came from.
// Of those that cannot be kept any more the error has a *fleet.Refused each; the others are kept.
func (s *Store) Put(ctx context.Context, docs []*fleet.Document, source string, now time.Time) (added int, err error) {
	var refused []error
	err = s.write(ctx, func(t tx) error {
		added, refused = 0, nil
		next, m := int64(0), measured{}
		err := t.query(ctx, func(scan func(...any) error) error { return scan(&next) },
			"SELECT COALESCE(MAX(id), 0) + 1 FROM document")
		if err != nil {
			return err
		}
		for _, d := range docs {
			fresh, err := t.put(ctx, d, next, source, now)
			if _, is := errors.AsType[*fleet.Refused](err); is {
				refused = append(refused, err)
				continue
			}
			if err != nil {
				return err
			}
			if fresh {
				m.add(d, next)
				next++
				added++
			}
		}
		return t.insert(ctx, &m)
	})
	if err != nil {
		return 0, err
	}
	return added, errors.Join(refused...)
}

// put keeps one as number id, but what it measured, unless it is known.
func (t tx) put(ctx context.Context, d *fleet.Document, id int64, source string, now time.Time) (fresh bool,
	err error) {
	if d.Plan != nil {
		return t.plan(ctx, d, source, now)
	}
	at := d.Started.UnixNano()
	there, thinned := 0, 0
	err = t.query(ctx, func(scan func(...any) error) error { return scan(&there, &thinned) },
		"SELECT (SELECT COUNT(*) FROM document WHERE sha256 = ?), (SELECT COUNT(*) FROM document WHERE host = ? AND body "+
			"IS NULL AND started >= ?)", d.Hash, d.Host, at)
	switch {
	case err != nil || there > 0:
		return false, err
	case thinned > 0: // what changed between those whose bytes are gone would not be known any more when the store is rebuilt
		return false, &fleet.Refused{Why: fmt.Sprintf("it was written on %s, and prune has deleted documents of %s from "+
			"then or later", d.Started.UTC().Format(time.DateOnly), d.Host)}
	}
	if err := t.host(ctx, d, at); err != nil {
		return false, err
	}
	// Spans first: they ask for the other documents.
	if err := t.facts(ctx, d, at); err != nil {
		return false, err
	}
	if err := t.findings(ctx, d, at); err != nil {
		return false, err
	}
	body := d.Packed
	if body == nil {
		body = fleet.Pack(d.Body)
	}
	err = t.exec(ctx, `INSERT INTO document (id, host, kind, form, version, role, started, received, sha256, source, service, verdict, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, id, d.Host, string(d.Kind), d.Schema, d.Version, string(d.Role), at, now.UnixNano(),
		d.Hash, source, d.Service, d.Verdict, body)
	return err == nil, err
}

// measured is what documents measured, which a transaction inserts at once.
type measured struct{ values, levers, effects [][]any }

func (m *measured) add(d *fleet.Document, id int64) {
	seen := map[string]bool{}
	fresh := func(key string) bool {
		is := !seen[key]
		seen[key] = true
		return is
	}
	for _, v := range d.Measured {
		if v.Value != nil && fresh("value\x00"+v.Name) {
			m.values = append(m.values, []any{id, v.Name, *v.Value, v.Low, v.High, v.N, v.Noise, v.Unit, v.Evidence})
		}
	}
	for _, l := range d.Levers {
		if fresh("lever\x00" + l.Name) {
			m.levers = append(m.levers, []any{id, l.Name, l.Estimate, l.AtMost, string(l.Verdict), string(l.Kind()),
				l.Why(), l.Next.Command, l.SecondsPerDay})
		}
	}
	for _, e := range d.Effects {
		if fresh("effect\x00" + e.Experiment + "\x00" + e.Contrast + "\x00" + e.Response) {
			m.effects = append(m.effects, []any{id, e.Experiment, e.Study, e.StudyHash, e.Contrast, e.Response, e.Compare,
				e.Unit, e.Better, e.Value, e.Low, e.High, e.Alpha, e.N, e.Margin, e.Noise, e.Verdict, e.Evidence})
		}
	}
}

func (t tx) insert(ctx context.Context, m *measured) error {
	if err := t.many(ctx, "measurement", "document, name, value, low, high, n, noise, unit, evidence",
		m.values); err != nil {
		return err
	}
	if err := t.many(ctx, "lever", "document, name, estimate, at_most, verdict, evidence, reason, command, seconds_per_day",
		m.levers); err != nil {
		return err
	}
	return t.many(ctx, "effect", "document, experiment, study, study_hash, contrast, response, compare, unit, better, "+
		"value, low, high, alpha, n, margin, noise, verdict, evidence", m.effects)
}

// host notes that a host was heard of. The id of its machine is that of its newest document.
func (t tx) host(ctx context.Context, d *fleet.Document, at int64) error {
	role := ""
	if d.Kind == fleet.Assessment || d.Kind == fleet.Checked {
		role = string(d.Role)
	}
	return t.exec(ctx, `INSERT INTO host (name, machine, first_seen, last_seen, stratum, role) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET
			stratum = CASE WHEN excluded.stratum <> '' AND excluded.last_seen >= host.last_seen THEN excluded.stratum ELSE host.stratum END,
			role = CASE WHEN excluded.role <> '' AND excluded.last_seen >= host.last_seen THEN excluded.role ELSE host.role END,
			machine = CASE WHEN excluded.machine <> '' AND excluded.last_seen >= host.last_seen THEN excluded.machine ELSE host.machine END,
			first_seen = CASE WHEN excluded.first_seen < host.first_seen THEN excluded.first_seen ELSE host.first_seen END,
			last_seen = CASE WHEN excluded.last_seen > host.last_seen THEN excluded.last_seen ELSE host.last_seen END`, d.Host, d.Machine, at, at,
		d.Stratum, role)
}

// facts brings the spans of a host's facts up to what a document says.
func (t tx) facts(ctx context.Context, d *fleet.Document, at int64) error {
	if d.Facts == nil {
		return nil
	}
	said := make(map[string][]any, len(d.Facts))
	for path, v := range d.Facts {
		said[path] = []any{v.Text, v.Unit, v.State}
	}
	return t.splice(ctx, spans{table: "fact_span", where: "host = ?", of: []any{d.Host}, key: "path",
		columns:  []string{"value", "unit", "state"},
		observed: "host = ? AND kind IN ('assess', 'facts')"}, d.Hash, at, said)
}

// judges are documents that say what checks found.
const judges = "kind IN ('assess', 'check', 'verify', 'watch-analysis', 'day')"

// findings brings the spans of a host's checks in a role up to what a document says.
func (t tx) findings(ctx context.Context, d *fleet.Document, at int64) error {
	if d.Findings == nil {
		clear(t.held) // it counts as one that says none of them, and is not put in
		return nil
	}
	said := make(map[string][]any, len(d.Findings))
	for _, f := range d.Findings {
		exception := ""
		if f.Exception != nil {
			text, err := json.Marshal(f.Exception)
			if err != nil {
				return err
			}
			exception = string(text)
		}
		said[f.Check] = []any{string(f.Status), f.Severity, cmp.Or(f.Detail, f.Title), exception}
	}
	return t.splice(ctx, spans{table: "finding_span", where: "host = ? AND role = ?", of: []any{d.Host, string(d.Role)},
		key:     "check_id",
		columns: []string{"status", "severity", "detail", "exception"}, observed: "host = ? AND role = ? AND " + judges},
		d.Hash, at, said)
}

// Known reports whether a document is kept, by its hash.
func (s *Store) Known(ctx context.Context, hash string) (is bool, err error) {
	err = s.query(ctx, func(scan func(...any) error) error { is = true; return scan(new(string)) },
		"SELECT sha256 FROM document WHERE sha256 = ? "+
			"UNION ALL SELECT sha256 FROM rollout WHERE sha256 = ?", hash, hash)
	return is, err
}

// Body returns a document's bytes as they came.
func (s *Store) Body(ctx context.Context, hash string) (body []byte, err error) {
	var kept []byte
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&kept) }, "SELECT body FROM document "+
		"WHERE sha256 = ? UNION ALL SELECT body FROM rollout WHERE sha256 = ?", hash, hash)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, fmt.Errorf("the store has no document %.12s", hash)
	}
	return fleet.Unpack(kept)
}
