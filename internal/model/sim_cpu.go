package model

import (
	"math"
)

func (s *sim) account(i int32) {
	k := &s.cpus[i]
	dt := s.now - k.since
	if dt <= 0 {
		return
	}
	k.since = s.now
	s.meter.joules += float64(dt) * k.watts
	if k.proc < 0 {
		s.meter.inIdle[k.idle] += dt
		if s.g.rule == ruleSchedutil {
			k.util *= decay(float64(dt) / s.g.halfLife)
		}
		return
	}
	s.meter.inPoint[k.point] += dt
	done := float64(dt) * k.rate
	k.left -= done
	s.meter.work += done
	k.busy += dt
	k.cycles += float64(dt) * min(1, s.hw.scale[k.point])
	if s.g.rule == ruleSchedutil {
		s.track(k, dt)
	}
}

func (s *sim) begin(i, p int32) {
	s.account(i)
	k := &s.cpus[i]
	exit := s.hw.exit[k.idle]
	idle := float64(s.now - k.idleFrom)
	if math.IsInf(k.idleMean, 1) {
		k.idleMean = idle
	} else {
		k.idleMean += (idle - k.idleMean) / 4 // assumption: a quarter of each new idle time
	}
	s.meter.inIdle[k.idle] += exit
	s.meter.joules += float64(exit) * k.watts
	k.since = s.now + exit
	if s.hw.asking != nil {
		s.falls(-1, i)
	}
	s.take(i, p)
	s.coreBusy(i, 1)
	s.governStart(i)
	s.refresh(i)
}

func (s *sim) take(i, p int32) {
	k, r := &s.cpus[i], &s.procs[p]
	k.proc, k.left = p, r.work
	r.ran = max(s.now, k.since)
	if s.g.rule == ruleSchedutil {
		s.migrate(i, p)
	}
	r.last = i
}

// endSlice finishes the slice on a CPU, which goes on with the next process that
// waits, or with the same one when it does not wait, or idles.
func (s *sim) endSlice(i int32) {
	s.account(i)
	k := &s.cpus[i]
	p := k.proc
	r := &s.procs[p]
	r.cpu += s.now - r.ran
	if s.g.rule == ruleSchedutil {
		r.est = estimated(r.est, r.util)
	}
	ready := s.advance(p)
	switch {
	case s.waiting.n > 0:
		if ready {
			s.waiting.push(p)
		}
		s.take(i, s.waiting.pop())
	case ready:
		s.take(i, p)
	default:
		s.rest(i)
		return
	}
	if s.g.rule == ruleSchedutil {
		s.consider(i)
	}
	s.schedule(i)
}

func (s *sim) rest(i int32) {
	k := &s.cpus[i]
	k.proc = -1
	// What just ended may have been scheduled again, by a change of frequency that a
	// process it woke on another CPU brought about.
	s.q.Cancel(i)
	k.idleFrom = s.now
	k.idle = s.hw.idleState(k.idleMean)
	s.place.release(i)
	s.coreBusy(i, -1)
	s.governStop(i)
	s.refresh(i)
}

// coreBusy counts a thread that started or stopped: siblings change their rate,
// and the socket may change its turbo bin.
func (s *sim) coreBusy(i, by int32) {
	h := &s.hw
	k := &s.cpus[i]
	h.cores[k.core] += by
	busy := h.cores[k.core]
	if threads := int32(h.m.ThreadsPerCore); threads > 1 {
		for j := k.core * threads; j < (k.core+1)*threads; j++ {
			if j != i {
				s.refresh(j)
			}
		}
	}
	if h.turbo == nil || by > 0 && busy != 1 || by < 0 && busy != 0 {
		return
	}
	at := &h.sockets[k.socket]
	at.active += by
	point := h.turbo[at.active]
	if point == at.turbo {
		return
	}
	at.turbo = point
	perSocket := int32(h.m.ThreadsPerCore * h.m.CoresPerSocket)
	cpus := s.cpus[k.socket*perSocket:][:perSocket]
	for j := range cpus {
		if c := &cpus[j]; c.proc >= 0 && h.domains[c.domain].request == h.top && c != k {
			s.refresh(k.socket*perSocket + int32(j))
		}
	}
}

func (s *sim) refresh(i int32) {
	s.account(i)
	k := &s.cpus[i]
	h := &s.hw
	busy := h.cores[k.core]
	if k.proc < 0 {
		k.watts = h.idleWatts(k.idle, busy)
		return
	}
	k.point = h.pointOf(k)
	k.rate = h.rate[k.point] * h.share[busy]
	k.pace = h.pace[k.point] * h.slow[busy]
	k.watts = h.watts[k.point] * h.power[busy]
	if s.q.Pending(i) {
		s.moved++
	}
	s.schedule(i)
}

func (s *sim) schedule(i int32) {
	k := &s.cpus[i]
	s.q.Set(i, evSlice, max(s.now, k.since)+Time(max(0, k.left*k.pace)+0.5))
}
