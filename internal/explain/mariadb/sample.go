package mariadb

import (
	"context"
	"maps"
	"slices"
	"time"

	"hostlab/internal/explain"
)

// fresh is how long nobody may ask who is within a transaction, for the answer to be new.
const fresh = 150 * time.Millisecond

func (s *Source) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	s.asked++
	before := s.looks.before()
	rows, err := s.Ask(ctx, s.processes)
	if err != nil {
		return nil, err
	}
	var shot explain.Snapshot
	var asleep []int
	var serves []serving
	selects := 0
	for _, r := range rows {
		x := explain.Session{ID: r.Int(0)}
		x.Part, x.Event, x.Background = s.classify(r.Text(1), r.Text(2))
		if !x.Background && !r.Null(3) {
			s.clients[r.Int(3)] = true
			serves = append(serves, serving{id: x.ID, tid: int(r.Int(3))})
		}
		switch {
		case x.Part == explain.Idle:
			asleep = append(asleep, len(shot.Sessions))
		case !x.Background && r.Bool(4):
			selects++
		}
		shot.Sessions = append(shot.Sessions, x)
	}
	clients := 0
	for _, x := range shot.Sessions {
		if !x.Background {
			clients++
		}
	}
	s.sessions = max(s.sessions, clients)
	inside, err := s.within(ctx, selects)
	if err != nil {
		return nil, err
	}
	s.split(&shot, asleep, inside)
	s.follow(shot, serves, before)
	s.shots++
	return []explain.Snapshot{shot}, nil
}

// follow looks at the threads of a sample's sessions from now on, unless they come and go.
func (s *Source) follow(shot explain.Snapshot, serves []serving, before map[int64]string) {
	if s.looks == nil {
		return
	}
	if s.looks.churns(serves) {
		s.looks.threads.Close()
		s.looks = nil
		return
	}
	told := map[int64]shows{}
	for _, x := range shot.Sessions {
		told[x.ID] = shows{x.Part, x.Event}
	}
	s.looks.list(serves, told, before, s.threads.Moved)
}

// within asks who is within a transaction and runs no statement, now and then.
func (s *Source) within(ctx context.Context, selects int) (ids map[int64]bool, err error) {
	if s.blind {
		return nil, nil
	}
	if time.Since(s.looked) >= fresh {
		rows, err := s.Ask(ctx, within)
		s.asked, s.looked = s.asked+1, time.Now()
		if err != nil {
			return nil, err
		}
		ids = map[int64]bool{}
		s.seen.selects += selects
		for _, r := range rows {
			switch {
			case r.Bool(4):
				s.seen.alone++
			case r.Bool(1):
				ids[r.Int(0)] = true
				if r.Bool(3) {
					s.seen.wrote++
				}
			case r.Bool(2):
				s.seen.inside++
			}
		}
		s.idle = len(ids)
	}
	s.owed += s.idle
	return ids, nil
}

// split gives sleeping sessions that are within a transaction to the application. Both
// lists are of different moments, and short statements end in between: how many there are
// is right in the mean of each, so what finds no session in this snapshot waits for the
// next one.
func (s *Source) split(shot *explain.Snapshot, asleep []int, inside map[int64]bool) {
	first := func(i int) int {
		if inside[shot.Sessions[i].ID] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(asleep, func(a, b int) int { return first(a) - first(b) })
	for _, i := range asleep[:min(s.owed, len(asleep))] {
		shot.Sessions[i].Part, shot.Sessions[i].Event = explain.Application, inTransaction
		s.owed--
	}
}

// inTransaction is what a session does that sleeps within a transaction. The server calls
// both Sleep.
const inTransaction = "Sleep in transaction"

// watch reads what the server's threads have used.
func (s *Source) watch(ctx context.Context) error {
	if s.shots == 0 { // the first count comes before the first sample
		if _, err := s.Sample(ctx); err != nil {
			return err
		}
		s.shots = 0
	}
	_, all, err := explain.Tasks(s.own)
	if err != nil {
		return nil //nolint:nilerr // the server has gone, which the next question tells
	}
	s.threads.Watch(slices.Collect(maps.Keys(s.clients)), slices.DeleteFunc(all,
		func(id int64) bool { return s.clients[id] }))
	clear(s.clients)
	return nil
}
