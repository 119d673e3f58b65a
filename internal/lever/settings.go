package lever

// settings is a lever that only checks speak of: no quick probe moves it.
func (in *input) settings(name, title, boundWhy string) Lever {
	l := in.new(name, title)
	l.BoundOf = "the workload's time"
	l.unbounded(boundWhy)
	in.rest(&l, "")
	return l
}
