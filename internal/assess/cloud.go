package assess

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/clouds"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Cloud is what the cloud's limits did meanwhile.
type Cloud struct {
	Volumes []Volume `json:"volumes"`
	// Held is how many packets each limit of the instance held back, by interface and limit.
	Held map[string]map[string]uint64 `json:"held"`
	// Unread says why a volume could not be asked; Untold where this cloud shows what its guests do not see. "": neither.
	Unread string `json:"unread,omitempty"`
	Untold string `json:"untold,omitempty"`
}

// Volume is one of which more was asked for than a limit gives, for so long, s.
type Volume struct {
	Name               string  `json:"name"`
	VolumeIOPS         float64 `json:"volume_iops"`
	VolumeThroughput   float64 `json:"volume_throughput"`
	InstanceIOPS       float64 `json:"instance_iops"`
	InstanceThroughput float64 `json:"instance_throughput"`
	// Reads and Writes are the time within which 99 % of them were done, s; nil: there were none.
	Reads  *float64 `json:"reads_99"`
	Writes *float64 `json:"writes_99"`
	Queue  uint64   `json:"queue"`           // requests that it worked on at the end
	Apart  bool     `json:"apart,omitempty"` // it holds neither log nor data of a database that was found here
}

// beyond is for how long the limit held that held longest, s, which one, and whether it is one of the instance to all
// its volumes.
func (v Volume) beyond() (s float64, limit string, ofInstance bool) {
	for _, l := range []struct {
		s          float64
		name       string
		ofInstance bool
	}{{v.VolumeIOPS, "IOPS limit of volume " + v.Name, false},
		{v.VolumeThroughput, "throughput limit of volume " + v.Name, false},
		{v.InstanceIOPS, "instance's limit of IOPS to its volumes", true},
		{v.InstanceThroughput, "instance's limit of throughput to its volumes", true}} {
		if l.s > s {
			s, limit, ofInstance = l.s, l.name, l.ofInstance
		}
	}
	return s, limit, ofInstance
}

// cloudMeter reads limits at the beginning and at the end.
type cloudMeter struct {
	volume  func(name string) (clouds.Volume, error)
	network func(name string) (map[string]uint64, error)
	facts   *host.Facts
	volumes map[string]clouds.Volume
	held    map[string]map[string]uint64
	unread  string
}

func newCloudMeter(facts *host.Facts) *cloudMeter {
	c := &cloudMeter{volume: clouds.ReadVolume, network: clouds.ReadNetwork, facts: facts}
	c.volumes, c.held, c.unread = c.read()
	return c
}

func (c *cloudMeter) read() (volumes map[string]clouds.Volume, held map[string]map[string]uint64, unread string) {
	volumes, held = map[string]clouds.Volume{}, map[string]map[string]uint64{}
	if c.facts == nil {
		return volumes, held, ""
	}
	for _, name := range host.CloudVolumes(c.facts.Block) {
		v, err := c.volume(name)
		switch {
		case err == nil:
			volumes[name] = v
		case c.apart(name) || host.StateOf(err) == host.StateAbsent: // or it counts nothing
		case host.StateOf(err) == host.StateDenied:
			unread = "root sees for how long more was asked of " + name + " than its limits give"
		default:
			unread = "what " + name + " counts of its limits cannot be read: " + screen.OneLine(err)
		}
	}
	for _, n := range c.facts.CloudNetworks {
		if counts, err := c.network(n.Name); err == nil {
			held[n.Name] = counts
		}
	}
	return volumes, held, unread
}

func (c *cloudMeter) fill(m *Minute) {
	if c == nil || c.facts == nil {
		return
	}
	volumes, held, unread := c.read()
	out := &Cloud{Held: map[string]map[string]uint64{}, Unread: cmp.Or(c.unread, unread), Untold: c.facts.UntoldLimits()}
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		before, there := c.volumes[name]
		d, ok := volumes[name].Since(before)
		if !there || !ok {
			continue // it was attached meanwhile
		}
		v := Volume{name, d.VolumeIOPS, d.VolumeThroughput, d.InstanceIOPS, d.InstanceThroughput, nil, nil, d.Queue,
			c.apart(name)}
		for bins, into := range map[*[]clouds.Bin]**float64{&d.Reads: &v.Reads, &d.Writes: &v.Writes} {
			if s, ok := clouds.Within(*bins, 0.99); ok {
				*into = &s
			}
		}
		out.Volumes = append(out.Volumes, v)
	}
	for name, now := range held {
		for limit, n := range now {
			if was, there := c.held[name][limit]; there && n > was {
				if out.Held[name] == nil {
					out.Held[name] = map[string]uint64{}
				}
				out.Held[name][limit] = n - was
			}
		}
	}
	if len(out.Volumes) > 0 || len(held) > 0 || out.Unread != "" || out.Untold != "" {
		m.Cloud = out
	}
	m.Host.Credits = c.facts.Burstable()
}

// apart reports a disk that lies below no log and no data of databases, where these are known.
func (c *cloudMeter) apart(name string) bool {
	some := false
	for _, s := range slices.Concat(c.facts.Storage, c.facts.Data) {
		for _, l := range s.Stack {
			if some = true; l.Name == name {
				return false
			}
		}
	}
	return some
}

// least is the share of the time from which a limit is named.
const least = 0.01

// worst is the volume that a limit held back longest; nil: none was, for as long as counts.
func (m *Minute) worst() *Volume {
	if m.Cloud == nil {
		return nil
	}
	var worst *Volume
	most := least * m.Report.Wall
	for i := range m.Cloud.Volumes {
		if v := &m.Cloud.Volumes[i]; !v.Apart {
			if s, _, _ := v.beyond(); s > 0 && s >= most {
				worst, most = v, s
			}
		}
	}
	return worst
}

// limit is the lever on what the cloud gives: no faster device gives more while a limit holds. nil: this is no guest
// of a cloud whose limits are known.
func (m *Minute) limit() *lever.Lever {
	c, l := m.Cloud, &lever.Lever{Name: lever.Limit}
	if c == nil {
		return nil
	}
	held, fixed := m.heldBack()
	own := len(slices.DeleteFunc(slices.Clone(c.Volumes), func(v Volume) bool { return v.Apart }))
	switch v := m.worst(); {
	case v != nil && m.Report.Busy > 0:
		s, limit, _ := v.beyond()
		f := min(1, s/max(m.Report.Wall, 1e-9))
		log, data := m.saving(explain.LogWait), m.saving(explain.DataReads)
		gain(l, log.Share+data.Share, f*(log.Low+data.Low), f*(log.Likely+data.Likely), log.AtMost+data.AtMost,
			"waits were spread evenly, and none is left of those beyond the limit",
			fmt.Sprintf("the %s was exceeded for %s of %s%s%s", limit, result.Format(s, "s"),
				result.Format(m.Report.Wall, "s"), v.slow(), held))
		l.Next = lever.Next{Note: v.raise()}
	case held != "":
		unknown(l, nil, strings.TrimPrefix(held, "; ")+"; how long anybody waited for them does not show")
		l.Verdict = lever.Possible
		l.Next = lever.Next{Note: m.larger()}
	case v != nil:
		unknown(l, nil, idleService)
	case c.Unread != "":
		unknown(l, nil, c.Unread)
	case own > 0:
		gain(l, 0, 0, 0, 0, "", "no limit was exceeded for "+lever.Percent(least)+" of the time or more")
	case len(c.Volumes) > 0:
		unknown(l, nil, "no volume that counts its limits holds its log or its data")
	default:
		unknown(l, nil, cmp.Or(c.Untold, "no volume of this host counts its limits"))
	}
	if fixed != "" { // no type of instance raises it
		l.Add(lever.Evidence{Source: lever.OfMinute, Kind: result.Measured, Text: strings.TrimPrefix(fixed, "; ")})
		l.Next.Note = strings.TrimPrefix(l.Next.Note+
			"; cache answers of DNS on this host: an interface has the same limit in all instance types", "; ")
	}
	return l
}

// larger is what to do about limits of the network that a larger type of instance raises.
func (m *Minute) larger() string {
	note := "take an instance type with a larger network allowance, or spread its connections over several"
	for _, limits := range m.Cloud.Held {
		if limits[clouds.Tracked] > 0 {
			return note + "; " + clouds.Untracked
		}
	}
	return note
}

// slow says how slow the volume was.
func (v Volume) slow() string {
	text := ""
	for _, of := range []struct {
		s    *float64
		name string
	}{{v.Reads, "reads"}, {v.Writes, "writes"}} {
		if of.s != nil {
			text += fmt.Sprintf("; 99 %% of %s took up to %s", of.name, result.Format(*of.s, "s"))
		}
	}
	return text
}

// raise is what to do about the limit.
func (v Volume) raise() string {
	if _, _, ofInstance := v.beyond(); ofInstance {
		return "take an instance type with a higher limit for its volumes; a faster volume gives no more"
	}
	return "raise the limit, as with aws ec2 modify-volume --iops or --throughput; lsblk -o NAME,SERIAL shows the " +
		"volume's ID"
}

// heldBack says what the network's limits held back, as clauses that follow another: those of the instance, and the
// fixed one of each interface.
func (m *Minute) heldBack() (instance, fixed string) {
	for _, name := range slices.Sorted(maps.Keys(m.Cloud.Held)) {
		for _, of := range slices.Sorted(maps.Keys(m.Cloud.Held[name])) {
			whose, to := "the instance's", &instance
			if of == clouds.LinkLocal {
				whose, to = "the interface's", &fixed
			}
			*to += fmt.Sprintf("; %s limit of %s held back %s on %s", whose, cmp.Or(clouds.Limits[of], screen.Clean(of)),
				screen.Count(int(min(m.Cloud.Held[name][of], 1<<53)), "packet"), screen.Clean(name)) //nolint:gosec // it fits
		}
	}
	return instance, fixed
}

// limitFirst puts the limit before faster devices, which give nothing while it holds.
func (m *Minute) limitFirst(levers []lever.Lever) {
	at := func(names ...string) int {
		return slices.IndexFunc(levers, func(l lever.Lever) bool { return slices.Contains(names, l.Name) })
	}
	if to, from := at(lever.Log, lever.Data), at(lever.Limit); m.worst() != nil && to >= 0 && from > to {
		l := levers[from]
		copy(levers[to+1:from+1], levers[to:from])
		levers[to] = l
	}
}
