package model

import (
	"math"
	"math/bits"
)

// subBits is the number of bits that a bucket keeps below the leading one.
const subBits = 8

// buckets covers all positive int64.
const buckets = (63 - subBits + 1) << subBits

// RelativeError bounds the error of Histogram's quantiles: half of the widest bucket's relative
// width of 2^-8.
const RelativeError = 1.0 / (1 << (subBits + 1))

// Histogram counts times in buckets of at most 0.4 % relative width, so that
// quantiles of any number of values need the same 57 kB. Times below 512 ns are
// exact; others err by at most RelativeError.
type Histogram struct {
	counts []uint32
	n      uint64
	sum    float64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{counts: make([]uint32, buckets)} }

// Record counts a time; negative ones count as 0.
func (h *Histogram) Record(t Time) {
	h.n++
	h.sum += float64(t)
	h.counts[bucket(t)]++
}

// Mean is the exact mean in seconds, NaN without values.
func (h *Histogram) Mean() float64 { return h.sum / float64(h.n) / 1e9 }

// Quantile returns the q-quantile in seconds: the middle of the bucket that holds
// the value of rank ceil(q n). NaN without values.
func (h *Histogram) Quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	rank := uint64(max(1, math.Ceil(q*float64(h.n))))
	var seen uint64
	for i, c := range h.counts {
		if seen += uint64(c); seen >= rank {
			return middle(i) / 1e9
		}
	}
	return math.NaN()
}

func bucket(t Time) int {
	if t < 0 {
		t = 0
	}
	shift := max(0, bits.Len64(uint64(t))-1-subBits)
	return shift<<subBits + int(uint64(t)>>shift)
}

// middle is the middle of bucket i in nanoseconds.
func middle(i int) float64 {
	if i < 2<<subBits {
		return float64(i)
	}
	shift := i>>subBits - 1
	low := uint64(i-shift<<subBits) << shift
	return float64(low) + (float64(uint64(1)<<shift)-1)/2
}
