package cpus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestParseSet(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"8", []int{3}}, // the seed's -s8 -l7
		{"7", []int{0, 1, 2}},
		{"11", []int{0, 1, 3}},
		{"0x8", []int{3}},
		{"0XfF", []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"9223372036854775808", []int{63}},
		{"0-3,8", []int{0, 1, 2, 3, 8}},
		{"3,", nil},
		{"3-3", []int{3}},
		{"cpu:3", []int{3}},
		{"cpu:3,1", []int{1, 3}},
		{"0:0x1", []int{0}},
		{"1:3", []int{64, 65}},
		{"7:0x8000000000000000", []int{511}},
		{"1:0x1+0x2+cpu:5", []int{1, 5, 64}},
		{" 0x1 + 2-3 ", []int{0, 2, 3}},
		{"2,1,2", []int{1, 2}},
		{"8191,0", []int{0, 8191}},
	} {
		got, err := ParseSet(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != (c.want == nil) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "empty",
		"   ":                  "empty",
		"0":                    "CPU 0 by its number is cpu:0",
		"0x0":                  "no CPU in it",
		"0-3+0":                "no CPU in it",
		"0x":                   "expected a mask",
		"ff":                   "begins with 0x",
		"-8":                   "expected CPU numbers",
		"3-1":                  "expected CPU numbers",
		"0-3,x":                "expected CPU numbers",
		"cpu:":                 "expected CPU numbers",
		"cpu:0-10:2/4":         "expected CPU numbers",
		"0x1ffffffffffffffff":  "group:mask",
		"18446744073709551616": "group:mask",
		"x:1":                  "expected group:mask",
		"-1:1":                 "expected group:mask",
		"128:1":                "at most 128 groups",
		"1:":                   "expected a mask",
		"1:0":                  "no CPU in it",
		"8192,1":               "at most 8191",
		"0-99999999999":        "expected CPU numbers",
		"1++2":                 "expected a mask",
		"all":                  "expected a mask",
	} {
		got, err := ParseSet(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestAffinity(t *testing.T) {
	for cpu, want := range map[int]string{0: "00000001", 3: "00000008", 31: "80000000", 63: "8000000000000000",
		64: "1:00000001", 511: "7:8000000000000000"} {
		testkit.Is(t, want, Affinity(cpu), "CPU", cpu)
	}
}

// Every set survives every way of writing it.
func TestRoundTrip(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		want := sorted(rapid.SliceOfNDistinct(rapid.IntRange(0, maxCPUs-1), 1, 200, rapid.ID[int]).Draw(t, "cpus"))
		for _, text := range []string{masks(want), "cpu:" + host.FormatList(want),
			masks(want[:1]) + "+cpu:" + host.FormatList(want)} {
			got, err := ParseSet(text)
			if err != nil || !cmp.Equal(got, want) {
				t.Fatalf("%q: %v, %v, want %v", text, got, err, want)
			}
		}
	})
}

func sorted(list []int) []int {
	seen, out := map[int]bool{}, []int{}
	for _, c := range list {
		seen[c] = true
	}
	for c := range maxCPUs {
		if seen[c] {
			out = append(out, c)
		}
	}
	return out
}

func FuzzParseSet(f *testing.F) {
	for _, s := range []string{"8", "0xff", "0-3,8", "cpu:3", "1:0xff", "0x1+2:3", "+", ":", "-", "0-8191",
		"cpu:0-10:2/4", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseSet(text)
		if err != nil {
			testkit.Is(t, 0, len(got), text, got, "beside", err)
			return
		}
		for i, c := range got {
			if c < 0 || c >= maxCPUs || i > 0 && c <= got[i-1] {
				t.Fatalf("%q: %v is not rising within bounds", text, got)
			}
		}
		again, err := ParseSet(masks(got))
		if len(got) == 0 || err != nil || !cmp.Equal(got, again) {
			t.Errorf("%q: %v, written again %v, %v", text, got, again, err)
		}
	})
}

// masks writes a rising set as masks of its groups, such as 0xff or 0x1+2:0x3. Parse
// reads it.
func masks(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		group, mask := cpus[i]/groupSize, uint64(0)
		for ; i < len(cpus) && cpus[i]/groupSize == group; i++ {
			mask |= 1 << (cpus[i] % groupSize)
		}
		part := fmt.Sprintf("%#x", mask)
		if group > 0 {
			part = fmt.Sprintf("%d:%s", group, part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "+")
}
