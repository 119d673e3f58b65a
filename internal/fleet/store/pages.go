package store

import (
	"context"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/fleet"
	"hostlab/internal/lever"
)

// What pages ask is bounded: by a host, by documents that came since, or by a number of rows. A fleet of thousands of
// hosts has millions of rows.

// Last is the number of the document that was kept last, 0: none; and how many plans of roll-outs there are.
func (s *Store) Last(ctx context.Context) (id, plans int64, err error) {
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&id, &plans) },
		"SELECT (SELECT COALESCE(MAX(id), 0) FROM document), (SELECT COUNT(*) FROM rollout)")
	return id, plans, err
}

// Since returns the hosts of which documents were kept after one, with what their newest documents say, and how many
// documents those are; 0 asks for all.
func (s *Store) Since(ctx context.Context, after int64) (list []*fleet.Host, documents int, err error) {
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&documents) },
		"SELECT COUNT(*) FROM document WHERE id > ?", after)
	if err != nil {
		return nil, 0, err
	}
	where, args := "", []any(nil)
	if after > 0 {
		where, args = " WHERE h.name IN (SELECT host FROM document WHERE id > ?)", []any{after}
	}
	by := map[string]*fleet.Host{}
	err = s.query(ctx, func(scan func(...any) error) error {
		h := &fleet.Host{}
		err := scan(&h.Name, &h.Machine, moment{&h.First}, moment{&h.Last}, &h.Stratum, &h.Role)
		by[h.Name], list = h, append(list, h)
		return err
	}, "SELECT h.name, h.machine, h.first_seen, h.last_seen, h.stratum, h.role FROM host h"+where+" ORDER BY h.name",
		args...)
	if err != nil {
		return nil, 0, err
	}
	err = s.query(ctx, func(scan func(...any) error) error {
		f, name := fleet.Held{}, ""
		if err := scan(&name, &f.Role, &f.Check, &f.Status, &f.Severity, &f.Detail, moment{&f.Since},
			excepted{&f.Exception}); err != nil {
			return err
		}
		switch h := by[name]; {
		case h == nil: // it came meanwhile, and is read the next time
		case f.Status == check.Accepted:
			h.Accepted = append(h.Accepted, f)
		default:
			h.Findings = append(h.Findings, f)
		}
		return nil
	}, "SELECT f.host, f.role, f.check_id, f.status, f.severity, f.detail, f.since, f.exception FROM host h JOIN "+
		"finding_span f ON f.host = h.name AND f.until = ? AND f.status IN ('finding', 'accepted')"+where+
		" ORDER BY f.host, f.role, f.check_id", append([]any{int64(forever)}, args...)...)
	if err != nil {
		return nil, 0, err
	}
	err = s.query(ctx, func(scan func(...any) error) error {
		var name, service, verdict string
		if err := scan(&name, &service, &verdict); err != nil {
			return err
		}
		if h := by[name]; h != nil {
			h.Service, h.Verdict = service, verdict
		}
		return nil
	}, newest(where)+"SELECT newest.host, d.service, d.verdict FROM newest JOIN document d ON d.id = newest.id", args...)
	if err != nil {
		return nil, 0, err
	}
	err = s.query(ctx, func(scan func(...any) error) error {
		var name string
		var l fleet.Lever
		var why lever.Evidence
		if err := scan(&name, &l.Name, &l.Estimate, &l.AtMost, &l.Verdict, &why.Kind, &why.Text, &l.Next.Command,
			&l.SecondsPerDay); err != nil {
			return err
		}
		l.Evidence = []lever.Evidence{why}
		if h := by[name]; h != nil {
			h.Levers = append(h.Levers, l)
		}
		return nil
	}, newest(where)+"SELECT newest.host, l.name, l.estimate, l.at_most, l.verdict, l.evidence, l.reason, l.command, "+
		"l.seconds_per_day FROM newest JOIN lever l ON l.document = newest.id ORDER BY newest.host, l.name", args...)
	return list, documents, err
}

// Recent are the newest changes since a moment, at most so many of facts and as many of checks. host: of that one
// alone; "": of all.
func (s *Store) Recent(ctx context.Context, host string, since time.Time, most int) ([]fleet.Change, error) {
	where, args := "WHERE a.since >= ?", []any{since.UnixNano()}
	if host != "" {
		where, args = where+" AND a.host = ?", append(args, host)
	}
	args = append(args, most)
	list, err := rows(ctx, s, change,
		"SELECT a.host, a.path, b.value, a.value, a.since FROM fact_span a JOIN fact_span b ON "+
			"b.host = a.host AND b.path = a.path AND b.until = a.since "+where+" ORDER BY a.since DESC, a.host, a.path LIMIT ?",
		args...)
	if err != nil {
		return nil, err
	}
	more, err := rows(ctx, s, change, "SELECT a.host, a.check_id, b.status, a.status, a.since FROM finding_span a JOIN "+
		"finding_span b ON b.host = a.host AND b.role = a.role AND b.check_id = a.check_id AND b.until = a.since "+where+
		" AND a.status <> b.status ORDER BY a.since DESC, a.host, a.check_id LIMIT ?", args...)
	return append(list, more...), err
}

// Kept is a document that the store has, without its bytes.
type Kept struct {
	Kind     fleet.Kind `json:"kind"`
	Version  string     `json:"version"`
	Started  time.Time  `json:"started"`
	Received time.Time  `json:"received"`
	Hash     string     `json:"sha256"`
	Source   string     `json:"source"`
	Whole    bool       `json:"kept"` // its bytes are there too
}

// Of are a host's newest documents, at most so many. kind: of that kind alone; "": of all.
func (s *Store) Of(ctx context.Context, host string, kind fleet.Kind, most int) ([]Kept, error) {
	return rows(ctx, s, func(k *Kept) []any {
		return []any{&k.Kind, &k.Version, moment{&k.Started}, moment{&k.Received}, &k.Hash, &k.Source, &k.Whole}
	}, "SELECT kind, version, started, received, sha256, source, body IS NOT NULL FROM document WHERE host = ? AND "+
		"(kind = ? OR ? = '') ORDER BY started DESC, id DESC LIMIT ?", host, string(kind), string(kind), most)
}
