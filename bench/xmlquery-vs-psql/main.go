// Xmlquery-vs-psql compares the elapsed time of the workload xmlquery on PostgreSQL
// with that of the same SQL in psql, on the same server and table. Both run in every
// round, in random order.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"hostlab/bench/psql"
	"hostlab/bench/rounds"
	"hostlab/internal/workload/xmlquery"
)

func main() {
	size := flag.Int("mib", 16, "size of the table, MiB")
	degree := flag.Int("degree", 1, "degree of parallelism")
	rounds.Main("xmlquery-vs-psql", 15, func(ctx context.Context, p rounds.Plan) error { return compare(ctx, *size<<20, *degree, p) })
}

func compare(ctx context.Context, size, degree int, p rounds.Plan) error {
	work, err := os.MkdirTemp("", "hostlab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	d := xmlquery.NewDatabase(work)
	defer d.Close()
	if err := d.Load(ctx, size, 1); err != nil {
		return err
	}
	ours := func() (float64, error) {
		a, doubt, err := d.Run(ctx, degree, 1)
		if doubt != "" {
			fmt.Println("  doubt:", doubt)
		}
		return a.Wall, err
	}
	// psql has the same settings, and tells the time itself.
	script := strings.Join(xmlquery.Session(degree), ";\n") + ";\n\\timing on\n" + xmlquery.PostgresQuery + ";\n"
	theirs := func() (float64, error) { return psql.Timed(ctx, d.Server().SocketDir(), script, "-A", "-t") }
	if _, err := ours(); err != nil { // sets the table's degree, which is for both
		return err
	}
	kinds := []rounds.Kind{{Name: "hostlab s", Run: ours}, {Name: "again s", Run: ours}, {Name: "psql s", Run: theirs}}
	fmt.Printf("PostgreSQL %s, %d MiB, degree %d, %d rounds, seed %d\n", d.Server().Programs.Version, size>>20, degree, p.Rounds, p.Seed)
	if err := p.Time(os.Stdout, kinds); err != nil {
		return err
	}
	ratio, aa := rounds.Ratio(kinds[0].Took, kinds[2].Took), rounds.Ratio(kinds[0].Took, kinds[1].Took)
	fmt.Printf("\nhostlab / psql           %.3f  [%.3f, %.3f]  n=%d, 95 %%\nhostlab / hostlab (A/A)  %.3f  [%.3f, %.3f]\n",
		ratio.Value, ratio.Low, ratio.High, ratio.N, aa.Value, aa.Low, aa.High)
	fmt.Println(rounds.Within(ratio, 0.05))
	return nil
}
