package model

// ask sets a CPU's request, and its domain's frequency to the highest request.
func (s *sim) ask(i, request int32) {
	h := &s.hw
	if s.cpus[i].request == request && h.perDom == 1 {
		return
	}
	s.request(i, request)
	d := s.cpus[i].domain
	highest := request
	if h.perDom > 1 {
		highest = s.highest(i)
	}
	if h.domains[d].request == highest {
		return
	}
	h.domains[d].request = highest
	first := d * int32(h.perDom)
	for j := first; j < first+int32(h.perDom); j++ {
		if s.cpus[j].proc >= 0 {
			s.refresh(j)
		}
	}
}

func (s *sim) request(i, request int32) {
	k := &s.cpus[i]
	if s.hw.asking != nil && k.request != request {
		s.hw.asking[k.request].clear(int(i))
		s.hw.asking[request].set(int(i))
	}
	k.request = request
}

// highest is the highest request in the domain of i, which has just asked. Under
// schedutil, the request of an idle CPU falls with its utilisation
// (cpufreq_schedutil.c, sugov_next_freq_shared). That is worked out only for those
// whose request could be the highest: the others' may be out of date, but only above
// what they would ask for now, and they are still below the highest.
func (s *sim) highest(i int32) int32 {
	h := &s.hw
	d := s.cpus[i].domain
	first := int(d) * h.perDom
	for l := max(h.domains[d].request, s.cpus[i].request); int(l) > s.g.floor; l-- {
		for j := h.asking[l].within(first, first+h.perDom); j >= 0; j = h.asking[l].within(j+1, first+h.perDom) {
			if !s.falls(i, int32(j)) {
				return l
			}
		}
	}
	return int32(s.g.floor)
}

// falls brings the request of an idle CPU other than i to its utilisation now, and
// reports whether it is lower than it was.
func (s *sim) falls(i, j int32) bool {
	k := &s.cpus[j]
	if s.g.rule != ruleSchedutil || k.proc >= 0 || j == i {
		return false
	}
	s.account(j)
	pstates := s.c.Machine.PStates
	now := int32(s.g.atOrAbove(pstates, s.g.margin*pstates[len(pstates)-1]*k.util))
	if now >= k.request {
		return false
	}
	s.request(j, now)
	return true
}
