package cpus

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// groupSize is how many CPUs a group has: those of a Windows processor group. On
// Linux group g is CPUs 64 g to 64 g + 63.
const groupSize = 64

// maxCPUs bounds the numbers of CPUs: Linux has at most 8192 (CONFIG_NR_CPUS on x86,
// 6.12), and Windows fewer.
const maxCPUs = 8192

// Syntax tells people how sets are written, in lines of at most 80 columns.
const Syntax = `Name CPUs in one of these ways, or join several with +:
  8, 0xff     a plain number is a mask, as in the program of 2005: 8 is CPU 3
  0-3,8       anything with - or , is a list of CPU numbers
  cpu:3       a list too, for a single CPU
  1:0xff      group:mask, for CPUs beyond 63: group 1 is CPUs 64 to 127`

// ParseSet reads a set and returns its CPUs, rising, none twice. Syntax says how they
// are written. An error says what is wrong, and does not repeat the whole text.
func ParseSet(text string) ([]int, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty; is a variable unset?")
	}
	var out []int
	for part := range strings.SplitSeq(text, "+") {
		cpus, err := parsePart(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, cpus...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func parsePart(part string) ([]int, error) {
	if list, ok := strings.CutPrefix(part, "cpu:"); ok {
		return parseList(list)
	}
	if group, mask, ok := strings.Cut(part, ":"); ok {
		g, err := strconv.ParseUint(group, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q: expected group:mask, such as 1:0xff, or cpu:list", screen.Short(part))
		}
		if g >= maxCPUs/groupSize {
			return nil, fmt.Errorf("group %d: there are at most %d groups, of %d CPUs each", g, maxCPUs/groupSize, groupSize)
		}
		return parseMask(mask, int(g))
	}
	if strings.ContainsAny(part, "-,") {
		return parseList(part)
	}
	return parseMask(part, 0)
}

func parseList(text string) ([]int, error) {
	// The kernel's own lists may also have steps, as in 0-10:2/4. Their colon would
	// make it hard to see what is a group.
	cpus, err := host.ParseList(text)
	if err != nil || len(cpus) == 0 || strings.Contains(text, ":") {
		return nil, fmt.Errorf("%q: expected CPU numbers such as 0-3,8", screen.Short(text))
	}
	if most := slices.Max(cpus); most >= maxCPUs {
		return nil, fmt.Errorf("CPU %d: CPUs are numbered from 0 to at most %d", most, maxCPUs-1)
	}
	return cpus, nil
}

func parseMask(text string, group int) ([]int, error) {
	digits, base := text, 10
	if len(text) > 1 && (text[:2] == "0x" || text[:2] == "0X") {
		digits, base = text[2:], 16
	}
	mask, err := strconv.ParseUint(digits, base, groupSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return nil, fmt.Errorf("%q: a mask has %d CPUs; for those beyond write a list such as 64-71, or group:mask",
			screen.Short(text), groupSize)
	case err != nil:
		if _, hex := strconv.ParseUint(text, 16, groupSize); hex == nil {
			return nil, fmt.Errorf("%q: a mask in hexadecimal begins with 0x", screen.Short(text))
		}
		return nil, fmt.Errorf("%q: expected a mask such as 8 or 0xff, a list such as 0-3, or group:mask", screen.Short(text))
	case mask == 0:
		return nil, fmt.Errorf("mask %s has no CPU in it; a plain number is a mask, and CPU 0 by its number is cpu:0",
			screen.Short(text))
	}
	var cpus []int
	for ; mask != 0; mask &= mask - 1 {
		cpus = append(cpus, group*groupSize+bits.TrailingZeros64(mask))
	}
	return cpus, nil
}

// Affinity writes the mask of one CPU as the program of 2005 prints it: eight
// hexadecimal digits or more, with the group in front where that is not 0.
func Affinity(cpu int) string {
	mask := fmt.Sprintf("%08X", uint64(1)<<(cpu%groupSize))
	if g := cpu / groupSize; g > 0 {
		return fmt.Sprintf("%d:%s", g, mask)
	}
	return mask
}

// Named writes a rising set for a sentence: CPU 3, or CPUs 0-3,8.
func Named(cpus []int) string {
	if len(cpus) == 1 {
		return fmt.Sprintf("CPU %d", cpus[0])
	}
	return "CPUs " + host.FormatList(cpus)
}
