package main

import (
	"testing"

	"hostlab/internal/assess"
	"hostlab/internal/service"
)

// The first lever that could be worth it names the study that tries it on the service that was watched.
func TestTryFirst(t *testing.T) {
	epp := assess.Lever{Name: assess.Clock, Verdict: assess.Possible, Command: "hostlab set epp=performance"}
	idle := assess.Lever{Name: assess.Idle, Verdict: assess.Worthwhile, Command: "hostlab set cstate_latency=70us"}
	none := assess.Lever{Name: assess.SMT, Verdict: assess.Negligible, Command: "hostlab set smt=off"}
	for _, c := range []struct {
		of     service.Service
		levers []assess.Lever
		want   string
	}{
		{service.Service{Kind: service.Database, Name: "PostgreSQL", PID: 7}, []assess.Lever{none, epp, idle}, "hostlab run live-epp --set workload.service=PostgreSQL"},
		{service.Service{Kind: service.Unit, Name: "my shop.service", PID: 7}, []assess.Lever{idle, epp}, "hostlab run live-idle --set 'workload.service=unit:my shop.service'"},
		{service.Service{Kind: service.Process, Name: "java", PID: 7}, []assess.Lever{idle}, "hostlab run live-idle --set workload.service=pid:7"},
		{service.Service{Kind: service.Demo, Name: "the demo shop", PID: 7}, []assess.Lever{idle}, ""},
		{service.Service{Kind: service.Database, Name: "PostgreSQL"}, []assess.Lever{idle}, ""}, // on another host
		{service.Service{Kind: service.Process, PID: 7}, []assess.Lever{none}, ""},
	} {
		tryFirst(&assess.Minute{Service: c.of}, c.levers)
		got := ""
		for _, l := range c.levers {
			if got += l.Try; l.Try != "" && l.Verdict == assess.Negligible {
				t.Errorf("%s of a lever that gives nothing", l.Try)
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.of, got, c.want)
		}
	}
}
