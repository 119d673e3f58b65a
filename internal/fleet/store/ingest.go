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
		for _, d := range docs {
			fresh, err := t.put(ctx, d, source, now)
			if _, is := errors.AsType[*fleet.Refused](err); is {
				refused = append(refused, err)
				continue
			}
			if err != nil {
				return err
			}
			if fresh {
				added++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return added, errors.Join(refused...)
}

func (t tx) put(ctx context.Context, d *fleet.Document, source string, now time.Time) (fresh bool, err error) {
	there, next := false, int64(0)
	err = t.query(ctx, func(scan func(...any) error) error { there = true; return scan(&next) },
		"SELECT id FROM document WHERE sha256 = ?", d.Hash)
	if err != nil || there {
		return false, err
	}
	err = t.query(ctx, func(scan func(...any) error) error { return scan(&next) }, "SELECT COALESCE(MAX(id), 0) + 1 FROM document")
	if err != nil {
		return false, err
	}
	at := d.Started.UnixNano()
	if thinned, err := t.thinned(ctx, d.Host, at); err != nil || thinned {
		return false, errors.Join(err, thin(thinned, d))
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
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, next, d.Host, string(d.Kind), d.Schema, d.Version, string(d.Role), at, now.UnixNano(),
		d.Hash, source, d.Service, d.Verdict, body)
	if err != nil {
		return false, err
	}
	return true, t.details(ctx, d, next)
}

// thin is the error of a document that comes too late.
func thin(is bool, d *fleet.Document) error {
	if !is {
		return nil
	}
	return &fleet.Refused{Why: fmt.Sprintf("it was written on %s, and prune has thinned out what %s wrote then and later", d.Started.UTC().Format(time.DateOnly), d.Host)}
}

// details keeps what a document measured.
func (t tx) details(ctx context.Context, d *fleet.Document, next int64) error {
	var rows [][]any
	seen := map[string]bool{}
	for _, m := range d.Measured {
		if m.Value != nil && !seen[m.Name] {
			seen[m.Name] = true
			rows = append(rows, []any{next, m.Name, *m.Value, m.Low, m.High, m.N, m.Noise, m.Unit, m.Evidence})
		}
	}
	if err := t.many(ctx, "measurement", "document, name, value, low, high, n, noise, unit, evidence", rows); err != nil {
		return err
	}
	rows = nil
	clear(seen)
	for _, l := range d.Levers {
		if !seen[l.Name] {
			seen[l.Name] = true
			rows = append(rows, []any{next, l.Name, l.Likely, l.AtMost, l.Verdict, l.Evidence, l.Reason, l.Command, l.SecondsPerDay})
		}
	}
	if err := t.many(ctx, "lever", "document, name, likely, at_most, verdict, evidence, reason, command, seconds_per_day", rows); err != nil {
		return err
	}
	rows = nil
	clear(seen)
	for _, e := range d.Effects {
		key := e.Experiment + "\x00" + e.Contrast + "\x00" + e.Response
		if !seen[key] {
			seen[key] = true
			rows = append(rows, []any{next, e.Experiment, e.Study, e.StudyHash, e.Contrast, e.Response, e.Compare, e.Unit, e.Better, e.Value, e.Low, e.High, e.Alpha, e.N,
				e.Margin, e.Noise, e.Verdict, e.Void, e.Evidence})
		}
	}
	return t.many(ctx, "effect", "document, experiment, study, study_hash, contrast, response, compare, unit, better, value, low, high, alpha, n, "+
		"margin, noise, verdict, void, evidence", rows)
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
	return t.splice(ctx, spans{table: "fact_span", where: "host = ?", of: []any{d.Host}, key: "path", columns: []string{"value", "unit", "state"},
		observed: "host = ? AND kind IN ('assess', 'facts')"}, d.Hash, at, said)
}

// findings brings the spans of a host's checks in a role up to what a document says.
func (t tx) findings(ctx context.Context, d *fleet.Document, at int64) error {
	if d.Findings == nil {
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
	return t.splice(ctx, spans{table: "finding_span", where: "host = ? AND role = ?", of: []any{d.Host, string(d.Role)}, key: "check_id",
		columns: []string{"status", "severity", "detail", "exception"}, observed: "host = ? AND role = ? AND kind IN " +
			"('assess', 'check', 'verify', 'watch')"}, d.Hash, at, said)
}

// Known reports whether a document is kept, by its hash.
func (s *Store) Known(ctx context.Context, hash string) (is bool, err error) {
	err = s.query(ctx, func(scan func(...any) error) error { is = true; return scan(new(int64)) }, "SELECT id FROM document WHERE sha256 = ?", hash)
	return is, err
}

// Body returns a document's bytes as they came.
func (s *Store) Body(ctx context.Context, hash string) (body []byte, err error) {
	var kept []byte
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&kept) }, "SELECT body FROM document "+
		"WHERE sha256 = ?", hash)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, fmt.Errorf("no document %.12s is kept", hash)
	}
	return fleet.Unpack(kept)
}
