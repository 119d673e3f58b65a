package setting

import "strings"

// uncore holds the settings of what runs beside the cores.
var uncore = []Setting{
	{
		Name: "uncore_max_freq", Title: "Upper limit of the uncore's frequency (max_freq_khz)", Order: rankMax, Rounds: true,
		Effect: "less power is left for the cores",
		About: "The highest frequency of the last cache, the memory controllers and the links between sockets. A limit " +
			"slows what misses a core's own cache. " +
			"The processor has steps of 100 MHz. It spends power that the cores then lack.",
		Source: "kernel documentation, admin-guide/pm/intel_uncore_frequency_scaling.rst",
		File:   "/sys/devices/system/cpu/intel_uncore_frequency/*/max_freq_khz",
		Absent: "the kernel controls no uncore frequency here",
		Takes: uncoreFrequency{quantity{lo: 100000, hi: 1e7, unit: "khz",
			text: "a frequency such as 2.4GHz, 2400MHz or kHz"}},
	},
}

// uncoreFrequency is a frequency in kHz of which no file lists what there is.
type uncoreFrequency struct{ quantity }

func (u uncoreFrequency) parse(_ *System, _ Object, v string) (string, error) { return u.spell(v) }

func (u uncoreFrequency) spell(v string) (string, error) { return u.quantity.spell(strings.ToLower(v)) }

func (uncoreFrequency) show(o Object, v string) string { return showFrequency(o, v) }
