package assess

import (
	"testing"

	"hostlab/internal/lever"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// The first lever that could be worth it names the study that tries it on the service that was watched.
func TestTryFirst(t *testing.T) {
	epp := lever.Lever{Name: lever.Clock, Verdict: lever.Possible, Next: lever.Next{Sets: []string{"epp"}}}
	idle := lever.Lever{Name: lever.Idle, Verdict: lever.Worthwhile, Next: lever.Next{Sets: []string{"cstate_latency"}}}
	none := lever.Lever{Name: lever.SMT, Verdict: lever.Negligible, Next: lever.Next{Sets: []string{"smt"}}}
	for _, c := range []struct {
		of     service.Service
		levers []lever.Lever
		cannot string // run here
		want   string
	}{
		{service.Service{Kind: service.Database, Name: "PostgreSQL", PID: 7}, []lever.Lever{none, epp, idle}, "",
			"hostlab run live-epp --set workload.service=PostgreSQL"},
		{service.Service{Kind: service.Unit, Name: "my shop.service", PID: 7}, []lever.Lever{idle, epp}, "",
			"hostlab run live-idle --set 'workload.service=unit:my shop.service'"},
		{service.Service{Kind: service.Process, Name: "java", PID: 7}, []lever.Lever{idle}, "",
			"hostlab run live-idle --set workload.service=pid:7"},
		{service.Service{Kind: service.Process, Name: "java", PID: 7}, []lever.Lever{idle, epp}, "live-idle",
			"hostlab run live-epp --set workload.service=pid:7"},
		{service.Service{Kind: service.Process, Name: "java", PID: 7}, []lever.Lever{idle}, "live-idle", ""},
		{service.Service{Kind: service.Demo, Name: "the demo shop", PID: 7}, []lever.Lever{idle}, "", ""},
		{service.Service{Kind: service.Database, Name: "PostgreSQL"}, []lever.Lever{idle}, "", ""}, // on another host
		{service.Service{Kind: service.Process, PID: 7}, []lever.Lever{none}, "", ""},
	} {
		tryFirst(&Minute{Service: c.of, CannotTry: map[string]string{c.cannot: "no"}}, c.levers)
		got := ""
		for _, l := range c.levers {
			if got += l.Try; l.Try != "" && l.Verdict == lever.Negligible {
				t.Errorf("%s of a lever that gives nothing", l.Try)
			}
		}
		testkit.Is(t, c.want, got, c.of)
	}
}
