package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"hostlab/internal/workload"
)

// WriteScript writes what a copy does on PostgreSQL as a script for psql, with literals
// in place of parameters: for comparisons with other clients.
func WriteScript(file string, p workload.Values, seed uint64) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	size := int(p.Int("package"))
	list := layout(int(p.Int("tables")), rowsOf(p))
	for i := range list {
		t := &list[i]
		var all, part pkg
		all.reset(len(t.columns))
		if err := generate(t, i, seed, func(p *pkg) error {
			for n := range p.ends {
				all.add(p.value(n))
			}
			return nil
		}); err != nil {
			return err
		}
		at := key{}
		for from := 0; ; from += size {
			args := []string{at.doc, at.doc, at.item}
			read := t.statements("", size, func(n int) string { return "'" + args[(n-1)%len(args)] + "'" }).read
			fmt.Fprintf(w, "%s;\n", read)
			rows := min(size, all.rows()-from)
			if rows <= 0 {
				break
			}
			part.reset(all.columns)
			for n := from * all.columns; n < (from+rows)*all.columns; n++ {
				part.add(all.value(n))
			}
			at = part.last()
			fmt.Fprintf(w, "BEGIN;\n%s;\nCOMMIT;\n", insertRows(nil, t.name, t, target, &part, 0, rows))
			if rows < size {
				break
			}
		}
	}
	return w.Flush()
}

// Prepare has the tables of a session as a run of it finds them.
func Prepare(ctx context.Context, open workload.Session, r workload.Request) error {
	s, ok := open.(*session)
	if !ok {
		return errors.New("not a session of this package")
	}
	l, err := s.layout(r.Params, r.Seed)
	if err != nil {
		return err
	}
	clients := []string{source}
	if s.task == deletes {
		clients = append(clients, target)
	}
	return s.engine.explain(ctx, s.engine.fill(ctx, l, clients))
}
