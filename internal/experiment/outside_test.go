package experiment

import (
	"slices"
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
	"hostlab/internal/workload/client"
)

// A server that only a level names is told too.
func TestOutside(t *testing.T) {
	v := testkit.Must(workload.Check(client.Copy{}.Describe(), nil))(t)
	s := &Study{Work: client.Copy{}, Workload: Workload{Params: v}}
	if got := s.Outside(); got != nil {
		t.Errorf("private servers alone: %q", got)
	}
	s.Factors = []Factor{{Factor: result.Factor{Name: "where", Kind: "parameter",
		Levels: []string{"", "postgres://ann@one/erp", "postgres://ann@two/erp"}}, Parameter: "dsn"}}
	got := s.Outside()
	if len(got) != 2 || !slices.IsSortedFunc(got, strings.Compare) || !strings.Contains(got[0], "one:5432") {
		t.Errorf("%q", got)
	}
	s.Work = all.Null{}
	if got := s.Outside(); got != nil {
		t.Errorf("null: %q", got)
	}
}
