package setting

// Preview says what Revert would do with the journal of a directory, and writes nothing: it
// needs no lock and no rights. What would be written is Planned, what has its old value already
// Unchanged; all else is as Revert would say. With force it goes on with what can be read of a
// journal with a problem. The error is as that of Pending.
func Preview(sys *System, dir, owner string, force bool) ([]Outcome, error) {
	j, err := peek(sys, dir)
	if err != nil {
		return nil, err
	}
	if j.problem != nil && !force {
		return nil, j.problem
	}
	w := j.writer(sys, owner)
	list, _, out := w.undos(owner)
	for _, u := range list {
		w.look(u, force)
		switch {
		case u.out.Result != "" || !u.ours:
		case u.out.From == u.to:
			u.out.Result = Unchanged
		default:
			u.out.Result = Planned
		}
		out = append(out, u.out)
	}
	if j.problem != nil {
		return out, j.problem
	}
	return out, nil
}

// undos are the objects that an owner ("" all) may put back, the last changed first. Where a
// later owner's change lies over that of the owner, its layer is covered, and has an outcome.
func (w *writer) undos(owner string) (list []*undo, covered []int, out []Outcome) {
	for _, o := range w.j.st.open() {
		u := &undo{o: o, s: w.sys.setting(o.Setting)}
		l := o.layer(owner)
		switch {
		case owner == "":
			u.to = o.Layers[0].Original
			for _, l := range o.Layers {
				u.layers = append(u.layers, l.ID)
			}
		case l == nil:
			continue
		default:
			if top := o.Layers[len(o.Layers)-1]; top.ID != l.ID {
				covered = append(covered, l.ID)
				out = append(out, Outcome{Step: Step{Setting: o.Setting, Object: o.object(), From: o.Ours, To: l.Original}, Read: o.Ours,
					Result: Unchanged, Reason: "left to " + top.Owner + ", which has changed it later"})
				continue
			}
			u.to, u.layers = l.Original, []int{l.ID}
		}
		list = append(list, u)
	}
	return list, covered, out
}
