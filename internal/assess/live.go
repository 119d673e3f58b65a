package assess

import (
	"fmt"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// liveStudies prove a lever on the service itself, by what its command would set; "" for any.
var liveStudies = map[string][]struct{ sets, study string }{
	Clock:  {{"epp", "live-epp"}, {"governor", "live-governor"}},
	Idle:   {{"", "live-idle"}},
	SMT:    {{"smt", "live-smt"}},
	Memory: {{"thp", "live-thp"}},
	Data:   {{"", "live-scheduler"}},
}

// tryFirst names, with the first lever that could be worth it, the study that tries it on the service that
// was watched.
func tryFirst(m *Minute, levers []Lever) {
	name := m.Service.Name
	switch m.Service.Kind {
	case service.Database:
	case service.Unit:
		name = "unit:" + name
	case service.Cgroup:
		name = "cgroup:" + name
	case service.Process:
		name = fmt.Sprintf("pid:%d", m.Service.PID)
	default:
		return // what runs for hostlab alone is no live service
	}
	if m.Service.PID == 0 && m.Service.Kind != service.Cgroup {
		return // its host is elsewhere
	}
	for i := range levers {
		l := &levers[i]
		if l.Verdict != Worthwhile && l.Verdict != Possible {
			continue
		}
		for _, s := range liveStudies[l.Name] {
			if strings.Contains(l.Command, s.sets) {
				l.Try = "hostlab run " + s.study + " --set " + screen.Word("workload.service="+name)
				return
			}
		}
	}
}
