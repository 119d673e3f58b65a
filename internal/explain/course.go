package explain

// Stretches is how many a report has at most: a second each of a minute.
const Stretches = 60

// stretches joins neighbours of what was seen, so that at most n are left.
func (r *recorder) stretches(n int) ([]Batch, []Growth) {
	n = min(n, len(r.grown))
	seen, grown := make([]Batch, n), make([]Growth, n)
	for i := range r.grown {
		at := i * n / len(r.grown)
		r.join(&seen[at], &grown[at], i)
	}
	return seen, grown
}

// join adds what was seen between two counts, the i-th, to a stretch.
func (r *recorder) join(b *Batch, to *Growth, i int) {
	if to.Values == nil {
		to.Values, b.Seconds = map[string]int64{}, map[Key]float64{}
	}
	b.Wall, b.Snapshots = b.Wall+r.batches[i].Wall, b.Snapshots+r.batches[i].Snapshots
	for k, s := range r.batches[i].Seconds {
		b.Seconds[k] += s
	}
	to.Seconds += r.grown[i].Seconds
	for name, v := range r.grown[i].Values {
		to.Values[name] += v
	}
}

func (r *recorder) stretch(seen Batch, grown Growth) Stretch {
	account := r.src.Account(grown)
	if r.copies != nil {
		account = r.copies.account(account)
	}
	_, parts, _, _ := Decompose([]Batch{seen}, account)
	s := Stretch{Seconds: grown.Seconds, Parts: map[PartName]float64{}, Transactions: account.Transactions,
		Active: account.Active}
	for _, p := range parts {
		s.Parts[p.Name] = p.Seconds
	}
	return s
}

// course is the account stretch by stretch. Each part's seconds add up to those of the report.
func (r *recorder) course(rep *Report) (out []Stretch) {
	seen, grown := r.stretches(Stretches)
	sums := map[PartName]float64{}
	for i, b := range seen {
		s := r.stretch(b, grown[i])
		for name, seconds := range s.Parts {
			sums[name] += seconds
		}
		out = append(out, s)
	}
	for _, p := range rep.Parts {
		for i := range out {
			if sum := sums[p.Name]; sum > 0 {
				out[i].Parts[p.Name] *= p.Seconds / sum
			} else {
				out[i].Parts[p.Name] = p.Seconds * out[i].Seconds / max(rep.Wall, 1e-9)
			}
		}
	}
	return out
}

// logStretches are the averages of a log write over stretches, no more than most of them.
func (r *recorder) logStretches() (out []float64) {
	_, grown := r.stretches(most)
	for _, g := range grown {
		if l := r.src.Account(g).Log; l.Average != nil {
			out = append(out, *l.Average)
		}
	}
	return out
}
