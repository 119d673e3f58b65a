package host

// absentFact is a fact of something that this machine does not have.
func absentFact[T any](source, why string) Fact[T] {
	return Fact[T]{Source: source, State: StateAbsent, Reason: why}
}

// withReason replaces the reason of a fact that is in a given state, so that the
// user reads what to do instead of an errno.
func withReason[T any](f Fact[T], st State, why string) Fact[T] {
	if f.State == st {
		f.Reason = why
	}
	return f
}

// firstKnown returns the first known fact. If none is known, it returns the
// first that is more than absent, since "denied" says more than "not there".
func firstKnown[T any](facts ...Fact[T]) Fact[T] {
	var best Fact[T]
	for i, f := range facts {
		if f.State == StateOK {
			return f
		}
		if i == 0 || (best.State == StateAbsent && f.State != StateAbsent) {
			best = f
		}
	}
	return best
}

// readHead returns at most the first n bytes of a file. The kernel makes up
// /proc/cpuinfo while it is read, at some microseconds a CPU, so that not
// reading on matters on a large host.
func readHead(t Tree, path string, n int) ([]byte, error) {
	b, err := t.head(path, n)
	t.noted(path, note{content: true})
	if err == nil && !t.Live() {
		err = marked(b)
	}
	return b, t.failure(path, err)
}
