package modeltest

import (
	"math/rand/v2"

	"hostlab/internal/model"
)

// Network is a closed network: Users customers think, then visit each station
// once, in order, and start over. Stations have one server each, first come first served,
// exponential services; these are the conditions of mean value analysis.
type Network struct {
	Users       int
	Think       float64   // mean, s, exponential
	Stations    []float64 // mean service, s
	Cycles      int       // measured
	WarmUp      int
	Seed        uint64
	Replication int
}

// Closed simulates the network. Response is the time from the end of thinking to
// the end of the last visit.
func Closed(n Network) Result {
	s := closed{Network: n, q: model.NewQueue(n.Users + len(n.Stations)), began: make([]model.Time, n.Users),
		serving: make([]int32, len(n.Stations)), lines: make([]ring, len(n.Stations)), response: model.NewHistogram()}
	for i := range n.Users {
		s.users = append(s.users, model.Stream(n.Seed, n.Replication, arrivals, i))
		s.think(int32(i), 0)
	}
	for i := range n.Stations {
		s.lines[i].init()
		s.serving[i] = -1
	}
	return s.run()
}

type closed struct {
	Network
	q        *model.Queue
	users    []*rand.Rand
	began    []model.Time
	serving  []int32 // user by station; -1 is none
	lines    []ring  // users waiting
	response *model.Histogram
}

func (s *closed) think(user int32, now model.Time) {
	s.q.Set(user, arrive, now+model.Nanoseconds(s.Think*s.users[user].ExpFloat64()))
}

func (s *closed) visit(station int, user int32, now model.Time) {
	if s.serving[station] >= 0 {
		s.lines[station].push(model.Time(user))
		return
	}
	s.serving[station] = user
	s.q.Set(int32(s.Users+station), leave, now+model.Nanoseconds(s.Stations[station]*s.users[user].ExpFloat64()))
}

func (s *closed) run() Result {
	var now, from model.Time
	for warm, left := s.WarmUp, s.Cycles; left > 0; {
		e, _ := s.q.Next()
		now = e.At
		if e.Kind == arrive {
			s.began[e.Slot] = now
			s.visit(0, e.Slot, now)
			continue
		}
		station := int(e.Slot) - s.Users
		user := s.serving[station]
		s.serving[station] = -1
		if s.lines[station].n > 0 {
			s.visit(station, int32(s.lines[station].pop()), now)
		}
		if station+1 < len(s.Stations) {
			s.visit(station+1, user, now)
			continue
		}
		if warm > 0 {
			warm--
			from = now
		} else {
			s.response.Record(now - s.began[user])
			left--
		}
		s.think(user, now)
	}
	return Result{Response: s.response, Horizon: model.Seconds(now - from)}
}
