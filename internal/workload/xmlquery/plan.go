package xmlquery

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// planNode is a node of EXPLAIN (FORMAT JSON).
type planNode struct {
	Type     string     `json:"Node Type"`
	Function string     `json:"Function Name"`
	Planned  int        `json:"Workers Planned"`
	Launched *int       `json:"Workers Launched"` // with ANALYZE
	Plans    []planNode `json:"Plans"`
}

// plan sets the session to a degree and checks that PostgreSQL does what that says:
// in the plan of the query, and in a trial with a small part of the rows, which starts
// the same workers.
func (d *Database) plan(ctx context.Context, degree int) error {
	d.degree = 0
	for _, statement := range Session(degree) {
		if _, err := d.conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"EXPLAIN (FORMAT JSON) " + PostgresQuery,
		fmt.Sprintf("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) %s WHERE id <= %d", PostgresQuery, d.rows/100+16*degree),
	} {
		var text string
		if err := d.conn.QueryRow(ctx, statement, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
			return err
		}
		if err := checkPlan([]byte(text), degree); err != nil {
			return err
		}
	}
	d.degree = degree
	return nil
}

// checkPlan wants the shredding below one Gather of degree-1 workers, or, at degree
// 1, no Gather at all.
func checkPlan(text []byte, degree int) error {
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		return fmt.Errorf("PostgreSQL's plan cannot be read: %d plans, %w", len(plans), err)
	}
	var gathers []planNode
	below, above := 0, 0 // where documents are shredded
	var walk func(n planNode, gathered bool)
	walk = func(n planNode, gathered bool) {
		if n.Type == "Gather" || n.Type == "Gather Merge" {
			gathers = append(gathers, n)
			gathered = true
		}
		if n.Function == "shred" || n.Type == "Table Function Scan" {
			if gathered {
				below++
			} else {
				above++
			}
		}
		for _, p := range n.Plans {
			walk(p, gathered)
		}
	}
	walk(plans[0].Plan, false)
	switch {
	case below+above != 1:
		return fmt.Errorf("PostgreSQL's plan shreds in %d places, expected one: this version plans the query in another way",
			below+above)
	case degree == 1 && len(gathers) > 0:
		return fmt.Errorf("PostgreSQL plans %d workers for degree 1", gathers[0].Planned)
	case degree == 1:
		return nil
	case len(gathers) != 1 || below != 1:
		return fmt.Errorf("PostgreSQL's plan shreds in the leader alone at degree %d: it is not parallel", degree)
	}
	g := gathers[0]
	if g.Planned != degree-1 {
		return fmt.Errorf("PostgreSQL plans %d workers, degree %d takes %d", g.Planned, degree, degree-1)
	}
	if g.Launched != nil && *g.Launched != g.Planned {
		return fmt.Errorf("PostgreSQL started %d of %d workers: is there a limit on processes?", *g.Launched, g.Planned)
	}
	return nil
}
