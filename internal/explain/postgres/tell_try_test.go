package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"hostlab/internal/explain"
)

func TestTry(t *testing.T) {
	for _, m := range []int{13, 14, 16, 17, 18} {
		c, err := pgx.Connect(t.Context(), fmt.Sprintf("host=127.0.0.1 port=54%d user=postgres sslmode=disable", m))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := (&Asker{Conn: c, Direct: true}).Ask(t.Context(), tell(m*10000))
		if err != nil {
			t.Fatal(m, err)
		}
		x := explain.TellingOf(rows)
		t.Log(m, x.Epoch, x.Values, x.Settings)
	}
}
