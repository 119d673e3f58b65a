package xmlquery

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Table is a cached table of orders with an XML column: one document a row, all
// in one piece of memory.
type Table struct {
	data []byte
	end  []int // of each row in data
}

// Rows is how many rows the table has.
func (t *Table) Rows() int { return len(t.end) }

// Bytes is how much XML the table holds.
func (t *Table) Bytes() int { return len(t.data) }

// Row returns the XML column of row i.
func (t *Table) Row(i int) []byte {
	begin := 0
	if i > 0 {
		begin = t.end[i-1]
	}
	return t.data[begin:t.end[i]:t.end[i]]
}

// NewTable makes a table from documents.
func NewTable(docs ...[]byte) *Table {
	t := &Table{}
	for _, d := range docs {
		t.data = append(t.data, d...)
		t.end = append(t.end, len(t.data))
	}
	return t
}

// Generate makes a table of at least so many bytes of orders. The same seed gives
// the same table on every machine. It ends early with ctx's error.
func Generate(ctx context.Context, bytes int, seed uint64) (*Table, error) {
	t := &Table{data: make([]byte, 0, bytes+16<<10)}
	w := writer{rng: rand.New(rand.NewPCG(seed, 0x6f72646572)), b: t.data}
	for len(w.b) < bytes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.order(len(t.end) + 1)
		t.end = append(t.end, len(w.b))
	}
	t.data = w.b
	return t, nil
}

type writer struct {
	rng *rand.Rand
	b   []byte
}

var (
	companies = []string{"Müller &amp; Söhne", "Baker &amp; Co", "Nordic Tools", "Sol y Mar", "Łódź Metal",
		"Red Lantern",
		"Quarry 9"}
	cities   = []string{"Walldorf", "Bergen", "Toledo", "Kraków", "Osaka", "Leeds", "Recife", "Tartu"}
	products = []string{"hinge, brass", "bolt M8 &lt;40 mm", "gasket &quot;C&quot;", "bearing 6204", "pump housing",
		"valve 3/4 in", "cable 5 m"}
	words = []string{"deliver", "before", "noon", "gate", "call", "ahead", "fragile", "pallet", "R&amp;D", "stock &gt; 5",
		"as", "agreed", "partial"}
	units = []string{"PC", "KG", "M", "L"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func (w *writer) f(format string, args ...any) { w.b = fmt.Appendf(w.b, format, args...) }

func (w *writer) note(most int) {
	for i := range 3 + w.rng.IntN(most) {
		if i > 0 {
			w.b = append(w.b, ' ')
		}
		w.b = append(w.b, pick(w.rng, words)...)
	}
}

// order writes one document of about 4 kB: a header, a customer and its lines, as
// an ERP system's interface sends them.
func (w *writer) order(id int) {
	r := w.rng
	w.f("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	w.f("<order id=\"%d\" status=\"%s\" currency=\"EUR\">\n", id, pick(r, []string{"open", "shipped", "billed"}))
	w.f("  <header><created>20%02d-%02d-%02d</created><clerk>U%05d</clerk><channel>%s</channel></header>\n",
		10+r.IntN(16), 1+r.IntN(12), 1+r.IntN(28), r.IntN(100000), pick(r, []string{"edi", "web", "phone"}))
	w.f("  <customer no='%08d'><name>%s</name><city>%s</city><street>%s %d</street><vat>DE%09d</vat></customer>\n",
		r.IntN(1e8), pick(r, companies), pick(r, cities), pick(r, []string{"Hafenstraße", "Mill Lane", "Rua Nova"}),
		1+r.IntN(200), r.IntN(1e9))
	w.f("  <items>\n")
	for line := range 8 + r.IntN(10) {
		w.f("    <item line=\"%d\" sku=\"%c%c-%06d\">\n      <description>%s</description>\n", (line+1)*10,
			'A'+r.IntN(26), 'A'+r.IntN(26), r.IntN(1e6), pick(r, products))
		w.f("      <quantity unit=\"%s\">%d</quantity><price>%d.%02d</price>", pick(r, units), 1+r.IntN(400), r.IntN(5000),
			r.IntN(100))
		w.f("<discount>%s</discount>", strconv.FormatFloat(float64(r.IntN(200))/10, 'f', 1, 64))
		w.f("<due>20%02d-%02d-%02d</due>", 20+r.IntN(8), 1+r.IntN(12), 1+r.IntN(28))
		if r.IntN(6) == 0 {
			w.f("<hazard class=\"%d\"/>", 1+r.IntN(9))
		}
		w.f("\n    </item>\n")
	}
	w.f("  </items>\n  <!-- printed by form %d -->\n  <note>", r.IntN(40))
	if r.IntN(4) == 0 {
		w.f("<![CDATA[see <drawing> #%d & sign]]>", r.IntN(1000))
	} else {
		w.note(24)
	}
	w.f("</note>\n</order>\n")
}

// Totals are sums over all columns of all rows of a query: of numbers their values,
// of text its bytes, of the customer's node its bytes without blanks, since databases
// write a node with other blanks than it was read with. A database can compute them
// too, unlike the check of a Sum.
type Totals struct {
	Items, Order, Line, SKU, Description, Unit, Quantity int64
	Price, Discount                                      int64 // hundredths
	Due                                                  int64 // days since 1970-01-01
	Hazard, Customer                                     int64
}

// Total is what a query of t must return, computed the embedded way.
func Total(ctx context.Context, t *Table) (sum Totals, err error) {
	var s shredder
	s.each = func(r *item) {
		sum.Items++
		sum.Order += r.order
		sum.Line += r.line
		sum.SKU += int64(s.sku)
		sum.Description += int64(s.description)
		sum.Unit += int64(s.unit)
		sum.Quantity += r.quantity
		sum.Price += r.price
		sum.Discount += r.discount
		sum.Due += r.due
		sum.Hazard += r.hazard
		sum.Customer += int64(solid(s.customer))
	}
	for i := range t.Rows() {
		if i%1024 == 0 && ctx.Err() != nil {
			return sum, ctx.Err()
		}
		s.customer = nil
		if _, _, err := s.shred(t.Row(i)); err != nil {
			return sum, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return sum, nil
}

// solid counts bytes that are neither spaces nor line ends.
func solid(b []byte) (n int) {
	for _, c := range b {
		if c != ' ' && c != '\n' {
			n++
		}
	}
	return n
}

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
