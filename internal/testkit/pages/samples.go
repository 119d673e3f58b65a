package pages

import (
	"math"
	"time"

	"hostlab/internal/report/effects"
	"hostlab/internal/result"
)

func wall(margin float64) result.Response {
	return result.Response{Name: "wall", Title: "wall time", Unit: "s", Better: "lower", Compare: result.Ratio,
		Margin:  margin,
		Primary: true}
}

func main(factor, level string) result.Contrast {
	return result.Contrast{Factors: []string{factor}, Levels: []string{level}, Primary: true}
}

func gzip(name string, seed uint64, done int, ended string, effect float64) *plan {
	return &plan{
		head: result.Experiment{Name: name, Title: "gzip at two levels of compression", File: "/srv/studies/gzip.toml",
			Study: "5c1f", Workload: "command", Parameters: map[string]string{"run": "gzip -{level} -c corpus.tar"},
			Factors: []result.Factor{{Name: "level", Kind: "parameter", Levels: []string{"1", "6"}, Baseline: "1",
				Change: result.Online}}, Responses: []result.Response{wall(0.02),
				{Name: "max_rss", Title: "peak memory", Unit: "B", Better: "lower", Compare: result.Ratio, Margin: 0.05}},
			Contrasts: []result.Contrast{main("level", "6")}, Design: result.Design{Kind: "rcbd", Seed: seed, Repeats: 1}},
		done: done, ended: ended, noise: 0.004, drift: 0.03, void: 17,
		base: map[string]float64{"wall": 1.21, "max_rss": 1.9e6},
		effect: func(r string, at map[string]string) float64 {
			if r == "wall" && at["level"] == "6" {
				return effect
			}
			return 0
		},
	}
}

// Gzip is a plain study with a large effect, resolved at the first look.
func Gzip() effects.Report {
	p := gzip("gzip", 11, 10, "resolved", math.Log(1.48))
	p.head.Design.AA = 7
	return p.build()
}

// Paused is Gzip after a failed warm-up, stopped for hours and resumed.
func Paused() effects.Report {
	p := gzip("gzip-paused", 21, 10, "resolved", math.Log(1.48))
	p.pause = 5 * time.Hour
	return p.build()
}

// Null is the same without any effect.
func Null() effects.Report {
	p := gzip("gzip-aa", 12, 14, "resolved", 0)
	p.stalls = 0.02
	return p.build()
}

// Adjusted is Null less what others' CPU time explains.
func Adjusted() effects.Report {
	p := gzip("gzip-adjusted", 12, 14, "resolved", 0)
	p.head.Design.Adjust = true
	return p.build()
}

// Failing has a level whose runs time out now and then, and those that do not are as
// fast as at the baseline.
func Failing() effects.Report {
	p := gzip("gzip-failing", 31, 30, "looks", 0)
	p.failing = "6"
	return p.build()
}

// live is a service whose idle states are limited in one of two periods.
func live(name string, seed uint64, done int, ended string, effect float64) *plan {
	return &plan{
		head: result.Experiment{Name: name, Title: "Idle states of a live service", File: "/srv/studies/live-idle.toml",
			Study: "41aa", Workload: "observe",
			Parameters: map[string]string{"service": "postgres", "for": "5m", "short": "1m"},
			Factors: []result.Factor{{Name: "idle", Kind: "setting", Target: "cstate_latency",
				Levels: []string{"current", "20us"}, Baseline: "current", Change: result.Online}}, Responses: []result.Response{
				{Name: "cpu_per_transaction", Title: "CPU time per transaction", Unit: "s", Better: "lower",
					Compare: result.Ratio, Margin: 0.02, Primary: true},
				{Name: "transactions_per_s", Title: "Transactions per second", Unit: "1/s", Better: "higher",
					Compare: result.Ratio, Margin: 0.02}}, Contrasts: []result.Contrast{main("idle", "20us")},
			Design: result.Design{Kind: "switchback", Seed: seed, Repeats: 1, Looks: []int{10, 14, 20, 30, 43, 60, 86, 120},
				Load: "transactions_per_s"}},
		done: done, ended: ended, noise: 0.012, drift: 0.4, seconds: 300,
		base: map[string]float64{"cpu_per_transaction": 0.0012, "transactions_per_s": 840},
		effect: func(r string, at map[string]string) float64 {
			if r == "cpu_per_transaction" && at["idle"] == "20us" {
				return effect
			}
			return 0
		},
	}
}

// Live is a service that an experiment found an effect on.
func Live() effects.Report {
	p := live("live-idle", 41, 20, "resolved", -0.05)
	p.harm = map[int]string{3: "latency_p99 is 14.9 ms, 49 % above the baseline's 10.0 ms (medians of 9 looks and 36)"}
	return p.build()
}

// Harmed is one that was stopped by harm in its second pair.
func Harmed() effects.Report {
	p := live("live-harmed", 42, 2, result.Harmed, 0.5)
	p.harm = map[int]string{0: "latency_p99 is 14.9 ms, 49 % above the baseline's 10.0 ms (medians of 9 looks and 18)",
		1: "latency_p99 is 15.3 ms, 52 % above the baseline's 10.1 ms (medians of 8 looks and 36)"}
	return p.build()
}

// Noisy is too noisy to decide, after all looks.
func Noisy() effects.Report {
	p := gzip("gzip-noisy", 13, 30, "looks", 0.01)
	p.noise = 0.06
	return p.build()
}

// Running has not ended, and its effect is near the margin.
func Running() effects.Report {
	p := gzip("gzip-running", 16, 12, "", 0.022)
	p.noise = 0.006
	r := p.build()
	r.Warnings, r.Restore = []string{"levels are still applied: level was 1 before the experiment; put it back with hostlab run " +
		"--restore --out gzip-running"}, true
	return r
}

// Stalls has rare slow runs at one level, which the mean sees and the estimate not.
func Stalls() effects.Report {
	p := gzip("gzip-stalls", 15, 30, "looks", 0.03)
	p.stalls, p.stalling, p.noise, p.drift = 0.09, "6", 0.002, 0
	return p.build()
}

// Power has two factors that interact, three levels of one of them, latencies,
// drift and a response in differences.
func Power() effects.Report {
	inter := result.Contrast{Factors: []string{"power", "logdev"}, Levels: []string{"powersave", "sata1"}}
	p := &plan{
		head: result.Experiment{Name: "power-x-logdev", Title: "Power policy and log device under commits",
			File: "/srv/studies/power x logdev.toml", Study: "77ab", Workload: "logcommit",
			Parameters: map[string]string{"bytes": "4 KiB", "commits": "1000"}, Factors: []result.Factor{
				{Name: "power", Kind: "setting", Levels: []string{"performance", "schedutil", "powersave"},
					Baseline: "performance", Change: result.Online},
				{Name: "logdev", Kind: "commands", Levels: []string{"nvme0", "sata1"}, Baseline: "nvme0",
					Change: result.RestartWorkload}}, Responses: []result.Response{
				{Name: "commit_p50", Title: "commit p50", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.02,
					Primary: true},
				{Name: "throughput", Unit: "1/s", Better: "higher", Compare: result.Ratio, Margin: 0.03, Primary: true},
				{Name: "lost", Title: "time in stalls", Unit: "s", Better: "lower", Compare: result.Difference, Margin: 0.005}},
			Contrasts: []result.Contrast{main("power", "schedutil"), main("power", "powersave"), main("logdev", "sata1"), inter},
			Design:    result.Design{Kind: "rcbd", Seed: 20260921, Repeats: 1}},
		done: 14, ended: "budget", noise: 0.01, drift: 0.06, void: 23, latency: true,
		base:      map[string]float64{"commit_p50": 0.11, "throughput": 8600, "lost": 0.020},
		fluctuate: map[string]float64{"lost": 0.001},
		effect: func(r string, at map[string]string) float64 {
			save, sata := at["power"] == "powersave", at["logdev"] == "sata1"
			e := 0.0
			if save {
				e += 0.11
			}
			if sata {
				e += 0.62
			}
			if save && sata {
				e -= 0.08
			}
			switch r {
			case "throughput":
				return -e
			case "lost":
				if sata {
					return 0.012
				}
				return 0
			}
			return e
		},
	}
	return p.build()
}

// SplitPlot needs a reboot for one factor: five superblocks.
func SplitPlot() effects.Report {
	p := &plan{
		head: result.Experiment{Name: "smt", Title: "Simultaneous multithreading, by reboot", File: "/srv/studies/smt.toml",
			Study: "91fe", Workload: "xmlquery", Parameters: map[string]string{"degree": "16"}, Factors: []result.Factor{
				{Name: "smt", Kind: "manual", Levels: []string{"on", "off"}, Baseline: "on", Change: result.Reboot},
				{Name: "degree", Kind: "parameter", Levels: []string{"8", "16"}, Baseline: "8", Change: result.Online}},
			Responses: []result.Response{wall(0.03)}, Contrasts: []result.Contrast{main("smt", "off"), main("degree", "16"),
				{Factors: []string{"smt", "degree"}, Levels: []string{"off", "16"}}},
			Design: result.Design{Kind: "split-plot", Seed: 5, Repeats: 2, Looks: []int{5}}},
		done: 5, ended: "looks", noise: 0.008, base: map[string]float64{"wall": 4.2},
		effect: func(_ string, at map[string]string) float64 {
			e := 0.0
			if at["smt"] == "off" {
				e += 0.19
			}
			if at["degree"] == "16" {
				e -= 0.45
			}
			return e
		},
	}
	return p.build()
}

// Empty has a head and nothing else.
func Empty() effects.Report { p := gzip("gzip-empty", 17, 0, "", 0); return p.build() }

// Hostile has markup and control characters wherever others choose the text.
func Hostile() effects.Report {
	const evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m|*_[x](y)"
	p := gzip("gzip", 18, 10, "resolved", 0.3)
	x := &p.head
	x.Name, x.Title, x.Workload, x.File = evil, evil, evil, evil
	x.Host = map[string]string{"hostname": evil, evil: evil}
	x.Factors[0].Name, x.Factors[0].Levels, x.Factors[0].Baseline = evil, []string{"1", evil}, "1"
	x.Responses[0].Title, x.Responses[1].Name = evil, evil
	x.Contrasts[0] = main(evil, evil)
	p.base[evil] = 1
	r := p.build()
	r.Runs[0].Reason, r.Warnings, r.Study = evil, []string{evil}, []byte(evil)
	return r
}

// Others is Gzip on another day and host, with a smaller effect.
func Others() effects.Report {
	p := gzip("gzip-new", 19, 10, "resolved", math.Log(1.36))
	p.head.Host = map[string]string{"hostname": "db02.example.com", "kernel": "6.17.2", "cpu": "Intel Xeon 6530",
		"cpus":     "64",
		"governor": "powersave", "smt": "on", "microcode": "0x21000290"}
	return p.build()
}

// Large is Gzip with as many runs.
func Large(runs int) effects.Report {
	p := gzip("gzip-large", 20, runs/2, "looks", 0.03)
	p.head.Design.Looks = []int{runs / 2}
	return p.build()
}

// Query is Olontsev's table: BIOS, power policy and degree of parallelism, the BIOS
// by reboot, with a level that the host lacks.
func Query() effects.Report {
	p := &plan{
		head: result.Experiment{Name: "power-query", Title: "A CPU-bound query by BIOS, power policy and degree",
			BuiltIn: "power-query", Study: "0b5d", Workload: "xmlquery", Section: "table",
			Parameters: map[string]string{"size": "64 MiB"}, Factors: []result.Factor{
				{Name: "bios", Kind: "manual", Levels: []string{"default", "no saving"}, Baseline: "default",
					Change: result.Reboot},
				{Name: "policy", Kind: "setting", Levels: []string{"balanced", "performance", "powersave"}, Baseline: "balanced",
					Change: result.Online},
				{Name: "degree", Kind: "parameter", Levels: []string{"1", "32"}, Baseline: "1", Change: result.Online}},
			Absent: []result.Absent{{Factor: "policy", Level: "schedutil",
				Reason: "the driver intel_pstate does not offer it"}}, Responses: []result.Response{wall(0.02)},
			Contrasts: []result.Contrast{main("bios", "no saving"), main("policy", "performance"), main("policy", "powersave")},
			Design:    result.Design{Kind: "split-plot", Seed: 2012, Repeats: 2, Looks: []int{5}}},
		done: 5, ended: "looks", noise: 0.004, base: map[string]float64{"wall": 195},
		effect: func(_ string, at map[string]string) float64 {
			// The seconds that Olontsev measured.
			if at["bios"] == "no saving" {
				return math.Log(map[string]float64{"1": 258, "32": 21}[at["degree"]] / 195)
			}
			return math.Log(map[string]float64{"balanced1": 195, "balanced32": 25.5, "performance1": 190, "performance32": 18.5,
				"powersave1": 348, "powersave32": 29}[at["policy"]+at["degree"]] / 195)
		},
	}
	return p.build()
}

// Dialog is power policy by load: an effect at low load and none at high load, with
// two primary responses and runs that are contaminated.
func Dialog() effects.Report {
	p := &plan{
		head: result.Experiment{Name: "power-dialog", Title: "Dialog steps by power policy and load", BuiltIn: "power-dialog",
			Study: "d1a1", Workload: "dialog", Section: "table", Evidence: result.Emulated, Factors: []result.Factor{
				{Name: "policy", Kind: "parameter", Levels: []string{"high-performance", "balanced-rs1", "ondemand"},
					Baseline: "high-performance", Change: result.Online},
				{Name: "load", Kind: "parameter", Levels: []string{"5 %", "25 %", "50 %", "75 %", "95 %"}, Baseline: "5 %",
					Change: result.Online}}, Responses: []result.Response{
				{Name: "cpu_s", Title: "CPU time of a step", Unit: "s", Better: "lower", Compare: result.Ratio, Margin: 0.05,
					Primary: true},
				{Name: "wait", Title: "wait of a step", Unit: "s", Better: "lower", Compare: result.Difference, Margin: 0.002,
					Primary: true}}, Contrasts: []result.Contrast{main("policy", "balanced-rs1"), main("policy", "ondemand")},
			Design: result.Design{Kind: "rcbd", Seed: 2009, Repeats: 1}},
		done: 10, ended: "looks", noise: 0.01, void: 31, base: map[string]float64{"cpu_s": 0.1, "wait": 0.004},
		fluctuate: map[string]float64{"wait": 0.0004},
		effect: func(r string, at map[string]string) float64 {
			e := map[string]float64{"5 %": 0.6, "25 %": 0.5, "50 %": 0.3, "75 %": 0.1, "95 %": 0}[at["load"]]
			switch at["policy"] {
			case "high-performance":
				e = 0
			case "ondemand":
				e *= 0.3
			}
			if r == "wait" {
				return e * 0.003
			}
			return e
		},
	}
	p.marked = 37
	return p.build()
}

// Degree is one factor alone, in a table.
func Degree() effects.Report {
	p := gzip("gzip-table", 22, 10, "resolved", math.Log(1.48))
	p.head.Section = "table"
	return p.build()
}

// Newer names a section that only a newer hostlab knows.
func Newer() effects.Report {
	p := gzip("gzip-newer", 23, 10, "resolved", math.Log(1.48))
	p.head.Section = "hologram"
	return p.build()
}
