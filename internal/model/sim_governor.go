package model

// A check that can change nothing is not simulated: that of a CPU which idled
// through its interval at the lowest state, or was busy through it at the highest.
// Such a CPU is parked, and its intervals resume in phase when it starts or stops.
// The result is the same as with all checks.

// unpark resumes a CPU's intervals; the one now running began with the CPU in the
// state that it had since it was parked.
func (s *sim) unpark(i int32, wasBusy bool) {
	k := &s.cpus[i]
	k.parked = false
	into := (s.now - k.phase) % s.g.period
	if into < 0 {
		into += s.g.period
	}
	k.start = s.now - into
	k.startBusy, k.startCycles = k.busy, k.cycles
	if wasBusy {
		k.startBusy -= into
		k.startCycles -= float64(into) * min(1, s.hw.scale[k.point])
	}
	s.q.Set(s.checkSlot(i), evCheck, k.start+s.g.period)
}

func (s *sim) governStart(i int32) {
	if s.g.rule == ruleSchedutil {
		s.wakeBoost(i)
		s.consider(i)
		return
	}
	if s.g.period > 0 && s.cpus[i].parked {
		s.unpark(i, false)
	}
}

func (s *sim) governStop(i int32) {
	if s.g.rule == ruleSchedutil {
		s.settle(i)
		s.consider(i)
		s.q.Cancel(s.checkSlot(i))
		return
	}
	if s.g.period > 0 && s.cpus[i].parked {
		s.unpark(i, true)
	}
}

func (s *sim) checkCPU(i int32) {
	s.account(i)
	if s.g.rule == ruleSchedutil {
		s.consider(i)
		return
	}
	k := &s.cpus[i]
	busy := k.busy - k.startBusy
	utilisation := s.g.utilisation(busy, k.cycles-k.startCycles)
	request := s.g.check(&k.past, s.c.Machine.PStates, utilisation, int(k.request))
	s.ask(i, int32(request))
	at := s.c.Machine.PStates[request]
	settled := s.g.rule != ruleConservative || k.past.target == at
	idle := k.proc < 0 && busy == 0 && request == s.g.floor && settled
	full := k.proc >= 0 && busy == s.g.period && request == s.g.top && settled
	if (idle || full) && !s.eager {
		k.parked = true
		k.past = sampled{}
		return
	}
	k.start, k.startBusy, k.startCycles = s.now, k.busy, k.cycles
	s.q.Set(s.checkSlot(i), evCheck, s.now+s.g.period)
}

// track follows the utilisation of a CPU and of what runs on it through dt.
func (s *sim) track(k *cpu, dt Time) {
	scale := min(1, s.hw.scale[k.point])
	fade := s.g.fade(dt, scale)
	k.util = 1 - (1-k.util)*fade
	k.lag += float64(dt) * (1 - scale)
	r := &s.procs[k.proc]
	r.util = 1 - (1-r.util)*fade
	r.utilAt = s.now
}

// migrate moves a process's utilisation to the CPU that it is about to run on.
func (s *sim) migrate(i, p int32) {
	r := &s.procs[p]
	r.util *= decay(float64(s.now-r.utilAt) / s.g.halfLife)
	r.utilAt = s.now
	if r.last == i {
		return
	}
	if r.last >= 0 {
		s.account(r.last)
		old := &s.cpus[r.last]
		old.util = max(0, old.util-r.util)
	}
	s.cpus[i].util = min(1, s.cpus[i].util+r.util)
}

// settle makes up for the slow clock when a CPU idles.
func (s *sim) settle(i int32) {
	k := &s.cpus[i]
	k.util *= decay(k.lag / s.g.halfLife)
	k.lag = 0
}

// wakeBoost is schedutil's iowait boost: from an eighth, doubling with each
// wake-up from I/O that follows within a tick.
func (s *sim) wakeBoost(i int32) {
	k := &s.cpus[i]
	if !s.g.ioBoost {
		return
	}
	if s.now-k.boostAt > s.g.period {
		k.boost = 0
	}
	if s.procs[k.proc].io {
		k.boost = min(1, max(1.0/8, 2*k.boost))
		k.boostAt = s.now
	} else if k.boost /= 2; k.boost < 1.0/8 {
		k.boost = 0
	}
}

// consider lets schedutil choose, at scheduling events and ticks.
func (s *sim) consider(i int32) {
	k := &s.cpus[i]
	est := 0.0
	if k.proc >= 0 {
		est = s.procs[k.proc].est
	}
	want := int32(s.g.tracked(s.c.Machine.PStates, k.util, est, k.boost))
	if s.now-k.start >= s.g.rateLimit && (want != k.request || s.hw.perDom > 1) {
		k.start = s.now
		s.ask(i, want)
	}
	if k.proc < 0 {
		return
	}
	// At the highest state utilisation only grows until the slice ends.
	if k.request != int32(s.g.top) || want != k.request {
		s.q.Set(s.checkSlot(i), evCheck, s.now+s.g.period)
	} else {
		s.q.Cancel(s.checkSlot(i))
	}
}
