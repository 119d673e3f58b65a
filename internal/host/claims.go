package host

import (
	"errors"
	"fmt"
	"math"
	"path"
	"sort"
	"strings"
)

// Claims are what a container may use and what it asked for, as its control group has it.
type Claims struct {
	Name   string `json:"name"`
	Limits Limits `json:"limits"` // its own, or of a group around it
	// Request is how many CPUs it asked for, derived from its weight; of a pod's container alone.
	Request Fact[Request] `json:"request"`
	// Huge are its limits of huge pages; empty: none shows.
	Huge []HugeLimit `json:"huge_pages"`
}

// Request is a share of CPUs that was asked for. Of a weight two requests are possible: which formula made it does
// not show.
type Request struct {
	CPUs  float64 `json:"cpus"`
	Later float64 `json:"later"` // by the later formula; 0: there is none of it
}

// HugeLimit is how much of huge pages of a size a group may use.
type HugeLimit struct {
	Size  string      `json:"size"` // as the kernel names it, such as 2MB
	Bytes Fact[int64] `json:"bytes"`
}

// ReadClaims reads what the container is given that a process is in, by the name of its control group.
func ReadClaims(t Tree, pid int, name, group string, ofPod bool) Claims {
	dir := fmt.Sprintf("/proc/%d", pid)
	groups := readCgroups(t, dir)
	groups.base = path.Base(group)
	c := Claims{Name: name, Limits: groups.limits(t, dir), Huge: groups.view("hugetlb").huge(t)}
	if c.Request = groups.view("cpu").request(t); !ofPod { // the kernel gives any group a weight of 100, or 1024 shares
		c.Request = Unknown[Request](c.Request.Source, none("only containers of pods request CPUs"))
	}
	return c
}

// errNoRequest is what the least weight says: the kubelet gives it to a container without a request.
var errNoRequest = none("no request")

// request derives it from the weight. The kubelet makes shares of a request, 1,024 of a CPU and at least 2 (kubernetes,
// pkg/kubelet/cm/helpers_linux.go). In version 2 a runtime makes a weight of them.
func (v cgroupView) request(t Tree) Fact[Request] {
	if v.err != nil {
		return Unknown[Request](v.source, v.err)
	}
	if v.version == 1 {
		return Convert(t.Int(v.dirs[0]+"/cpu.shares", "", 1), "", func(shares int64) (Request, error) {
			if shares <= leastShares {
				return Request{}, errNoRequest
			}
			return Request{CPUs: float64(shares) / 1024}, nil
		})
	}
	return Convert(t.Int(v.dirs[0]+"/cpu.weight", "", 1), "", requestOf)
}

const (
	leastShares = 2
	mostShares  = 1 << 18
)

// requestOf is the request of a weight of version 2. runc before 1.3.2 and crun before 1.23 make it in proportion
// (KEP-2254), later ones by a curve through (2, 1), (1024, 100) and (262144, 10000): opencontainers/cgroups pull
// request 20.
func requestOf(weight int64) (Request, error) {
	switch {
	case weight == 1:
		return Request{}, errNoRequest
	case weight < 1 || weight > 10000:
		return Request{}, errors.New("no weight of a group")
	}
	linear := func(shares float64) float64 { return math.Floor(1 + (shares-2)*9999/262142) }
	curve := func(shares float64) float64 {
		l := math.Log2(shares)
		return math.Ceil(math.Pow(10, (l*l+125*l)/612-7./34))
	}
	return Request{CPUs: sharesOf(weight, linear) / 1024, Later: sharesOf(weight, curve) / 1024}, nil
}

// sharesOf is the middle of the shares of which a formula makes a weight.
func sharesOf(weight int64, by func(shares float64) float64) float64 {
	first := func(w float64) float64 {
		return float64(sort.Search(mostShares, func(shares int) bool { return by(float64(max(shares, leastShares))) >= w }))
	}
	low := first(float64(weight))
	return max(low, (low+first(float64(weight+1))-1)/2)
}

// huge are the limits of huge pages, of which the tightest of the groups around counts.
func (v cgroupView) huge(t Tree) (list []HugeLimit) {
	if v.err != nil {
		return nil
	}
	names, _ := t.Dir(v.dirs[0])
	for _, name := range names {
		rest, ofHuge := strings.CutPrefix(name, "hugetlb.")
		size, limit := strings.CutSuffix(rest, map[int]string{1: ".limit_in_bytes", 2: ".max"}[v.version])
		if !ofHuge || !limit || strings.Contains(size, ".") { // of reservations
			continue
		}
		list = append(list, HugeLimit{size, tightest(t, v, name, name, "B", parseMemoryLimit)})
	}
	return list
}
