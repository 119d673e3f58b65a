package xmlquery

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/cpus"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// xmlOrder is what encoding/xml makes of an order, the slow and trusted way.
type xmlOrder struct {
	XMLName  xml.Name `xml:"order"`
	ID       int64    `xml:"id,attr"`
	Customer struct {
		Inner []byte `xml:",innerxml"`
		No    string `xml:"no,attr"`
	} `xml:"customer"`
	Items []struct {
		Line        int64  `xml:"line,attr"`
		SKU         string `xml:"sku,attr"`
		Description string `xml:"description"`
		Quantity    struct {
			Unit  string `xml:"unit,attr"`
			Count int64  `xml:",chardata"`
		} `xml:"quantity"`
		Price    string `xml:"price"`
		Discount string `xml:"discount"`
		Due      string `xml:"due"`
		Hazard   struct {
			Class int64 `xml:"class,attr"`
		} `xml:"hazard"`
	} `xml:"items>item"`
}

func itemsByEncodingXML(t *testing.T, doc []byte) []item {
	t.Helper()
	var o xmlOrder
	if err := xml.Unmarshal(doc, &o); err != nil {
		t.Fatalf("encoding/xml: %v\n%s", err, doc)
	}
	hundredths := func(s string) int64 {
		f := testkit.Must(strconv.ParseFloat(s, 64))(t)
		return int64(math.Round(f * 100))
	}
	var items []item
	for _, x := range o.Items {
		due := testkit.Must(time.Parse(time.DateOnly, x.Due))(t)
		customer := "<customer no='" + o.Customer.No + "'>" + string(o.Customer.Inner) + "</customer>"
		items = append(items, item{order: o.ID, line: x.Line, sku: hash([]byte(x.SKU)), desc: hash([]byte(x.Description)),
			unit: hash([]byte(x.Quantity.Unit)), quantity: x.Quantity.Count, price: hundredths(x.Price),
			discount: hundredths(x.Discount),
			due:      due.Unix() / 86400, hazard: x.Hazard.Class, customer: hash([]byte(customer))})
	}
	return items
}

func generate(t testing.TB, bytes int, seed uint64) *Table {
	t.Helper()
	return testkit.Must(Generate(context.Background(), bytes, seed))(t)
}

const handMade = `<!-- first --><order id="-7" x='"'><customer no='1'><a>&amp;<b/></a></customer>
<items note="a>b"><item sku="A&amp;B&#33;" line="3"><description>x<![CDATA[ < ]]>y<!-- z -->&lt;</description>
<extra><price>9</price></extra><quantity unit="&quot;">  </quantity ></item></items></order>`

func TestItemsAgreeWithEncodingXML(t *testing.T) {
	hand := strings.Replace(handMade, "  </quantity >",
		"12</quantity ><price>-0.5</price><discount>3</discount><due>2024-02-29</due>", 1)
	docs := [][]byte{[]byte(hand)}
	table := generate(t, 256<<10, 7)
	for i := range table.Rows() {
		docs = append(docs, table.Row(i))
	}
	total := 0
	for _, doc := range docs {
		var got []item
		s := shredder{each: func(r *item) { got = append(got, *r) }}
		rows, _, err := s.shred(doc)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if diff := cmp.Diff(itemsByEncodingXML(t, doc), got, cmp.AllowUnexported(item{})); diff != "" {
			t.Fatalf("-encoding/xml +shredder\n%s\n%s", diff, doc)
		}
		testkit.Is(t, int64(len(got)), rows, "rows reported", len(got), "seen")
		total += len(got)
	}
	if total < 500 {
		t.Errorf("only %d items compared", total)
	}
}

func TestShredRefuses(t *testing.T) {
	for _, doc := range []string{``, `<other id="1"/>`, `<order id="1"/><order id="2"/>`, `<order id="x"/>`, `<order/>`,
		handMade, // its quantity is blank
		`<order id="1"><items><item line="1"><due>2024-2-1</due></item></items></order>`,
		`<order id="1"><items><item line="1"><price>1.234</price></item></items></order>`,
		`<order id="1"><items><item line="1">`,
	} {
		if _, _, err := new(shredder).shred([]byte(doc)); err == nil {
			t.Errorf("accepted: %s", doc)
		}
	}
}

func TestSameSumAtEveryDegree(t *testing.T) {
	table := generate(t, 300<<10, 3)
	want, _, err := Query(context.Background(), table, 1, 1)
	testkit.OK(t, err)
	if want.Rows < 500 || want.Check == 0 {
		t.Fatalf("too little was summed: %+v", want)
	}
	for _, degree := range []int{2, 3, 4, 8, 64} {
		for _, passes := range []int{1, 3} {
			got, took, err := Query(context.Background(), table, degree, passes)
			testkit.OK(t, err)
			if got.Rows != want.Rows*int64(passes) || got.Check != want.Check*uint64(passes) {
				t.Errorf("degree %d, %d passes: %+v, one pass gives %+v", degree, passes, got, want)
			}
			if took <= 0 {
				t.Errorf("degree %d took %v", degree, took)
			}
		}
	}
}

// TestEveryColumnCounts changes one column at a time in the document: a sum that
// does not notice would let the work be left out.
func TestEveryColumnCounts(t *testing.T) {
	base := `<order id="1"><customer no='1'/><items><item line="1" sku="s"><description>d</description><quantity unit="u">2</quantity>` +
		`<price>3.00</price><discount>4.0</discount><due>2024-01-01</due><hazard class="5"/></item></items><note>n</note></order>`
	sum := func(doc string) Sum {
		got, _, err := Query(context.Background(), NewTable([]byte(doc)), 1, 1)
		testkit.OK(t, err)
		return got
	}
	want := sum(base)
	for _, change := range [][2]string{{`id="1"`, `id="2"`}, {"no='1'", "no='2'"}, {`line="1"`, `line="2"`},
		{`sku="s"`, `sku="t"`},
		{">d<", ">e<"}, {`"u"`, `"v"`}, {">2<", ">3<"}, {"3.00", "3.01"}, {"4.0", "4.1"}, {"2024-01-01", "2024-01-02"},
		{`"5"`, `"6"`}, {">n<", ">m<"}} {
		if got := sum(strings.Replace(base, change[0], change[1], 1)); got.Check == want.Check {
			t.Errorf("%s for %s leaves the sum as it was", change[1], change[0])
		}
	}
}

func TestQueryErrors(t *testing.T) {
	table := generate(t, 64<<10, 1)
	for _, bad := range [][2]int{{0, 1}, {1, 0}, {-1, 1}} {
		if _, _, err := Query(context.Background(), table, bad[0], bad[1]); err == nil {
			t.Errorf("degree %d, passes %d was accepted", bad[0], bad[1])
		}
	}
	broken := NewTable(table.Row(0), []byte("<order"), table.Row(1))
	if _, _, err := Query(context.Background(), broken, 2, 1); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("broken row: %v", err)
	}
}

func TestQueryIsCancelled(t *testing.T) {
	table := generate(t, 1<<20, 1)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Generate(ctx, 1<<30, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("generating: %v", err)
	}
	if _, _, err := Query(ctx, table, 2, 1_000_000); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	a, b, c := generate(t, 100<<10, 1), generate(t, 100<<10, 1), generate(t, 100<<10, 2)
	if !bytes.Equal(a.data, b.data) {
		t.Error("the same seed gave another table")
	}
	if bytes.Equal(a.data, c.data) {
		t.Error("another seed gave the same table")
	}
}

func TestQueryDoesNotAllocateByRow(t *testing.T) {
	table := generate(t, 1<<20, 1)
	allocs := testing.AllocsPerRun(3, func() {
		if _, _, err := Query(context.Background(), table, 1, 1); err != nil {
			t.Fatal(err)
		}
	})
	if rows := float64(table.Rows()); allocs > rows/5 {
		t.Errorf("%v allocations for %v rows", allocs, rows)
	}
}

func TestColumnTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "n")
		if got, err := parseInt(strconv.AppendInt(nil, n, 10)); err != nil || got != n {
			t.Fatalf("parseInt(%d) = %d, %v", n, got, err)
		}
		if got, err := parseHundredths(strconv.AppendFloat(nil, float64(n)/100, 'f', 2, 64)); err != nil || got != n {
			t.Fatalf("parseHundredths(%d/100) = %d, %v", n, got, err)
		}
		day := rapid.Int64Range(-719000, 2_900_000).Draw(t, "day")
		text := time.Unix(day*86400, 0).UTC().AppendFormat(nil, time.DateOnly)
		if got, err := parseDate(text); err != nil || got != day {
			t.Fatalf("parseDate(%s) = %d, %v, want %d", text, got, err, day)
		}
	})
	for _, bad := range []string{"", "-", "1a", "99999999999999999999"} {
		testkit.Refused(parseInt([]byte(bad)))(t, "", "parseInt", bad, "was accepted")
	}
}

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

func TestContract(t *testing.T) {
	table := generate(t, 64<<10, 1)
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"size": "64KiB", "degree": int64(2), "cpus": cpus.OnePerCore, "passes": int64(3)},
		Long:       map[string]any{"size": "64KiB", "passes": int64(1000000)},
		Operations: int64(3 * table.Rows()),
		Work: func(_ *testing.T, _ workload.Session, got workload.Sample) any { // the rows depend on the documents
			return math.Round(got.Values["rows_per_s"] * got.Values["wall"])
		},
	})
}

// Levels of size and degree take effect within a session.
func TestLevels(t *testing.T) {
	run := func(s workload.Session, given map[string]any) workload.Sample {
		t.Helper()
		v := testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
		return testkit.Must(s.Run(t.Context(), workload.Request{Params: v}))(t)
	}
	v := testkit.Must(workload.Check(Workload{}.Describe(), map[string]any{"size": "64KiB"}))(t)
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: v}))(t)
	defer s.Close()
	small := run(s, map[string]any{"size": "64KiB", "passes": int64(4)})
	large := run(s, map[string]any{"size": "256KiB", "passes": int64(4)})
	wide := run(s, map[string]any{"size": "256KiB", "passes": int64(4), "degree": int64(40)})
	if large.Operations <= 3*small.Operations || wide.Operations != large.Operations {
		t.Errorf("documents: %d in 64 KiB, %d in 256 KiB, %d at degree 40", small.Operations, large.Operations,
			wide.Operations)
	}
	for name, v := range wide.Values {
		if !(v > 0) {
			t.Errorf("%s = %g", name, v)
		}
	}
}

// BenchmarkParsers shows why the workload has a scanner of its own: encoding/xml's
// garbage, and so the collector, would be a good part of what is timed.
func BenchmarkParsers(b *testing.B) {
	table := generate(b, 1<<20, 1)
	b.Run("scanner", func(b *testing.B) {
		b.SetBytes(int64(table.Bytes()))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := Query(context.Background(), table, 1, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-xml", func(b *testing.B) {
		b.SetBytes(int64(table.Bytes()))
		b.ReportAllocs()
		for b.Loop() {
			for i := range table.Rows() {
				d := xml.NewDecoder(bytes.NewReader(table.Row(i)))
				for {
					if _, err := d.RawToken(); err != nil {
						break
					}
				}
			}
		}
	})
}
