package hot

// FMA executes n blocks (at least 1) of 48 independent multiply-adds and returns
// 4 n: it fills the floating-point ports. Every arm64 core has FMADD.
func FMA(n uint64) float64 { return fma(n) }
