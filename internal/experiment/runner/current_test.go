package runner

import (
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/explain/connect"
	"hostlab/internal/testkit"
)

// Where the server's value is another than when the experiment began, the periods at "current" would not compare.
func TestAnotherCurrent(t *testing.T) {
	l := &lever{Factor: experiment.Factor{Server: "commit_delay"}, server: &server{was: connect.Saved{Value: "20"}}}
	l.Levels = []string{experiment.Current, "100"}
	if err := otherwise(l, "20"); err != nil {
		t.Error(err)
	}
	testkit.Fails(t, otherwise(l, "0"), "commit_delay is 20 now, and was 0 when the experiment began")
	l.Levels = []string{"50", "100"} // what was there before is no level
	if err := otherwise(l, "0"); err != nil {
		t.Error(err)
	}
}
