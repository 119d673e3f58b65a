package validation

import (
	"context"
	"testing"
)

func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		key := c.Group + "/" + c.Name + "/" + c.What
		if seen[key] {
			t.Errorf("two cases are called %s", key)
		}
		seen[key] = true
		t.Run(c.Group+"/"+c.Name, func(t *testing.T) {
			r, err := c.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: model %.5g [%.5g, %.5g] %s, expected %.5g, residual %+.2f %% of %.3g %%", c.What, r.Mean, r.Low, r.High, c.Unit,
				c.Expected, c.Residual(r)*100, c.Tolerance*100)
			if !c.Passes(r) {
				t.Errorf("%s (%s): model %.5g [%.5g, %.5g], expected %.5g +- %.3g %%", c.What, c.Source, r.Mean, r.Low, r.High, c.Expected, c.Tolerance*100)
			}
		})
	}
}
