package xmlquery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// answers stand for SQL Server: columns of the types that Microsoft documents (bigint; last_dop and last_worker_time
// bigint), as text. The query's own are those of the embedded query.
type answers struct {
	asked  []explain.Query
	query  string
	used   string
	refuse string // name of a question that fails
	closed int
}

func (a *answers) Ask(ctx context.Context, q explain.Query) ([]explain.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.asked = append(a.asked, q)
	if q.Name == a.refuse {
		return nil, errors.New("VIEW SERVER STATE permission was denied on object 'server', database 'master'.")
	}
	text := map[string]string{"query": a.query, "used": a.used}[q.Name]
	if text == "" {
		return nil, nil
	}
	var row explain.Row
	for f := range strings.FieldsSeq(text) {
		row = append(row, sql.NullString{String: f, Valid: true})
	}
	return []explain.Row{row}, nil
}

func (a *answers) Close() error { a.closed++; return nil }

func recordedServer(t *testing.T, size int) *answers {
	t.Helper()
	table := testkit.Must(Generate(t.Context(), size, 5))(t)
	w := testkit.Must(Total(t.Context(), table))(t)
	return &answers{query: fmt.Sprint(w.Items, w.Order, w.Line, w.SKU, w.Description, w.Unit, w.Quantity, w.Price,
		w.Discount, w.Due, w.Hazard, 17), used: "4 2500000"}
}

func (a *answers) remote() *remote {
	return &remote{connect: func(context.Context) (explain.Asker, error) { return a, nil }}
}

// TestSQLServer holds statements and answers against what is documented. It says nothing of a real server.
func TestSQLServer(t *testing.T) {
	const size = 900 << 10 // more than two batches of documents
	a := recordedServer(t, size)
	s := a.remote()
	got, err := s.sample(t.Context(), question{Size: size, Seed: 5, Degree: 4, Passes: 2}, nil)
	if err != nil || got.Doubt != "" || got.Values["cpu_s"] != 5 || got.Values["wall"] <= 0 ||
		got.Operations != int64(2*s.rows) || len(got.Warnings) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	inserted := 0
	for _, q := range a.asked {
		if q.Name == "rows" {
			inserted += strings.Count(q.SQL, ", N'<order id=")
			if strings.Contains(q.SQL, "<?xml") || strings.Count(q.SQL, "'")%2 != 0 {
				t.Errorf("a literal that SQL Server cannot read: %.200s", q.SQL)
			}
		}
	}
	if inserted != s.rows || !strings.Contains(a.asked[len(a.asked)-2].SQL, "option (maxdop 4)") {
		t.Errorf("%d of %d rows; the query is %s", inserted, s.rows, a.asked[len(a.asked)-2].SQL)
	}
	before := len(a.asked)
	if _, err := s.sample(t.Context(), question{Size: size, Seed: 5, Degree: 1, Passes: 1}, nil); err != nil ||
		len(a.asked) != before+2 {
		t.Errorf("another degree takes the table anew: %d questions, %v", len(a.asked)-before, err)
	}

	for name, c := range map[string]struct {
		change      func(a *answers)
		doubt, fail string
		warns, cpu  bool
	}{
		"another degree": {func(a *answers) { a.used = "1 100" }, "at degree 1, not 4", "", false, true},
		"no right":       {func(a *answers) { a.refuse = "used" }, "", "", true, false},
		"evicted":        {func(a *answers) { a.used = "" }, "", "", true, false},
		"a wrong sum":    {func(a *answers) { a.query = "1" + a.query }, "", "the query is broken", false, false},
		"a lost session": {func(a *answers) { a.refuse = "query" }, "", "denied", false, false},
	} {
		a := recordedServer(t, 8<<10)
		c.change(a)
		s := a.remote()
		got, err := s.sample(t.Context(), question{Size: 8 << 10, Seed: 5, Degree: 4, Passes: 1}, nil)
		_, cpu := got.Values["cpu_s"]
		if (err != nil) != (c.fail != "") || err != nil && !strings.Contains(err.Error(), c.fail) ||
			!strings.Contains(got.Doubt, c.doubt) || (got.Doubt == "") != (c.doubt == "") ||
			(len(got.Warnings) > 0) != c.warns || cpu != c.cpu {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if failed := err != nil; failed != (s.asker == nil) || failed && a.closed != 1 {
			t.Errorf("%s: the session is kept, or not: %d closed", name, a.closed)
		}
	}
}

func TestSQLServerIsNamed(t *testing.T) {
	t.Setenv(dsnVariable, "")
	for _, c := range []struct {
		given map[string]any
		wrong string
	}{
		{map[string]any{"engine": inSQLServer}, "none is named"},
		{map[string]any{"engine": inSQLServer, "dsn": "postgres://me@db1/x"}, "names PostgreSQL"},
		{map[string]any{"engine": inSQLServer, "dsn": "sqlserver://sa:s3cr3t@db1"}, "password"},
		{map[string]any{"engine": inSQLServer, "dsn": "sqlserver://sa@db1", "cpus": "one-per-core"},
			"places the server's processes"},
		{map[string]any{"engine": inSQLServer, "dsn": "sqlserver://sa@db1", "degree": "40000"}, "at most 32767"},
		{map[string]any{"dsn": "sqlserver://sa@db1"}, "is of engine sqlserver"},
		{map[string]any{"engine": inSQLServer, "dsn": "sqlserver://sa@db1", "degree": "8"}, ""},
	} {
		p, err := workload.Check(Workload{}.Describe(), c.given)
		if err == nil {
			err = Workload{}.Validate(workload.Config{Params: p})
		}
		if (err == nil) != (c.wrong == "") || err != nil &&
			(!strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "s3cr3t")) {
			t.Errorf("%v: %v", c.given, err)
		}
		if got := (Workload{}).Outside(p); c.wrong == "" && !strings.Contains(got, "db1") {
			t.Errorf("it is not said whose server is used: %q", got)
		}
	}
}
