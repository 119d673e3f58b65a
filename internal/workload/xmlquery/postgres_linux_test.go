//go:build system

package xmlquery

import (
	"context"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

func TestContractOnPostgres(t *testing.T) {
	table := generate(t, 64<<10, 1)
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"engine": "postgres", "size": "64KiB", "degree": int64(2), "passes": int64(2)},
		Long:       map[string]any{"engine": "postgres", "size": "64KiB", "passes": int64(1000000)},
		Operations: int64(2 * table.Rows()),
		Work: func(_ *testing.T, _ workload.Session, got workload.Sample) any {
			return math.Round(got.Values["rows_per_s"] * got.Values["wall"])
		},
	})
}

// Total agrees with what encoding/xml reads.
func TestTotal(t *testing.T) {
	table := generate(t, 128<<10, 5)
	var want Totals
	for i := range table.Rows() {
		for _, r := range itemsByEncodingXML(t, table.Row(i)) {
			want.Items++
			want.Order += r.order
			want.Line += r.line
			want.Quantity += r.quantity
			want.Price += r.price
			want.Discount += r.discount
			want.Due += r.due
			want.Hazard += r.hazard
		}
	}
	got := testkit.Must(Total(t.Context(), table))(t)
	if got.SKU != 9*got.Items || got.Customer < 100*got.Items || got.Description < 7*got.Items || got.Unit < got.Items {
		t.Errorf("bytes of text: %+v", got)
	}
	got.SKU, got.Customer, got.Description, got.Unit = 0, 0, 0, 0 // PostgreSQL agrees on these
	testkit.Same(t, want, got)
	one, err := Total(t.Context(), NewTable([]byte(`<order id="1"><customer a="é"> <b/>
 </customer><items><item line="2" sku="a&amp;b"><description>&lt;é</description><quantity unit="kg">3</quantity></item></items></order>`)))
	if diff := cmp.Diff(Totals{Items: 1, Order: 1, Line: 2, SKU: 3, Description: 3, Unit: 2, Quantity: 3, Customer: 31},
		one); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Sizes, seeds and degrees change within a session, also beyond the memory that the
// server was started with; and a server that is killed is an error, once.
func TestDatabase(t *testing.T) {
	d := NewDatabase(t.TempDir())
	defer d.Close()
	query := func(size int, seed uint64, degree int) (answer, error) {
		t.Helper()
		testkit.OK(t, d.Load(t.Context(), size, seed))
		a, _, err := d.Run(t.Context(), degree, 1)
		return a, err
	}
	rows := map[int64]bool{}
	for _, c := range []struct {
		size   int
		seed   uint64
		degree int
	}{{256 << 10, 1, 1}, {256 << 10, 1, 4}, {256 << 10, 2, 4}, {512 << 10, 2, 3}} {
		a, err := query(c.size, c.seed, c.degree)
		if err != nil || !(a.Wall > 0) || !(a.CPU > 0) {
			t.Fatalf("%+v: %+v, %v", c, a, err)
		}
		rows[a.Rows] = true
	}
	testkit.Is(t, 3, len(rows), "rows", rows, "expected three numbers")
	d.want.Due++
	testkit.Refused(query(512<<10, 2, 1))(t, "the query is broken", "another answer")
	d.postgres.Holds = nil
	testkit.OK(t, d.Load(t.Context(), 512<<10, 2))
	server := d.Server().PID()
	time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(server, syscall.SIGKILL) })
	if _, _, err := d.Run(t.Context(), 1, 1_000_000); err == nil || !strings.Contains(err.Error(), "signal 9") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("killed: %v", err)
	}
	if _, err := query(256<<10, 1, 2); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestCheckPlan(t *testing.T) {
	const shred = `{"Node Type": "Nested Loop", "Plans": [{"Node Type": "Seq Scan"}, {"Node Type": "Function Scan", "Function Name": "shred"}]}`
	for _, c := range []struct {
		name, plan string
		degree     int
		want       string // in the error; empty: none
	}{
		{"serial", shred, 1, ""},
		{"parallel",
			`{"Node Type": "Aggregate", "Plans": [{"Node Type": "Gather", "Workers Planned": 3, "Workers Launched": 3, "Plans": [` + shred + `]}]}`, 4, ""},
		{"serial, not asked for", shred, 2, "not parallel"},
		{"parallel, not asked for", `{"Node Type": "Gather", "Workers Planned": 1, "Plans": [` + shred + `]}`, 1,
			"1 workers for degree 1"},
		{"above",
			`{"Node Type": "Nested Loop", "Plans": [{"Node Type": "Gather", "Workers Planned": 1, "Plans": [{"Node Type": "Seq Scan"}]}, {"Node Type": "Function Scan", "Function Name": "shred"}]}`, 2, "leader alone"},
		{"fewer planned", `{"Node Type": "Gather", "Workers Planned": 1, "Plans": [` + shred + `]}`, 4, "plans 1 workers"},
		{"fewer started", `{"Node Type": "Gather", "Workers Planned": 3, "Workers Launched": 1, "Plans": [` + shred + `]}`, 4,
			"started 1 of 3"},
		{"nowhere", `{"Node Type": "Result"}`, 1, "0 places"},
	} {
		err := checkPlan([]byte(`[{"Plan": `+c.plan+`}]`), c.degree)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
	testkit.Fails(t, checkPlan([]byte("no plan"), 1), "", "nonsense was taken")
}

func TestLeaderDoubt(t *testing.T) {
	for _, c := range []struct {
		degree      int
		leader, all float64
		doubt       bool
	}{{2, 0.5, 1, false}, {2, 0.8, 1, true}, {4, 0.6, 1, false}, {4, 0.7, 1, true}, {1, 1, 1, false},
		{2, 0.1, 0.1, false}} {
		testkit.Is(t, c.doubt, (leaderDoubt(c.degree, c.leader, c.all) != ""), c)
	}
}

// Refused before anything is started.
func TestEngineRefuses(t *testing.T) {
	v := testkit.Must(workload.Check(Workload{}.Describe(), map[string]any{"engine": "postgres", "degree": "1026"}))(t)
	testkit.Fails(t, (Workload{}).Validate(workload.Config{Params: v}), "1025", "degree 1026")
	v.(*Params).Degree = "1"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testkit.Refused((Workload{}).Open(ctx, workload.Config{Params: v, Work: "/proc/nowhere"}))(t, "/proc/nowhere",
		"a directory that is not there")
}
