package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/fleet"
)

// Pruned is what Prune took away.
type Pruned struct {
	Documents int   // whose bytes went; their hashes and times stay
	Bytes     int64 // packed
}

// Prune takes the bytes of documents from before a moment, with what was measured in them: but not of the first of
// each month, of the newest of each kind, of experiments, nor where something began or ended. What is left tells
// the same of all times.
func (s *Store) Prune(ctx context.Context, before time.Time) (p Pruned, err error) {
	hosts, err := column[string](ctx, s, "SELECT name FROM host ORDER BY name")
	if err != nil {
		return p, err
	}
	for _, h := range hosts { // a transaction each: a kill loses no more than the rest of the work
		err := s.write(ctx, func(t tx) error {
			n, size, err := t.prune(ctx, h, before)
			if err == nil {
				p.Documents, p.Bytes = p.Documents+n, p.Bytes+size
			}
			return err
		})
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

type keptDocument struct {
	id, started, size int64
	kind              fleet.Kind
	role              string
}

func (t tx) prune(ctx context.Context, host string, before time.Time) (n int, size int64, err error) {
	all, err := rows(ctx, t, func(d *keptDocument) []any {
		return []any{&d.id, &d.started, &d.size, &d.kind, &d.role}
	}, "SELECT id, started, LENGTH(body), kind, role FROM document WHERE host = ? AND body IS NOT NULL ORDER BY "+
		"started, id", host)
	if err != nil {
		return 0, 0, err
	}
	edges := map[int64]bool{}
	edge := func(scan func(...any) error) error {
		var since, until int64
		err := scan(&since, &until)
		edges[since], edges[until] = true, true
		return err
	}
	for _, table := range []string{"fact_span", "finding_span"} {
		if err := t.query(ctx, edge, "SELECT DISTINCT since, until FROM "+table+" WHERE host = ?", host); err != nil {
			return 0, 0, err
		}
	}
	type line struct {
		kind fleet.Kind
		role string
	}
	newest, months := map[line]int64{}, map[string]bool{}
	for _, d := range all {
		newest[line{d.kind, d.role}] = d.id
	}
	var gone []keptDocument
	for _, d := range all {
		month := string(d.kind) + d.role + time.Unix(0, d.started).UTC().Format("2006-01")
		first := !months[month]
		months[month] = true
		if d.started < before.UnixNano() && !first && !edges[d.started] && newest[line{d.kind, d.role}] != d.id &&
			d.kind != fleet.Effects {
			gone = append(gone, d)
		}
	}
	for _, d := range gone {
		size += d.size
		for _, statement := range []string{"DELETE FROM measurement WHERE document = ?",
			"DELETE FROM lever WHERE document = ?", "UPDATE document SET body = NULL WHERE id = ?"} {
			if err := t.exec(ctx, statement, d.id); err != nil {
				return 0, 0, err
			}
		}
	}
	return len(gone), size, nil
}

// Compact gives back to the file system what Prune has freed.
func (s *Store) Compact(ctx context.Context) error {
	if s.postgres != nil {
		return nil // its autovacuum does
	}
	_, err := s.db.ExecContext(ctx, "VACUUM")
	return s.problem(err)
}

// Size is what the store takes of its disk, B.
func (s *Store) Size(ctx context.Context) (n int64, err error) {
	statement := "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	if s.postgres != nil {
		statement = "SELECT pg_database_size(current_database())"
	}
	err = s.query(ctx, func(scan func(...any) error) error { return scan(&n) }, statement)
	return n, err
}

// Rebuild makes everything anew out of the documents' bytes, in one transaction, and returns how many were read. Those
// that this program cannot read any more stay as they are, and are returned.
func (s *Store) Rebuild(ctx context.Context, now time.Time) (read int, left []string, err error) {
	err = s.write(ctx, func(t tx) error {
		read, left = 0, nil
		ids, err := column[int64](ctx, t, "SELECT id FROM document WHERE body IS NOT NULL ORDER BY host, started, sha256")
		if err != nil {
			return err
		}
		for _, statement := range []string{"DELETE FROM fact_span", "DELETE FROM finding_span",
			"UPDATE host SET machine = '', stratum = '', role = ''"} {
			if err := t.exec(ctx, statement); err != nil {
				return err
			}
		}
		for _, id := range ids {
			why, err := t.again(ctx, id, now)
			switch {
			case err != nil:
				return err
			case why != "":
				left = append(left, why)
			default:
				read++
			}
		}
		return nil
	})
	return read, left, err
}

// again reads one document anew. It says why it cannot.
func (t tx) again(ctx context.Context, id int64, now time.Time) (why string, err error) {
	var host, hash string
	var packed []byte
	err = t.query(ctx, func(scan func(...any) error) error { return scan(&host, &hash, &packed) },
		"SELECT host, sha256, body FROM document WHERE id = ?", id)
	if err != nil {
		return "", err
	}
	body, err := fleet.Unpack(packed)
	if err != nil {
		return fmt.Sprintf("%.12s of %s: its bytes are damaged", hash, host), nil //nolint:nilerr // the others can be read
	}
	d, err := fleet.Read(body, host, now)
	if err != nil {
		return fmt.Sprintf("%.12s of %s: %v", hash, host, err), nil
	}
	if d.Hash != hash {
		return fmt.Sprintf("%.12s of %s: its bytes have another hash", hash, host), nil
	}
	at := d.Started.UnixNano()
	for _, table := range []string{"measurement", "lever", "effect"} {
		if err := t.exec(ctx, "DELETE FROM "+table+" WHERE document = ?", id); err != nil {
			return "", err
		}
	}
	if err := t.host(ctx, d, at); err != nil {
		return "", err
	}
	t.whole = true
	if err := t.facts(ctx, d, at); err != nil {
		return "", err
	}
	if err := t.findings(ctx, d, at); err != nil {
		return "", err
	}
	var m measured
	m.add(d, id)
	return "", t.insert(ctx, &m)
}

// Evidence is what checks say on all hosts now, with the hashes of the documents that say so.
func (s *Store) Evidence(ctx context.Context) (list []fleet.Proof, err error) {
	type key struct {
		host, role string
	}
	type doc struct {
		at   time.Time
		hash string
	}
	docs := map[key][]doc{}
	err = s.query(ctx, func(scan func(...any) error) error {
		var k key
		var d doc
		err := scan(&k.host, &k.role, moment{&d.at}, &d.hash)
		docs[k] = append(docs[k], d)
		return err
	}, "SELECT host, role, started, sha256 FROM document WHERE "+judges+" ORDER BY "+
		"host, role, started, sha256")
	if err != nil {
		return nil, err
	}
	err = s.query(ctx, func(scan func(...any) error) error {
		p := fleet.Proof{}
		err := scan(&p.Host, &p.Role, &p.Check, &p.Status, &p.Severity, &p.Detail, moment{&p.Since}, excepted{&p.Exception})
		of := docs[key{p.Host, string(p.Role)}]
		if i := slices.IndexFunc(of, func(d doc) bool { return d.at.Equal(p.Since) }); i >= 0 {
			p.First = of[i].hash
		}
		if n := len(of); n > 0 {
			p.Last, p.Heard = of[n-1].hash, of[n-1].at
		}
		list = append(list, p)
		return err
	}, "SELECT host, role, check_id, status, severity, detail, since, exception FROM finding_span WHERE until = ? ORDER "+
		"BY host, role, check_id", int64(forever))
	return list, err
}
