package assess

// requested is what the driver tells of the clock.
const requested = "scaling_cur_freq"

// pageWalks is why they are not known.
const pageWalks = "page walks are not counted, because their counters differ by processor; on Intel, perf stat -e " +
	"dtlb_load_misses.walk_active shows them"
