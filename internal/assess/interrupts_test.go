package assess

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// The CPU that serves the interrupts of a device is named, and the device.
func TestInterrupts(t *testing.T) {
	count := func(soft, eth0, disk string) interruptions {
		times := testkit.Must(proc.ParseCPUs([]byte("cpu  0 0 0 0\ncpu0 100 0 0 5900 0 0 10 0 0 0\ncpu1 100 0 0 1900 0 0 " + soft + " 0 0 0\n")))(t)
		return interruptions{times: times, sources: parseInterrupts([]byte("           CPU0       CPU1\n 24:   7 "+eth0+" PCI-MSIX-0000:00:03.0 1-edge  eth0-rx-0\n"+
			" 25: "+disk+" 9 PCI-MSIX-0000:00:02.0 1-edge nvme0q1\n11: 5 "+eth0+"7 GICv3 27 Level arch_timer\n12: 5 "+eth0+"7 IO-APIC 5-edge\nLOC: 9 9 Local timer interrupts\nERR: 0\n"), 2)}
	}
	before, after := count("0", "100", "5"), count("4000", "90100", "50")
	after.times[0].Idle += 60
	after.times[1].User += 20
	got := after.since(before, nil)
	if want := (Interrupts{CPU: 1, Most: 40.0 / 60, Source: "eth0-rx-0"}); got == nil || *got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 10})
	if m.Interrupts = got; m.interrupted() != nil {
		t.Error("it is not known whether the service uses that CPU")
	}
	m.Host.CPUs, m.Host.Allowed = 2, 0 // how many it may use is not known
	m.Interrupts = after.since(before, []int{0, 1})
	list := m.interrupted()
	if len(list) != 1 || !strings.Contains(list[0].Text, "interrupts take 67 % of CPU 1, most often by eth0-rx-0, and 0 % of the others") ||
		!list[0].Matters() || strings.Contains(list[0].Text, "may use") {
		t.Errorf("%+v", list)
	}
	m.Host.CPUs, m.Host.Allowed = 2, 1
	if m.Interrupts = after.since(before, []int{0}); m.Interrupts.Service == nil || *m.Interrupts.Service != 0 || m.interrupted() != nil {
		t.Errorf("the service may not use that CPU: %+v", m.Interrupts)
	}
	m.Interrupts = after.since(before, []int{1})
	if list := m.interrupted(); len(list) != 1 || !strings.Contains(list[0].Text, "; of the 1 CPU that the service may use, 67 %") {
		t.Errorf("%+v", list)
	}
	if m.Interrupts = (&Interrupts{CPU: 1, Most: 0.4, Outside: new(false), Local: true}); m.interrupted() != nil {
		t.Error("packets between programs of this host")
	}
	if m.Interrupts = (&Interrupts{CPU: 1, Most: 0.4, Others: 0.3, Outside: new(false)}); m.interrupted() != nil {
		t.Error("all CPUs have their share")
	}
	l := after.loads(before)
	if want := (Loads{Busy: []byte{0, 250}, Interrupts: []byte{0, 167}}); l == nil || !reflect.DeepEqual(*l, want) {
		t.Errorf("%+v", l)
	}
	// CPU 0 has most in two stretches, and CPU 1 in all three together.
	of := func(zero, one byte) *Minute {
		m := minute(nil)
		m.Interrupts, m.Loads = &Interrupts{CPU: 0, Most: 0.1, Source: "eth0"}, &Loads{Busy: []byte{One, One, NoLoad}, Interrupts: []byte{zero, one}}
		if one > zero {
			m.Interrupts = &Interrupts{CPU: 1, Most: 0.6, Source: "nvme0q1"}
		}
		return m
	}
	if got, want := busiest([]*Minute{of(25, 20), of(25, 20), of(0, 155)}), (Interrupts{CPU: 1, Most: 0.26, Others: 1.0 / 15, Source: "nvme0q1"}); got == nil || got.CPU != want.CPU ||
		got.Source != want.Source || math.Abs(got.Most-want.Most)+math.Abs(got.Others-want.Others) > 1e-9 {
		t.Errorf("%+v", got)
	}
	// CPU 2 has most over all, and in no stretch: whether the service uses it is not known.
	second := func(cpu int, loads ...byte) *Minute {
		return &Minute{Interrupts: &Interrupts{CPU: cpu, Most: 0.8, Outside: new(false)},
			Loads: &Loads{Busy: []byte{One, One, One}, Interrupts: loads}}
	}
	stretches := []*Minute{second(0, 200, 0, 190), second(1, 0, 200, 190)}
	if got := busiest(stretches); got == nil || got.CPU != 2 || got.Outside != nil {
		t.Errorf("%+v", got)
	}
	if got := busiest(stretches[:1]); got == nil || got.CPU != 0 || got.Outside == nil || *got.Outside {
		t.Errorf("%+v", got)
	}
	after.times = after.times[:1]
	if got := after.since(before, nil); got != nil {
		t.Errorf("a CPU went offline: %+v", got)
	}
}
