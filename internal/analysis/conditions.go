package analysis

func (r *record) conditions(blocks []int, tables []*table) []string { return nil }

func (r *record) uneven(c comparison, blocks []int) []string { return nil }
