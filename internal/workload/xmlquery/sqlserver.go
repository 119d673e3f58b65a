package xmlquery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/workload"
)

// inSQLServer queries a temporary table in the user's SQL Server. It was written from Microsoft's documentation, and
// was not tried on a live server.
const inSQLServer = "sqlserver"

const dsnVariable = "HOSTLAB_DSN"

// mostMAXDOP is what OPTION (MAXDOP n) takes at most.
const mostMAXDOP = 32767

// dsnOf is the server that the parameters name, or $HOSTLAB_DSN.
func dsnOf(p *Params) (*connect.DSN, error) {
	text, wrong := p.DSN, func(why, hint string) error { return workload.Wrong("dsn", why, hint) }
	given := text != ""
	if !given {
		text = os.Getenv(dsnVariable)
	}
	if text == "" {
		return nil, wrong("engine "+inSQLServer+" queries a server that you name, and none is named",
			"sqlserver://USER@HOST, here or in $"+dsnVariable)
	}
	d, err := connect.Parse(text)
	switch {
	case err != nil:
		return nil, wrong(err.Error(), "")
	case given && d.HasPassword():
		return nil, wrong("has a password, which records and lists of processes would show",
			"leave it out: it can be in "+d.PasswordPlaces())
	case d.Vendor.String() != inSQLServer:
		return nil, wrong("names "+d.Vendor.Product, "sqlserver://USER@HOST")
	}
	return d, nil
}

// remote is the table in a session with SQL Server, where it ends with that session. It is not safe for concurrent use.
type remote struct {
	connect func(ctx context.Context) (explain.Asker, error)
	asker   explain.Asker // nil: no session
	holds   loaded
	rows    int
	bytes   int
	want    Totals
}

// batch is how many documents a statement inserts: 400 kB of text.
const batch = 100

// load has the table of that size and seed in the session. It does nothing where that is so already.
func (s *remote) load(ctx context.Context, size int, seed uint64) (err error) {
	want := loaded{size, seed}
	if s.asker != nil && s.holds == want {
		return nil
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.asker == nil {
		if s.asker, err = s.connect(ctx); err != nil {
			return err
		}
	}
	s.holds = loaded{}
	t, err := Generate(ctx, size, seed)
	if err != nil {
		return err
	}
	defer debug.FreeOSMemory() // as large as the table
	if s.want, err = Total(ctx, t); err != nil {
		return err
	}
	do := func(name, text string) error {
		_, err := s.asker.Ask(ctx, explain.Query{Name: name, SQL: text})
		return err
	}
	if err := do("table",
		"if object_id('tempdb..#orders') is not null drop table #orders;\ncreate table #orders (id int not null "+
			"primary key, doc xml not null)"); err != nil {
		return err
	}
	for from := 0; from < t.Rows(); from += batch {
		var b strings.Builder
		b.WriteString("set nocount on; insert #orders values ")
		for i := from; i < min(from+batch, t.Rows()); i++ {
			if i > from {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "(%d, N'%s')", i+1, bytes.ReplaceAll(undeclared(t.Row(i)), []byte("'"), []byte("''")))
		}
		if err := do("rows", b.String()); err != nil {
			return err
		}
	}
	s.holds, s.rows, s.bytes = want, t.Rows(), t.Bytes()
	return nil
}

// undeclared is a document without its XML declaration: that names UTF-8, and a literal is in UTF-16.
func undeclared(doc []byte) []byte {
	if _, rest, ok := bytes.Cut(doc, []byte("?>\n")); ok && bytes.HasPrefix(doc, []byte("<?xml ")) {
		return rest
	}
	return doc
}

// maxdopQuery shreds as the embedded query does. Its mark finds it among the server's statistics.
func maxdopQuery(degree int) explain.Query {
	text := func(path string) string {
		return fmt.Sprintf("sum(cast(datalength(i.value('%s', 'nvarchar(200)')) as bigint)) / 2", path)
	}
	return explain.Query{Name: "query", SQL: fmt.Sprintf(`/* %s */ select count_big(*),
 sum(i.value('(../../@id)[1]', 'bigint')), sum(i.value('@line', 'bigint')), %s, %s, %s,
 sum(i.value('(quantity/text())[1]', 'bigint')), sum(cast(i.value('(price/text())[1]', 'decimal(18,2)') * 100 as bigint)),
 sum(cast(i.value('(discount/text())[1]', 'decimal(18,2)') * 100 as bigint)),
 sum(cast(datediff(day, '19700101', i.value('(due/text())[1]', 'date')) as bigint)), coalesce(sum(i.value('(hazard/@class)[1]', 'bigint')), 0),
 sum(cast(datalength(replace(replace(cast(i.query('../../customer') as nvarchar(max)), N' ', N''), nchar(10), N'')) as bigint)) / 2
 from #orders cross apply doc.nodes('/order/items/item') as n(i) option (maxdop %d)`,
		mark(degree), text("@sku"), text("(description/text())[1]"), text("(quantity/@unit)[1]"), degree)}
}

func mark(degree int) string { return fmt.Sprintf("hostlab maxdop %d", degree) }

// used asks for the degree that the last query had, and for its processor time in us.
func used(degree int) explain.Query {
	return explain.Query{Name: "used", SQL: fmt.Sprintf(`select top (1) s.last_dop, s.last_worker_time from sys.dm_exec_query_stats s
 cross apply sys.dm_exec_sql_text(s.sql_handle) t where t.text like '/* %s */%%' order by s.last_execution_time desc`, mark(degree))}
}

// sample makes a run.
func (s *remote) sample(ctx context.Context, q question, notes []string) (out workload.Sample, err error) {
	if err := s.load(ctx, q.Size, q.Seed); err != nil {
		return out, err
	}
	defer func() {
		if err != nil { // a cancelled statement may have taken the session with it
			s.Close()
		}
	}()
	a, doubt := answer{HasCPU: true}, ""
	for range q.Passes {
		began := time.Now()
		r, err := explain.One(ctx, s.asker, maxdopQuery(q.Degree))
		a.Wall += time.Since(began).Seconds()
		if err != nil {
			return out, err
		}
		if err := s.check(r); err != nil {
			return out, err
		}
		a.Rows, a.Documents, a.Bytes = a.Rows+r.Int(0), a.Documents+int64(s.rows), a.Bytes+int64(s.bytes)
		switch r, err = explain.One(ctx, s.asker, used(q.Degree)); {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			a.HasCPU, a.NoCPU = false, "sys.dm_exec_query_stats: "+err.Error()
		case len(r) == 0:
			a.HasCPU, a.NoCPU = false, "sys.dm_exec_query_stats has no such query"
		case r.Int(0) != int64(q.Degree):
			doubt = fmt.Sprintf(
				"SQL Server ran the query at degree %d, not %d: its edition, Resource Governor, its CPUs or 'cost "+
					"threshold for parallelism' say so", r.Int(0), q.Degree)
		}
		a.CPU += float64(r.Int(1)) / 1e6
	}
	if !a.HasCPU {
		notes = append(notes, "whether SQL Server ran the query at that degree is not known: "+a.NoCPU)
	}
	out = a.sample(notes)
	out.Doubt = doubt
	return out, nil
}

// check compares sums with the embedded query's. How SQL Server writes the customer's node is its own.
func (s *remote) check(r explain.Row) error {
	got := Totals{r.Int(0), r.Int(1), r.Int(2), r.Int(3), r.Int(4), r.Int(5), r.Int(6), r.Int(7), r.Int(8), r.Int(9),
		r.Int(10),
		s.want.Customer}
	if got != s.want {
		return fmt.Errorf("SQL Server returned %+v, the embedded query %+v: the query is broken", got, s.want)
	}
	if r.Int(11) <= 0 {
		return errors.New("SQL Server returned no customers: the query is broken")
	}
	return nil
}

// Close ends the session, and with it the table.
func (s *remote) Close() error {
	if s.asker == nil {
		return nil
	}
	err := s.asker.Close()
	s.asker, s.holds = nil, loaded{}
	return err
}
