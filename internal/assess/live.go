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

// OnService are the studies that could prove a lever on the watched service, as experiment files name it. It is "" where
// there is no live service: what runs for hostlab alone, or on another host.
func (m *Minute) OnService() (name string, studies []string) {
	name = m.Service.Name
	switch m.Service.Kind {
	case service.Database:
	case service.Unit:
		name = "unit:" + name
	case service.Cgroup:
		name = "cgroup:" + name
	case service.Process:
		name = fmt.Sprintf("pid:%d", m.Service.PID)
	default:
		return "", nil
	}
	if m.Service.PID == 0 && m.Service.Kind != service.Cgroup {
		return "", nil
	}
	for _, list := range liveStudies {
		for _, s := range list {
			studies = append(studies, s.study)
		}
	}
	return name, studies
}

// tryFirst names, with the first lever that could be worth it, the study that tries it on the service that was watched, and
// that can run here.
func tryFirst(m *Minute, levers []Lever) {
	name, _ := m.OnService()
	if name == "" {
		return
	}
	for i := range levers {
		l := &levers[i]
		if l.Verdict != Worthwhile && l.Verdict != Possible {
			continue
		}
		for _, s := range liveStudies[l.Name] {
			if strings.Contains(l.Command, s.sets) && m.CannotTry[s.study] == "" {
				l.Try = "hostlab run " + s.study + " --set " + screen.Word("workload.service="+name)
				return
			}
		}
	}
}
