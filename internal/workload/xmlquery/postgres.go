package xmlquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload"
	"hostlab/internal/workload/database"
)

// maxWorkers is how many parallel workers PostgreSQL takes at most for one query
// (MAX_PARALLEL_WORKER_LIMIT).
const maxWorkers = 1024

// loaded is the size and seed of the table that a server holds.
type loaded struct {
	size int
	seed uint64
}

// Database is the table in a private PostgreSQL. A value from NewDatabase is ready;
// Close must be called. It is not safe for concurrent use.
type Database struct {
	postgres database.Server
	conn     *pgx.Conn
	rows     int
	bytes    int
	want     Totals
	degree   int // that the session is set to, and its plan was checked for; 0: none
}

// NewDatabase is one whose server will live below work.
func NewDatabase(work string) *Database {
	return &Database{postgres: database.Server{Work: work, Param: "engine"}}
}

// Server is the server, nil before Load.
func (d *Database) Server() *privatedb.Server { return d.postgres.Private() }

// PostgresQuery is the SQL that is timed.
const PostgresQuery = `SELECT sum(s.items)::bigint, sum(s."order")::bigint, sum(s.line)::bigint, sum(s.sku)::bigint, sum(s.description)::bigint, sum(s.unit)::bigint, ` +
	`sum(s.quantity)::bigint, sum(s.price)::bigint, sum(s.discount)::bigint, sum(s.due)::bigint, sum(s.hazard)::bigint, sum(s.customer)::bigint ` +
	`FROM orders CROSS JOIN LATERAL shred(doc) AS s`

// schema makes the table and the function that shreds one document.
//
//   - The columns are those of the embedded query: nodes is the row path, value the
//     typed columns, query the customer's node, which stays XML.
//   - XMLTABLE itself may not run in a parallel worker, and a query that has it in FROM
//     shows a Gather yet shreds above it. Within a function that is declared PARALLEL
//     SAFE, which it is, it runs below.
//   - Documents lie out of line and uncompressed (EXTERNAL), so that the size is what it
//     says. A page of the table itself has few rows (fillfactor), since a page is
//     the least that a worker takes.
const schema = `
DROP TABLE IF EXISTS orders;
CREATE UNLOGGED TABLE orders (id integer, doc xml) WITH (fillfactor = 10);
ALTER TABLE orders ALTER doc SET STORAGE EXTERNAL;
CREATE OR REPLACE FUNCTION shred(doc xml, OUT items bigint, OUT "order" bigint, OUT line bigint, OUT sku bigint, OUT description bigint, OUT unit bigint,
  OUT quantity bigint, OUT price bigint, OUT discount bigint, OUT due bigint, OUT hazard bigint, OUT customer bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT count(*), sum("order"), sum(line), sum(octet_length(sku)), sum(octet_length(description)), sum(octet_length(unit)),
  sum(quantity), (sum(price) * 100)::bigint, (sum(discount) * 100)::bigint, sum(due - date '1970-01-01'), coalesce(sum(hazard), 0),
  sum(octet_length(translate(customer::text, E' \n', '')))
FROM XMLTABLE('/order/items/item' PASSING doc COLUMNS "order" bigint PATH '../../@id', line bigint PATH '@line', sku text PATH '@sku',
  description text PATH 'description', unit text PATH 'quantity/@unit', quantity bigint PATH 'quantity', price numeric PATH 'price',
  discount numeric PATH 'discount', due date PATH 'due', hazard bigint PATH 'hazard/@class', customer xml PATH '../../customer') $$;
CREATE EXTENSION IF NOT EXISTS pg_prewarm`

// prewarm reads the table, its out-of-line part and that one's index into
// shared_buffers, where a table scan by itself would only use a small part of them.
const prewarm = `SELECT pg_prewarm(c.oid) + pg_prewarm(c.reltoastrelid) + (SELECT sum(pg_prewarm(indexrelid)) FROM pg_index WHERE indrelid = c.reltoastrelid),
  current_setting('shared_buffers') FROM pg_class c WHERE c.oid = 'orders'::regclass`

// Load has the table of that size and seed in the server, wholly in its memory, and
// knows what a query of it must return. It does nothing where that is so already.
func (d *Database) Load(ctx context.Context, size int, seed uint64) (err error) {
	defer func() {
		if err != nil {
			d.postgres.Holds = nil
		}
		err = d.postgres.Explain(ctx, err)
	}()
	if err := d.ready(ctx, size); err != nil {
		return err
	}
	want := loaded{size, seed}
	if d.postgres.Holds == want {
		return nil
	}
	d.postgres.Holds, d.degree = nil, 0
	t, err := Generate(ctx, size, seed)
	if err != nil {
		return err
	}
	defer debug.FreeOSMemory() // as large as the table
	if d.want, err = Total(ctx, t); err != nil {
		return err
	}
	if _, err := d.conn.Exec(ctx, schema); err != nil {
		if d.conn.PgConn().IsClosed() || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf(
			"%w; PostgreSQL's contributed modules may be missing: install postgresql-contrib, and a server built "+
				"with libxml", d.postgres.Explain(ctx, err))
	}
	rows := pgx.CopyFromSlice(t.Rows(), func(n int) ([]any, error) { return []any{n + 1, t.Row(n)}, nil })
	if _, err := d.conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "doc"}, rows); err != nil {
		return err
	}
	if _, err := d.conn.Exec(ctx, "ANALYZE orders"); err != nil {
		return err
	}
	var pages int64
	var buffers string
	if err := d.conn.QueryRow(ctx, prewarm, pgx.QueryExecModeSimpleProtocol).Scan(&pages, &buffers); err != nil {
		return err
	}
	if pages*8192 > int64(bufferBytes(size)) {
		return fmt.Errorf("the table takes %d pages of 8 KiB and does not fit into shared_buffers of %s", pages, buffers)
	}
	d.postgres.Holds, d.rows, d.bytes = want, t.Rows(), t.Bytes()
	return nil
}

// bufferBytes is the memory that a table of so many bytes of XML gets: half as
// much again for pages, tuples and the index, and what the catalogs need.
func bufferBytes(size int) int { return size + size/2 + 64<<20 }

// ready has a server with memory for a table of that size, and a connection.
func (d *Database) ready(ctx context.Context, size int) (err error) {
	settings := database.Quiet()
	maps.Copy(settings, map[string]string{"shared_buffers": strconv.Itoa(bufferBytes(size)>>10) + "kB",
		"max_worker_processes": strconv.Itoa(maxWorkers), "max_parallel_workers": strconv.Itoa(maxWorkers)})
	if err := d.postgres.Ready(ctx, settings, int64(size)); err != nil {
		return err
	}
	var fresh bool
	if d.conn, fresh, err = d.postgres.Conn(ctx); fresh {
		d.degree = 0
	}
	return err
}

// Session are the statements that give a query that degree: so many workers and the
// leader, whatever PostgreSQL's planner thinks that they cost. It sizes by the
// pages of the table without those out of line, and so would take too few; and it
// counts the function's cost once for all rows, so that a small table would seem too
// cheap to share without a higher price of a row.
func Session(degree int) []string {
	return []string{fmt.Sprintf("SET max_parallel_workers_per_gather = %d", degree-1),
		fmt.Sprintf("ALTER TABLE orders SET (parallel_workers = %d)", degree-1),
		"SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0", "SET cpu_tuple_cost = 100",
		"SET parallel_leader_participation = on"}
}

// sample makes a run with engine postgres.
func (d *Database) sample(ctx context.Context, q question, notes []string) (out workload.Sample, err error) {
	if err := checkDegree(inPostgres, q.Degree); err != nil {
		return out, err
	}
	if err := d.Load(ctx, q.Size, q.Seed); err != nil {
		return out, err
	}
	a, doubt, err := d.Run(ctx, q.Degree, q.Passes)
	if err != nil {
		return out, err
	}
	out = a.sample(notes)
	out.Doubt = doubt
	return out, nil
}

// Run queries the table that Load made, with degree processes, passes times. The
// doubt is why the run should not count, or empty.
func (d *Database) Run(ctx context.Context, degree, passes int) (a answer, doubt string, err error) {
	defer func() { err = d.postgres.Explain(ctx, err) }()
	if d.postgres.Holds == nil {
		return a, "", errors.New("no table was loaded")
	}
	if d.degree != degree {
		if err := d.plan(ctx, degree); err != nil {
			return a, "", err
		}
	}
	before, err := d.Server().CPU()
	if err != nil {
		return a, "", err
	}
	for range passes {
		var got Totals
		began := time.Now()
		// The simple protocol, as psql: no plan of another degree is reused.
		err := d.conn.QueryRow(ctx, PostgresQuery, pgx.QueryExecModeSimpleProtocol).Scan(&got.Items, &got.Order, &got.Line,
			&got.SKU, &got.Description, &got.Unit,
			&got.Quantity, &got.Price, &got.Discount, &got.Due, &got.Hazard, &got.Customer)
		a.Wall += time.Since(began).Seconds()
		if err != nil {
			return a, "", err
		}
		if got != d.want {
			return a, "", fmt.Errorf("PostgreSQL returned %+v, the embedded query %+v: the query is broken", got, d.want)
		}
		a.Rows += got.Items
		a.Documents += int64(d.rows)
		a.Bytes += int64(d.bytes)
	}
	after, err := d.Server().CPU()
	if err != nil {
		return a, "", err
	}
	used, unknown := after.Since(before)
	a.CPU, a.HasCPU, a.NoCPU = used.Seconds(), unknown == "", unknown
	leader := int(d.conn.PgConn().PID())
	return a, leaderDoubt(degree, (after.Session[leader] - before.Session[leader]).Seconds(), a.CPU), nil
}

// leaderDoubt says that the leader did the workers' work: more than midway between its
// share and all of it. CPU times of workers that have ended are coarse, so that runs of
// less than 0.2 s are not judged.
func leaderDoubt(degree int, leader, all float64) string {
	share := leader / all
	if fair := 1 / float64(degree); degree < 2 || all < 0.2 || share <= (1+fair)/2 {
		return ""
	}
	return fmt.Sprintf("the query's leader used %.0f %% of the CPU time at degree %d: the parallel workers hardly worked",
		100*share, degree)
}

// Close ends the server and removes it. It may be called again.
func (d *Database) Close() error {
	d.degree = 0
	return d.postgres.Close()
}
