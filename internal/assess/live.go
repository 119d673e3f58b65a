package assess

import (
	"fmt"
	"slices"

	"hostlab/internal/lever"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// liveStudies prove a lever on the service itself, by the setting that its step changes; "" for any.
var liveStudies = map[string][]struct{ sets, study string }{
	lever.Clock:  {{"epp", "live-epp"}, {"governor", "live-governor"}},
	lever.Idle:   {{"", "live-idle"}},
	lever.SMT:    {{"smt", "live-smt"}},
	lever.Memory: {{"thp", "live-thp"}},
	lever.Data:   {{"", "live-scheduler"}},
}

// logStudy shows what another log device gives.
const (
	logStudy   = "log-device"
	logCommand = "hostlab run " + logStudy
	logTakes   = "up to 40 min"
)

// OnService are the studies that could prove a lever on the watched service, as experiment files name it. It is ""
// where
// there is no live service: what runs for hostlab alone, or on another host.
func (m *Minute) OnService() (name string, studies []string) {
	name = m.Service.Name
	switch m.Service.Kind {
	case service.Database:
		if m.Service.Why != "" && m.Service.PID != 0 { // another one here may have its name
			name = fmt.Sprintf("pid:%d", m.Service.PID)
		}
	case service.Unit:
		name = "unit:" + name
	case service.Cgroup, service.Pod, service.Container:
		name = string(m.Service.Kind) + ":" + name
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

// Join gives the levers of a service with what checks and probes know of the platform, unless that is another host's.
func (m *Minute) Join(platform []lever.Lever) []lever.Lever {
	if m.Away() {
		platform = nil
	}
	out := lever.Join(m.Levers(), platform)
	for i := range out {
		l := &out[i]
		switch {
		case l.Name == lever.Log && m.CannotTry[logStudy] == "":
			l.Next = lever.Next{Command: logCommand,
				Note: logTakes + ", on the disk of --out; --set level.disk=DIRECTORY names one on the log's own"}
		case l.Name == lever.Clock:
			l.Add(m.Policies.evidence()...)
		}
	}
	tryFirst(m, out)
	return out
}

// tryFirst names, with the first lever that could be worth it, the study that tries it on the service that was
// watched, and
// that can run here.
func tryFirst(m *Minute, levers []lever.Lever) {
	name, _ := m.OnService()
	if name == "" {
		return
	}
	for i := range levers {
		l := &levers[i]
		if !l.Open() {
			continue
		}
		for _, s := range liveStudies[l.Name] {
			if (s.sets == "" || slices.Contains(l.Next.Sets, s.sets)) && m.CannotTry[s.study] == "" {
				l.Try = "hostlab run " + s.study + " --set " + screen.Word("workload.service="+name)
				return
			}
		}
	}
}
