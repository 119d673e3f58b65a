package predict_test

import (
	"bytes"
	"strings"
	"testing"

	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/testkit"
)

// TestTemplates holds that what --show prints can be read, and says nothing false.
func TestTemplates(t *testing.T) {
	m := testkit.Must(predict.ReadMachine("host.toml", []byte(predict.MachineTemplate)))(t)
	if len(m.Assumptions) != 0 || m.CPUs() != 32 || m.Domain != model.PerCore || len(m.Turbo) != 2 ||
		len(m.IdleStates) != 2 {
		t.Errorf("%+v", m)
	}
	w := testkit.Must(predict.ReadWorkload("w.toml", strings.NewReader(predict.WorkloadTemplate), true))(t)
	if !w.Open() || w.Slices != 3 || w.Slice.Mean != 0.06 || w.MemoryShare != 0.1 {
		t.Errorf("%+v", w)
	}
	for name, text := range map[string]string{"host": predict.MachineTemplate, "workload": predict.WorkloadTemplate} {
		for i, l := range strings.Split(text, "\n") {
			if len(l) > 90 {
				t.Errorf("%s template, line %d is %d wide", name, i+1, len(l))
			}
		}
	}
}

const small = "sockets = 1\ncores_per_socket = 4\nnominal = 2e9\npstates = [1e9, 2e9]\n"

func TestReadMachine(t *testing.T) {
	m := testkit.Must(predict.ReadMachine("dir/small.toml", []byte(small)))(t)
	if m.Name != "small" || m.Domain != model.PerThread || len(m.Assumptions) != 3 {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", small + "soket = 1\n", `h.toml:5:1: unknown key "soket"; did you mean sockets?`},
		{"two unknown", small + "a = 1\nb = 2\n", `h.toml:5:1: unknown key "a" (and 1 more)`},
		{"unknown in a table", small + "[power]\ncore_wats = 2\n",
			`h.toml:6:1: unknown key "core_wats"; did you mean core_watts?`},
		{"unknown in a list", small + "[[turbo]]\nactive_core = 2\n",
			`h.toml:6:1: unknown key "active_core"; did you mean active_cores?`},
		{"type", strings.Replace(small, "= 1\n", "= 'x'\n", 1),
			"h.toml:1:11: sockets takes a whole number, not a text in quotes"},
		{"no TOML", "sockets == 1", "h.toml:1:10: not TOML:"},
		{"twice", small + "sockets = 2\n", "h.toml:5:1: not TOML:"},
		{"missing", "sockets = 1\n", "h.toml: cores_per_socket is missing; 'hostlab predict --show host'"},
		{"empty", "", "h.toml: sockets is missing"},
		{"no sockets", strings.Replace(small, "= 1\n", "= 0\n", 1), "h.toml:1: sockets is 0; it must be 1 to 256"},
		{"too many CPUs", "sockets = 200\ncores_per_socket = 1000\nnominal = 2e9\npstates = [2e9]\n",
			"sockets x cores_per_socket x threads_per_core is 200000"},
		{"no P-states", strings.Replace(small, "[1e9, 2e9]", "[]", 1), "h.toml:4: pstates is empty"},
		{"unsorted", strings.Replace(small, "[1e9, 2e9]", "[2e9, 1e9]", 1),
			"h.toml:4: pstates[1] is 1.00 GHz, not above pstates[0], 2.00 GHz"},
		{"not Hz", strings.Replace(small, "[1e9, 2e9]", "[1.0, 2.0]", 1),
			"h.toml:4: pstates[0] is 1.00 Hz; it must be 10.0 MHz to 20.0 GHz"},
		{"NaN", strings.Replace(small, "2e9\n", "nan\n", 1), "h.toml:3: nominal is NaN; it must be"},
		{"infinite", strings.Replace(small, "2e9\n", "inf\n", 1), "h.toml:3: nominal is +Inf; it must be"},
		{"domain", small + "domain = 'chip'\n", `h.toml:5: domain is "chip"; it must be thread, core or socket`},
		{"turbo", small + "[[turbo]]\nactive_cores = 9\nhz = 3e9\n",
			"h.toml:6: turbo[0].active_cores is 9; it must be 1 to 4"},
		{"idle", small + "[[idle_states]]\nexit_latency = -1.0\n", "h.toml:6: idle_states[0].exit_latency is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := predict.ReadMachine("h.toml", []byte(c.text)); err == nil ||
				!strings.HasPrefix(err.Error(), strings.Split(c.want, "~")[0]) && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nexpected %s", err, c.want)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestReadWorkload(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "w.toml: slice is missing"},
		{"no unit", "slice = '60'\n", `w.toml:1:9: slice: "60" has no unit; write 60ms or 60s`},
		{"a number", "slices = 2\nslice = 60\n", `w.toml: "60" has no unit; write 60ms or 60s`},
		{"zero", "slice = '0s'\n", "w.toml:1: slice: the mean is 0 s; it must be at least 1 us"},
		{"negative", "slice = '-5ms'\n", "w.toml:1:9: slice: -5ms: the mean is -0.005 s"},
		{"no slices", "slice = '5ms'\nslices = 0\n", "w.toml:2: slices is 0; it must be 1 to 10000"},
		{"kind", "slice = '5ms'\nkind = 'dialogue'\n", `w.toml:2: kind is "dialogue"; it must be dialog, batch, query or commit`},
		{"key", "slice = '5ms'\nmemory = 2\n", `w.toml:2:1: unknown key "memory"`},
		{"near key", "slice = '5ms'\nslicess = 2\n", `w.toml:2:1: unknown key "slicess"; did you mean slices?`},
		{"memory", "slice = '5ms'\nmemory_share = 2\n", "w.toml:2: memory_share is 2; it must be 0 to 1"},
		{"NaN", "slice = '5ms'\nmemory_share = nan\n", "w.toml:2: memory_share is NaN; it must be 0 to 1"},
		{"batch", "slice = '5ms'\nkind = 'batch'\nusers = 1\n", "w.toml: work is 0 s; it must be 0.001 to 1000000 s"},
		{"record", "{\n", "w.toml: line 1: not a record of bursts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := predict.ReadWorkload("w.toml", strings.NewReader(c.text), true); err == nil ||
				!strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\nexpected %s", err, c.want)
			}
		})
	}
}

func FuzzReadMachine(f *testing.F) {
	f.Add([]byte(predict.MachineTemplate))
	f.Add([]byte(small + "x.y = 1\n[[a]]\nb=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := predict.ReadMachine("h.toml", data)
		if err == nil {
			err = m.Validate()
		} else if strings.Contains(err.Error(), "goroutine") {
			t.Error(err)
		} else {
			return
		}
		if err != nil {
			t.Errorf("a machine that was read is invalid: %v", err)
		}
	})
}

func FuzzReadWorkload(f *testing.F) {
	f.Add([]byte(predict.WorkloadTemplate))
	f.Add([]byte("slice = 'values 5ms 6ms'\nusers = 3\nthink='exp 1s'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := predict.ReadWorkload("w.toml", bytes.NewReader(data), true)
		if err == nil {
			if err := w.Validate(); err != nil {
				t.Errorf("a workload that was read is invalid: %v", err)
			}
		}
	})
}
