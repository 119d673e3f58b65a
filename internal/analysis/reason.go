package analysis

// Reason is why a verdict is what it is. Its sentence is
// made where it is printed, from these figures and those of the effect.
type Reason struct {
	Kind Why
	N    int     // blocks or units, where the kind says so
	Size float64 // Share: the margin as a fraction of a median of 0
	Text string  // Damaged: what the record lacks
}

// Why is the kind of a reason.
type Why string

// The kinds.
const (
	Shown      Why = "interval"    // the interval itself decides: it is beyond the margin, within it, or straddles it
	TooNear    Why = "too near"    // the same, and no sensible number of blocks would decide
	NoMargin   Why = "no margin"   // the response has none above 0
	NoShare    Why = "no share"    // a fraction of a baseline's median of 0 is no margin
	NoBlocks   Why = "no blocks"   // none is complete
	NoValues   Why = "no values"   // no block has one in all its runs
	FewUnits   Why = "few units"   // there is no interval below N
	Unbounded  Why = "unbounded"   // the coins fell too much alike, or as the drift, to bound the effect
	BeforeLook Why = "before look" // the first one is at N blocks
	NoLook     Why = "no look"     // it is judged at its end
	TooEarly   Why = "too early"   // for no effect: below N, failures and stalls do not show
	Limited    Why = "limits"      // the last of Effect.Limits takes the verdict back
	Damaged    Why = "record"      // the record lacks what the effect takes
)

// Steps are the steps in which values come.
type Steps struct {
	Step   float64 // the smallest, in the response's unit; 0: all values are the same
	Beyond bool    // the margin
	Tied   float64 // share of the differences that are one and the same number, where that is large
}
