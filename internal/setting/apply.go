package setting

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Apply writes a plan: what is there is journaled and synced for all objects, then each is
// written, read back and the result journaled as well. At the first failure it stops and puts
// back what it has done of this plan, unless keep is set: then it goes on with the others. A
// done context stops it between two objects, with the same effect as a failure. The error is
// the first failure; outcomes are those of all steps that were tried, in the plan's order.
//
// Values that the kernel has rounded or clamped are Rounded and no failure. An object that
// already has an open entry of the owner keeps its original, unless another program has
// changed it meanwhile: then what is there now is what will be put back.
//
// Held settings stay in force until the journal, or what Journal.Leave has made of it, is closed, or the
// owner's changes are reverted with the same journal.
func Apply(ctx context.Context, sys *System, j *Journal, owner string, p *Plan, keep bool) ([]Outcome, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem != nil {
		return nil, j.problem
	}
	if err := j.shrink(); err != nil {
		return nil, err
	}
	if err := j.Free(owner, p); err != nil {
		return nil, err
	}
	a := &applying{writer: j.writer(sys, owner), ctx: ctx, keep: keep, from: map[string]string{}}
	err := a.run(p)
	if err == nil || keep {
		err = errors.Join(err, a.end())
	}
	if err != nil && !keep {
		err = a.back(err)
	}
	for _, h := range a.held {
		if err != nil && !keep {
			err = errors.Join(err, h.file.Close())
			continue
		}
		j.hold(h)
	}
	return a.out, err
}

type applying struct {
	*writer
	ctx  context.Context
	keep bool
	out  []Outcome
	from map[string]string // by path: what this set found
	held []holding
	// first is the first failure.
	first error
}

// run writes the steps. The error is the first failure.
func (a *applying) run(p *Plan) error {
	in := a.intends()
	var steps []Step
	for _, step := range p.Steps {
		s := a.sys.setting(step.Setting)
		if s.Held {
			steps = append(steps, step)
			continue
		}
		v, err := s.read(a.sys, step.Object)
		if err != nil {
			a.fail(step, unreadable(step.Object, err))
			if !a.keep {
				return a.first
			}
			continue
		}
		step.From = v
		in.addSides(s, a.disturbed(s, step.Object))
		in.add(s, step.Object, v, step.To, "")
		steps = append(steps, step)
	}
	for _, pl := range in.list {
		a.from[pl.Path] = pl.From
	}
	err := a.j.fits(in.list)
	if err == nil {
		err = in.commit()
	}
	if err != nil {
		return err
	}
	var retry []int // of out: failed, and a later step may let them through
	for i, step := range steps {
		if err := a.ctx.Err(); err != nil {
			return fmt.Errorf("%s was not set: %w", Label(step.Setting, step.Name), err)
		}
		failed := a.one(step)
		if failed != nil && a.eased(step.Path, steps[i+1:]) {
			retry = append(retry, len(a.out))
			failed = nil
			a.out = append(a.out, Outcome{Step: step, Read: step.From})
		}
		if failed != nil {
			a.fail(step, failed)
			if !a.keep {
				return a.first
			}
		}
	}
	return a.settle(steps, retry)
}

// eased reports whether one of the steps changes what an object takes: a minimum above
// the maximum, say, before the maximum is raised.
func (a *applying) eased(path string, steps []Step) bool {
	return slices.ContainsFunc(steps, func(step Step) bool { return step.disturbs(a.sys, path) })
}

func (a *applying) fail(step Step, err error) {
	a.out = append(a.out, a.failed(Outcome{Step: step}, err))
}

func (a *applying) failed(o Outcome, err error) Outcome {
	if a.first == nil {
		a.first = err
	}
	o.Result, o.Reason = Failed, reason(err)
	return o
}

// one writes one object and appends its outcome; the error is a failure, whose
// outcome is not.
func (a *applying) one(step Step) error {
	s := a.sys.setting(step.Setting)
	if s.Held {
		return a.holdOne(s, step)
	}
	for range 10 {
		if err := a.attempt(s, step); !errors.Is(err, errMeanwhile) {
			return err
		}
	}
	return fmt.Errorf("%s changes all the time: something else sets it", step.Path)
}

// attempt is one, as long as nobody else changes the object at the same moment.
func (a *applying) attempt(s Setting, step Step) error {
	v, err := s.read(a.sys, step.Object)
	if err != nil {
		return unreadable(step.Object, err)
	}
	known := a.j.st.objects[step.Path]
	p, pending := a.pending(step.Path)
	ours := known != nil && known.mine(v) && (!pending || !p.Fresh)
	if v != step.From && !ours {
		// Another program was quicker. What is there now is what will be put back.
		step.From = v
		in := a.intends()
		in.add(s, step.Object, v, step.To, "")
		if err := in.commit(); err != nil {
			return err
		}
		a.from[step.Path] = v
	}
	if v == step.To {
		a.out = append(a.out, Outcome{Step: step, Read: v, Result: Unchanged})
		return nil
	}
	read, err := a.put(s, step.Object, v, step.To)
	if err != nil {
		return err
	}
	if read == v && s.Windows() { // its calls may do nothing, and say nothing
		return fmt.Errorf("%s: Windows gave no error for %s, and kept %s", step.Path, s.Show(step.Object, step.To),
			s.Show(step.Object, v))
	}
	a.out = append(a.out, a.took(step, read))
	return nil
}

func (a *applying) took(step Step, read string) Outcome {
	if read == step.To {
		return Outcome{Step: step, Read: read, Result: Changed}
	}
	return Outcome{Step: step, Read: read, Result: Rounded, Reason: fmt.Sprintf("%s made %s of it",
		a.sys.setting(step.Setting).Keeper(), read)}
}

// settle looks at every object again once all are written. One that another step has
// disturbed, such as a minimum that was kept below the old maximum, is written once more.
func (a *applying) settle(steps []Step, retry []int) error {
	if slices.ContainsFunc(a.out, func(o Outcome) bool {
		return o.Result == Changed && a.sys.setting(o.Setting).disturbs()
	}) {
		a.sys.wait()
	}
	for i := range a.out {
		o := &a.out[i]
		if o.Result == Failed || a.sys.setting(o.Setting).Held {
			continue
		}
		s := a.sys.setting(o.Setting)
		again := slices.Contains(retry, i)
		v, err := s.read(a.sys, o.Object)
		if err != nil && gone(err) && !again {
			o.Reason = "set, and then no longer there: " + unreadable(o.Object, err).Error()
			continue
		}
		if err != nil {
			*o = a.failed(*o, unreadable(o.Object, err))
			continue
		}
		if v == o.Read && !again {
			continue
		}
		if v != o.To && (again || a.eased(o.Path, steps)) {
			if v, err = a.put(s, o.Object, v, o.To); err != nil && !errors.Is(err, errMeanwhile) {
				*o = a.failed(*o, err)
				continue
			}
		}
		known := a.j.st.objects[o.Path]
		if v != o.To && (known == nil || !known.mine(v)) {
			*o = Outcome{Step: o.Step, Read: v, Result: Foreign, Reason: another}
			continue
		}
		*o = a.took(o.Step, v)
	}
	return a.first
}

// holdOne opens a Held setting. What the owner had open of it is closed when the
// whole plan has been applied.
func (a *applying) holdOne(s Setting, step Step) error {
	file, err := a.sys.FS.Hold(step.Path, s.bytes(step.To))
	if err != nil {
		return s.refuse(step.Object, step.To, err)
	}
	a.held = append(a.held, holding{a.owner, step.Path, file})
	read, err := s.read(a.sys, step.Object)
	if err != nil {
		read = "" // it is in force: the kernel has taken it
	}
	o := Outcome{Step: step, Read: read, Result: Changed}
	if read != "" && read != step.To {
		o.Result, o.Reason = Rounded, fmt.Sprintf("%s is in force, because another program requests it", read)
	}
	a.out = append(a.out, o)
	return nil
}

// hold keeps a file open, in place of the one that its owner had open of it.
func (j *Journal) hold(h holding) {
	j.held = slices.DeleteFunc(j.held, func(old holding) bool {
		same := old.owner == h.owner && old.path == h.path
		if same {
			_ = old.file.Close() // the request ends, whatever close says
		}
		return same
	})
	j.held = append(j.held, h)
}

// back puts back what this set has done, also after the context is done.
func (a *applying) back(first error) error {
	var list []*undo
	for _, o := range a.j.st.open() {
		from, of := a.from[o.Path]
		u := &undo{o: o, s: a.sys.setting(o.Setting), to: from}
		switch {
		case o.Set == a.set:
			u.to, u.drop = o.Original, true
		case !of:
			continue
		}
		list = append(list, u)
	}
	err := a.restore(context.WithoutCancel(a.ctx), list, ReachOurs)
	for _, u := range list {
		i := slices.IndexFunc(a.out, func(o Outcome) bool { return o.Path == u.o.Path })
		if i < 0 {
			continue
		}
		o := &a.out[i]
		o.Read = u.out.Read
		if o.Result != Failed {
			o.From, o.To, o.Result, o.Reason = o.To, u.to, u.out.Result, u.out.Reason
		}
		if u.out.Result != Restored && u.out.Result != Foreign {
			err = errors.Join(err, fmt.Errorf("%s could not be put back: %s", Label(u.o.Setting, u.o.Name), u.out.Reason))
		}
	}
	return errors.Join(first, err)
}
