package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// withoutLowering gives limits the higher of what is advised and what the host has: a limit costs nothing, and to lower
// one may stop what runs under it.
func withoutLowering(f *host.Facts, list []setting.Assignment) []setting.Assignment {
	for i, a := range list {
		if s, ok := setting.Find(a.Name); ok && s.Limit {
			list[i].Value = higher(a.Value, f.AsRead(s.Files[0]))
		}
		if a.Name == "ip_local_port_range" {
			list[i].Value = wider(a.Value, f.Network.PortRange.Or(nil))
		}
	}
	return list
}

// withAccepted puts what the host has in place of what is advised where the check accepts that, so that a profile does
// not replace it. What is in force in another form, such as a limit in %, is left out.
func withAccepted(f *host.Facts, c Check, r Role, list []setting.Assignment) (out []setting.Assignment) {
	var wrong []setting.Assignment
	switch runOne(f, r, c).Status {
	case OK:
	case Finding:
		wrong = c.advised(f, r)
	default:
		return list
	}
	for _, a := range list {
		now, known := inForce(f, a.Name)
		bad := slices.ContainsFunc(wrong, func(w setting.Assignment) bool { return w.Name == a.Name })
		if known && !bad {
			a.Value = now
		}
		if a.Value != "" {
			out = append(out, a)
		}
	}
	return out
}

// inForce is what the host has of a setting of which checks accept several values; "" where another form of it is in
// force.
func inForce(f *host.Facts, name string) (value string, known bool) {
	m, n := f.Memory, f.Network
	switch name {
	case "swappiness":
		if m.SwapTotal.Or(1) == 0 { // every value is accepted, and none is recommended
			return "", true
		}
		value = asRead(m.Swappiness)
	case "dirty_bytes", "dirty_background_bytes":
		fact := map[bool]host.Fact[int64]{true: m.DirtyBytes, false: m.DirtyBackgroundBytes}[name == "dirty_bytes"]
		if value = asRead(fact); value == "0" {
			return "", true
		}
	case "ksm":
		value = asRead(m.KSM)
	case "thp":
		value = m.THPEnabled.Or(host.Choice{}).Active
	case "thp_defrag":
		value = m.THPDefrag.Or(host.Choice{}).Active
	case "tcp_keepalive_time":
		value = asRead(n.KeepaliveTime)
	case "tcp_keepalive_intvl":
		value = asRead(n.KeepaliveIntvl)
	case "tcp_keepalive_probes":
		value = asRead(n.KeepaliveProbes)
	case "tcp_retries2":
		value = asRead(n.Retries2)
	case "tcp_timestamps":
		value = asRead(n.Timestamps)
	}
	return value, value != ""
}

func asRead[T any](f host.Fact[T]) string {
	if v, ok := f.Get(); ok {
		return fmt.Sprint(v)
	}
	return ""
}

// wider keeps an end of a range that goes further already.
func wider(advised string, has []int) string {
	var first, last int
	if n, _ := fmt.Sscan(advised, &first, &last); n != 2 || len(has) != 2 {
		return advised
	}
	return fmt.Sprint(min(first, has[0]), " ", max(last, has[1]))
}

// higher takes each number of a limit from where it is higher.
func higher(advised, has string) string {
	want, now := strings.Fields(advised), strings.Fields(has)
	if len(want) != len(now) {
		return advised
	}
	for i := range want {
		w, wrong := strconv.ParseUint(want[i], 10, 64)
		n, err := strconv.ParseUint(now[i], 10, 64)
		if wrong == nil && err == nil && n > w {
			want[i] = now[i]
		}
	}
	return strings.Join(want, " ")
}
