package runner

import (
	"strings"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/explain/connect"
)

// Where the server's value is another than when the experiment began, the periods at "current" would not compare.
func TestAnotherCurrent(t *testing.T) {
	l := &lever{Factor: experiment.Factor{Server: "commit_delay"}, server: &server{was: connect.Saved{Value: "20"}}}
	l.Levels = []string{experiment.Current, "100"}
	if err := otherwise(l, "20"); err != nil {
		t.Error(err)
	}
	if err := otherwise(l, "0"); err == nil || !strings.Contains(err.Error(), "commit_delay is 20 now, and was 0 when the experiment began") {
		t.Error(err)
	}
	l.Levels = []string{"50", "100"} // what was there before is no level
	if err := otherwise(l, "0"); err != nil {
		t.Error(err)
	}
}
