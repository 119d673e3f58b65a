package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/explain"
)

// Asker is an explain.Asker on a connection of pgx. Queries are prepared the first time, so
// that one asked a hundred times a second is not parsed and planned anew, and rows come
// as text without a transaction around them.
type Asker struct {
	Conn     *pgx.Conn
	prepared map[string]bool
}

func (p *Asker) Ask(ctx context.Context, q explain.Query) ([]explain.Row, error) {
	if !p.prepared[q.Name] {
		if _, err := p.Conn.Prepare(ctx, q.Name, q.SQL); err != nil {
			return nil, err
		}
		if p.prepared == nil {
			p.prepared = map[string]bool{}
		}
		p.prepared[q.Name] = true
	}
	res := p.Conn.PgConn().ExecPrepared(ctx, q.Name, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	out := make([]explain.Row, 0, len(res.Rows))
	for _, cols := range res.Rows {
		row := make(explain.Row, len(cols))
		for i, c := range cols {
			row[i].String, row[i].Valid = string(c), c != nil
		}
		out = append(out, row)
	}
	return out, nil
}

func (p *Asker) Close() error {
	// A server that hangs must not keep us; the socket is closed in any case.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return p.Conn.Close(ctx)
}
