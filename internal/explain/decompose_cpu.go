package explain

import "hostlab/internal/result"

// cpu puts counted CPU time, and the counted wait for a CPU, in the place of what was
// sampled as running. Who becomes ready shows its last wait until it has a CPU, most of
// them that for their client, as it is the one after which there is work to do. So what of
// the wait for a CPU does not show as running is taken out of waits for clients.
func (d *decomposition) cpu(c *CPUTime) {
	if c == nil {
		return
	}
	ran := 0.0
	for key, l := range d.lines {
		if (l.Part == DatabaseCPU || l.Part == RunQueue) && !l.counted() {
			ran += l.Seconds
			delete(d.lines, key)
		}
	}
	run := min(c.Run, d.elapsed)
	d.lines["cpu"] = &Event{Name: OnCPU, Part: DatabaseCPU, Count: -1, Seconds: run, Source: c.Source,
		Share: result.Estimate{Low: run, High: run}}
	if c.Run > (1+tolerance)*d.elapsed {
		d.warnings = append(d.warnings, "sessions used "+trim(c.Run)+" s of CPU, more than they were seen for: some of it before they had logged in; "+trim(run)+" s of that are shown")
	}
	wait, source := c.Queue, c.Source
	if missed := ran - run - c.Queue; c.QueueHigh > c.Queue && missed > 0 { // it ran, as far as the server knows, and had no CPU
		wait, source = ran-run, source+", samples"
	}
	// A counted wait holds the time until its session had a CPU again.
	left := d.elapsed
	for _, l := range d.lines {
		if l.counted() {
			left -= l.Seconds
		}
	}
	queue := min(wait, left)
	if over := wait - max(0, queue); over > tolerance*d.elapsed {
		d.warnings = append(d.warnings, "sessions were ready to run and had no CPU for "+trim(wait)+" s; "+trim(over)+" s of that lie within waits that were counted too")
	}
	if queue <= 0 {
		return
	}
	d.lines["queue"] = &Event{Name: CPUQueue, Part: RunQueue, Count: -1, Seconds: queue, Source: source,
		Share: result.Estimate{Low: min(queue, c.QueueLow), High: max(queue, min(c.QueueHigh, left))}}
	hidden := queue - max(0, ran-run)
	var clients float64
	for _, l := range d.lines {
		if l.ofClient() {
			clients += l.Seconds
		}
	}
	if hidden <= 0 || clients <= 0 {
		return
	}
	f := max(0, 1-hidden/clients)
	for _, l := range d.lines {
		if l.ofClient() {
			l.Seconds, l.Share.Low = l.Seconds*f, l.Share.Low*f
		}
	}
}

// ofClient is true of sampled waits for clients.
func (e *Event) ofClient() bool { return !e.counted() && (e.Part == Application || e.Part == Idle) }
