package oltp

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The mix is as asked for, the same for the same seed, and reads what is there.
func TestMix(t *testing.T) {
	const n = 50000
	for _, reads := range []float64{0, 0.5, 0.9, 1} {
		l := load{rows: 1000, reads: reads, seed: 7}
		counts := map[kind]float64{}
		for i := range int64(n) {
			x := l.transaction(i)
			if x != l.transaction(i) {
				t.Fatalf("transaction %d is another the second time", i)
			}
			counts[x.kind] += 1.0 / n
			switch {
			case x.kind == pointRead && (x.at < 1 || x.at > 1000),
				x.kind == rangeRead && (x.at < 1 || x.last(1000)-x.at != rangeRows-1 || x.last(1000) > ordersEach*1000),
				x.kind == newOrder && (x.new.id != ordersEach*1000+1+i || x.new.item > items(1000) || x.new.amount < x.new.quantity):
				t.Fatalf("transaction %d: %+v", i, x)
			}
		}
		for k, want := range map[kind]float64{pointRead: reads * (1 - rangeShare), rangeRead: reads * rangeShare, newOrder: 1 - reads} {
			if diff := counts[k] - want; diff < -0.01 || diff > 0.01 || want == 0 && counts[k] > 0 {
				t.Errorf("of %g reads: kind %d is %.3f of all, expected %.3f", reads, k, counts[k], want)
			}
		}
	}
	other := load{rows: 1000, reads: 0.9, seed: 8}
	if (load{rows: 1000, reads: 0.9, seed: 7}).transaction(1) == other.transaction(1) && (load{rows: 1000, reads: 0.9, seed: 7}).transaction(2) == other.transaction(2) {
		t.Error("the seed decides nothing")
	}
}

func asked(dir string) question {
	return question{Dir: dir, Rows: 200, Count: 1000, Reads: 0.8, Seed: 1, Workers: 4, Sync: "off"}
}

// A run makes as many writes as its seed says, and starts from the same database each
// time, whatever was left there.
func TestRuns(t *testing.T) {
	q := asked(t.TempDir())
	if err := os.WriteFile(filepath.Join(q.Dir, "run.db-wal"), []byte("of a worker that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(q.Dir, "base-200.db"), []byte("half a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	writes := 0
	for i := range q.Count {
		if (load{q.Rows, q.Reads, q.Seed}).transaction(i).kind == newOrder {
			writes++
		}
	}
	s := &server{}
	for range 2 {
		a, err := s.answer(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Writes) != writes || len(a.Reads) != int(q.Count)-writes {
			t.Errorf("%d writes and %d reads, expected %d writes of %d", len(a.Writes), len(a.Reads), writes, q.Count)
		}
	}
	q.Rows = 100 // another size: the old one is of no more use
	if _, err := s.answer(q); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(q.Dir, "*"))
	if diff := cmp.Diff([]string{filepath.Join(q.Dir, "base-100.db")}, left); diff != "" || err != nil {
		t.Errorf("files (-want +got):\n%s%v", diff, err)
	}
}

// A database that gives wrong answers, or has lost some, fails the run.
func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		statement string
		reads     float64
		want      string
	}{
		"a lost order":  {"DELETE FROM orders WHERE id = 400", 0, "the database has 899 orders"}, // 400 + 500 - 1
		"stock taken":   {"UPDATE item SET stock = stock - 1 WHERE id = 1", 0.6, "transactions were lost, or made twice"},
		"money made":    {"UPDATE customer SET balance = balance + 1 WHERE id = 7", 0.6, "transactions were lost, or made twice"},
		"wrong credit":  {"UPDATE customer SET credit = credit + 1", 0.6, "other data than was written"},
		"wrong order":   {"UPDATE orders SET quantity = quantity + 1", 0.6, "other data than was written"},
		"wrong price":   {"UPDATE item SET price = price + 1", 0.6, "other data than was written"},
		"customer gone": {"DELETE FROM customer WHERE id > 150", 0.6, "customer "},
	} {
		t.Run(name, func(t *testing.T) {
			q := asked(t.TempDir())
			s := &server{}
			if _, err := s.base(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			q.Count, q.Reads = 500, c.reads
			change(t, filepath.Join(q.Dir, "base-200.db"), c.statement)
			_, err := s.answer(q)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; expected %q", err, c.want)
			}
		})
	}
}

func change(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// A full disk is told in one line, when the database is made and in a run, and leaves
// no file of a run.
func TestFull(t *testing.T) {
	const want = "SQLite's disk is full in "
	q := asked(t.TempDir())
	q.MaxPages = 5
	s := &server{}
	if _, err := s.answer(q); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("while it was made: %v", err)
	}
	if left, _ := os.ReadDir(q.Dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	q.MaxPages, q.Count = 0, 0
	if _, err := s.answer(q); err != nil {
		t.Fatal(err)
	}
	q.MaxPages, q.Count, q.Reads = 5, 20000, 0 // SQLite takes the size that it has
	if _, err := s.answer(q); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("in a run: %v", err)
	}
	if left, _ := os.ReadDir(q.Dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	q.MaxPages, q.Count = 0, 100
	if _, err := s.answer(q); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// What another has put in the place of the copy is neither followed nor emptied.
func TestCopyIsNew(t *testing.T) {
	dir := t.TempDir()
	from, kept, link := filepath.Join(dir, "from"), filepath.Join(dir, "kept"), filepath.Join(dir, "link")
	for _, name := range []string{from, kept} {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{link, kept} {
		if err := copyFile(from, to); !os.IsExist(err) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != kept {
		t.Errorf("%q, %v", b, err)
	}
}
