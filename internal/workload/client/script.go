package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

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
			fmt.Fprintf(w, "BEGIN;\n%s;\nCOMMIT;\n", insertText(t.name, t, rows, literals(&part)))
			if rows < size {
				break
			}
		}
	}
	return w.Flush()
}

// literals are a package's rows of the target, as parameters.
func literals(p *pkg) func(n int) string {
	return func(n int) string {
		r, c := (n-1)/(p.columns+1), (n-1)%(p.columns+1)
		if c == 0 {
			return "'" + target + "'"
		}
		return "'" + strings.ReplaceAll(string(p.value(r*p.columns+c-1)), "'", "''") + "'"
	}
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
