package explain

import (
	"context"
	"time"
)

// looking is the time between looks that ask nothing: 3,000 a minute. Most of what one takes is its own waking-up.
const looking = 20 * time.Millisecond

// enoughLooks is enough of one CPU where samples are looks: they take little of the server's.
const enoughLooks = 0.0035

// eased is the time between statements that count, and between those that name, where looks take the place of samples:
// one a second, in the mean, of a minute. Short recordings count more often, as an account of few stretches shows
// nothing of how they differ.
const eased = 2 * time.Second

// looks are those of the source.
func (r *recorder) looks() (questions int, cpu float64, ok bool) {
	if l, is := r.src.(Looker); is && r.Interval == 0 {
		return l.Looks()
	}
	return 0, 0, false
}

// glimpse is for how long looks without a question are taken in one go.
const glimpse = 250 * time.Millisecond

// glance takes looks that ask nothing, where the source can do that.
func (p *pass) glance(ctx context.Context, left time.Duration) bool {
	if _, _, may := p.looks(); !may {
		return false
	}
	until := time.Now().Add(min(left, glimpse*time.Duration(p.Rarely)))
	if p.Look != nil && p.due.Before(until) {
		until = p.due
	}
	mean := looking
	if p.glances > 0 {
		mean = max(mean, time.Duration(p.looked/float64(p.glances)/enoughLooks*float64(time.Second)))
	}
	shots, ok := p.src.(Looker).Look(ctx, until, mean*time.Duration(p.Rarely))
	if !ok {
		return false
	}
	for _, s := range shots {
		p.add(s, s.Seconds)
	}
	_, cpu, _ := p.looks()
	p.paid, p.looked = p.paid+cpu-p.first-p.looked, cpu-p.first
	p.glances, p.samples = p.glances+len(shots), p.samples+len(shots)
	return true
}
