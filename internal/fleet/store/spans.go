package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// spans are what documents say of one subject over time: a value holds from its document to the next that says
// otherwise. They are the same in whatever order documents come.
type spans struct {
	table, where string // of whom
	of           []any
	key          string   // what there is one value of at a time
	columns      []string // that value
	observed     string   // which documents say something of all keys
}

type span struct {
	key          string
	value        []any
	since, until int64
}

// splice puts in what a document of the moment at says: all keys and their values.
func (t tx) splice(ctx context.Context, p spans, hash string, at int64, said map[string][]any) error {
	if t.whole {
		p.observed += " AND body IS NOT NULL"
	}
	who := fmt.Sprint(append([]any{p.table}, p.of...)...)
	h, next := t.held[who], int64(forever)
	if h == nil || at <= h.at {
		rival := ""
		err := t.query(ctx, func(scan func(...any) error) error { return scan(&next, &rival) },
			"SELECT COALESCE(MIN(CASE WHEN started > ? THEN started END), ?), COALESCE(MAX(CASE WHEN started = ? THEN sha256 "+
				"END), '') FROM document WHERE "+p.observed+" AND started >= ?",
			append(append([]any{at, int64(forever), at}, p.of...), at)...)
		if err != nil {
			return err
		}
		if rival > hash { // two documents of one moment: the same one wins whichever came first
			return nil
		}
		around, err := t.around(ctx, p, at, next)
		if err != nil {
			return err
		}
		h = &held{spans: around}
	}
	var rows [][]any
	put := func(key string, value []any) error {
		before := h.spans[key]
		after := cut(before, span{key, value, at, next})
		h.spans[key] = after
		return t.replace(ctx, p, key, before, after, &rows)
	}
	for key, value := range said {
		list := h.spans[key]
		if i := slices.IndexFunc(list, func(s span) bool { return s.since <= at && at < s.until }); i >= 0 &&
			slices.Equal(list[i].value, value) {
			continue
		}
		if err := put(key, value); err != nil {
			return err
		}
	}
	for key := range h.spans { // what it does not say any more
		if _, ok := said[key]; !ok {
			if err := put(key, nil); err != nil {
				return err
			}
		}
	}
	if h.at = at; next == forever {
		t.held[who] = h
	} else {
		delete(t.held, who)
	}
	columns := []string{"host"}
	if len(p.of) == 2 {
		columns = append(columns, "role")
	}
	return t.many(ctx, p.table, strings.Join(append(append(columns, p.key, "since", "until"), p.columns...), ", "), rows)
}

// held are the spans of a subject as the newest document that says something of it left them, so that documents in the
// order of time, as spools have them, need not ask for them again.
type held struct {
	at    int64
	spans map[string][]span // by key: those that held then, and later ones
}

// around are the spans that a moment's value may touch: those that hold then, end then, or begin at the next document.
func (t tx) around(ctx context.Context, p spans, at, next int64) (map[string][]span, error) {
	out := map[string][]span{}
	columns := strings.Join(p.columns, ", ")
	err := t.query(ctx, func(scan func(...any) error) error {
		s := span{value: make([]any, len(p.columns))}
		texts := make([]string, len(p.columns))
		into := []any{&s.key, &s.since, &s.until}
		for i := range texts {
			into = append(into, &texts[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		for i, text := range texts {
			s.value[i] = text
		}
		out[s.key] = append(out[s.key], s)
		return nil
	}, "SELECT "+p.key+", since, until, "+columns+" FROM "+p.table+" WHERE "+p.where+" AND since <= ? AND until >= ? "+
		"ORDER BY since", append(slices.Clone(p.of), next, at)...)
	return out, err
}

// cut lays one span over others, which keep what it does not cover, and joins neighbours of the same value. A span
// without a value leaves a hole.
func cut(list []span, put span) (out []span) {
	for _, s := range list {
		if s.since >= put.until || s.until <= put.since {
			out = append(out, s)
			continue
		}
		if s.since < put.since {
			out = append(out, span{s.key, s.value, s.since, put.since})
		}
		if s.until > put.until {
			out = append(out, span{s.key, s.value, put.until, s.until})
		}
	}
	if put.value != nil {
		out = append(out, put)
	}
	slices.SortStableFunc(out, func(a, b span) int {
		if a.since < b.since {
			return -1
		}
		return 1
	})
	joined := out[:0]
	for _, s := range out {
		if n := len(joined); n > 0 && joined[n-1].until == s.since && slices.Equal(joined[n-1].value, s.value) {
			joined[n-1].until = s.until
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// replace takes away what has gone of a key's spans, and adds the rows that came.
func (t tx) replace(ctx context.Context, p spans, key string, before, after []span, rows *[][]any) error {
	same := func(s span, in []span) bool {
		return slices.ContainsFunc(in, func(o span) bool {
			return o.since == s.since && o.until == s.until && slices.Equal(o.value, s.value)
		})
	}
	for _, s := range before {
		if same(s, after) {
			continue
		}
		if err := t.exec(ctx, "DELETE FROM "+p.table+" WHERE "+p.where+" AND "+p.key+" = ? AND since = ?",
			append(slices.Clone(p.of), key, s.since)...); err != nil {
			return err
		}
	}
	for _, s := range after {
		if !same(s, before) {
			*rows = append(*rows, append(append(slices.Clone(p.of), s.key, s.since, s.until), s.value...))
		}
	}
	return nil
}

// at once so many rows are inserted: each engine takes 32,000 values a statement.
const atOnce = 500

func (t tx) many(ctx context.Context, table, columns string, rows [][]any) error {
	for part := range slices.Chunk(rows, atOnce) {
		row := "(?" + strings.Repeat(", ?", len(part[0])-1) + ")"
		err := t.exec(ctx, "INSERT INTO "+table+" ("+columns+") VALUES "+row+strings.Repeat(", "+row, len(part)-1),
			slices.Concat(part...)...)
		if err != nil {
			return err
		}
	}
	return nil
}
