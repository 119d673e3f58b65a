//go:build linux && amd64

package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// scene is something that happens to settings. It must leave every file as it was, and the journal empty.
type scene struct {
	name string
	only string // a file that must be there; "": on every machine
	play func(s *stage)
}

// stage is where a scene plays.
type stage struct {
	name   string
	before map[string]string
}

func combine(names []string) {
	for _, sc := range scenes {
		if len(names) > 0 && !slices.Contains(names, sc.name) || sc.only != "" && len(glob(sc.only)) == 0 {
			continue
		}
		if sc.only == offlined && spinning() {
			continue
		}
		failed := failures
		s := &stage{name: sc.name, before: dump()}
		sc.play(s)
		same(sc.name, s.before, dump())
		if journalLeft() {
			fail(sc.name, "the journal is still there: %s", hostlab("verify").out)
			hostlab("revert", "--forget")
		}
		if failures == failed {
			ok(sc.name)
		}
	}
}

// set must end with the exit status, and say the words.
func (s *stage) set(code int, says string, want ...string) change {
	r := hostlab(append([]string{"set", "--yes", "--format", "json"}, want...)...)
	s.ended(r, strings.Join(want, " "), code, says)
	if !strings.HasPrefix(r.out, "{") {
		return change{} // a usage error
	}
	return r.change()
}

func (s *stage) ended(r run, what string, code int, says string) {
	if r.code != code || !strings.Contains(r.out+r.err, says) {
		fail(s.name, "%s: exit %d, wanted %d and %q: %s %s", what, r.code, code, says, r.out, r.err)
	}
}

func (s *stage) hostlab(code int, says string, args ...string) {
	s.ended(hostlab(args...), strings.Join(args, " "), code, says)
}

// put writes by hand, and takes back what the scene is compared with.
func (s *stage) put(value, path string) {
	if err := echo(value, path); err != nil {
		fail(s.name, "%s > %s: %v", value, path, err)
	}
}

// given writes by hand and makes that the state to come back to.
func (s *stage) given(value string, paths ...string) (back func()) {
	old := map[string]string{}
	for _, p := range paths {
		old[p] = chosen(cat(p))
		s.put(value, p)
	}
	time.Sleep(50 * time.Millisecond)
	scene := s.before
	s.before = dump()
	return func() {
		same(s.name, s.before, dump())
		for i := range paths {
			p := paths[len(paths)-1-i]
			s.put(old[p], p)
		}
		time.Sleep(50 * time.Millisecond)
		s.before = scene
	}
}

func (s *stage) reads(path, want string) {
	if got := chosen(cat(path)); got != want {
		fail(s.name, "%s reads %q, and should %q", path, got, want)
	}
}

const (
	p0         = cpu + "/cpufreq/policy0/"
	acpiSteps  = p0 + "scaling_available_frequencies"
	eppFile    = p0 + "energy_performance_preference"
	offlined   = cpu + "/smt/active" // and CPUs are taken offline
	smtActive  = cpu + "/smt/control"
	swappiness = "/proc/sys/vm/swappiness"
)

func governors() []string { return glob(cpu + "/cpufreq/policy*/scaling_governor") }

var scenes = []scene{
	{"many settings at once", acpiSteps, func(s *stage) {
		s.set(0, "", "swappiness=10", "min_freq=1.8GHz", "max_freq=1.8GHz", "thp=always", "governor=performance",
			"cstate_latency=2us", "dirty_bytes=629145600")
		requireRegisters(s.name, 2)
		s.hostlab(0, "", "verify")
		s.hostlab(0, "", "revert")
	}},
	{"minimum and maximum raised together", acpiSteps, func(s *stage) {
		defer s.given("1200000", glob(policy+"scaling_max_freq")...)()
		c := s.set(0, "", "min_freq=2.4GHz", "max_freq=2.4GHz")
		require(s.name+": exact", c.results()["changed"] == len(c.Outcomes), "%v", c.results())
		s.hostlab(0, "", "revert")
	}},
	{"maximum below the minimum that was set by hand", acpiSteps, func(s *stage) {
		defer s.given("1800000", glob(policy+"scaling_min_freq")...)()
		s.set(0, "", "max_freq=1.2GHz")
		s.reads(p0+"scaling_min_freq", "1200000")
		s.hostlab(0, "", "revert")
		s.reads(p0+"scaling_min_freq", "1800000")
	}},
	{"minimum above the maximum is refused", acpiSteps, func(s *stage) {
		s.set(2, "which is below it", "min_freq=2.4GHz", "max_freq=1.2GHz")
	}},
	{"a frequency between two steps is reported", acpiSteps, func(s *stage) {
		c := s.set(0, "", "max_freq=1.5GHz")
		require(s.name+": rounded", c.results()["rounded"] == len(c.Outcomes) && c.Outcomes[0].Read == "1200000", "%+v", c)
		s.hostlab(0, "", "revert")
		s.hostlab(0, "not exactly as asked", "set", "--yes", "max_freq=1.5GHz")
		s.hostlab(0, "", "revert")
	}},
	{"SMT off and on, with a CPU that was taken offline by hand", offlined, func(s *stage) {
		defer s.given("0", cpu+"/cpu3/online")()
		s.set(0, "", "smt=off")
		s.reads(cpu+"/online", "0,2")
		s.hostlab(0, "", "revert")
		s.reads(cpu+"/online", "0-2")
	}},
	{"SMT switched on, where it was off", offlined, func(s *stage) {
		defer s.given("off", smtActive)()
		s.set(0, "", "smt=on")
		s.reads(cpu+"/online", "0-3")
		s.hostlab(0, "", "revert")
		s.reads(cpu+"/online", "0,2")
	}},
	{"a sibling while SMT is off", offlined, func(s *stage) {
		defer s.given("off", smtActive)()
		s.set(1, "SMT is off", "cpu_online@cpu1=on")
	}},
	{"SMT off together with what its CPUs have", offlined, func(s *stage) {
		s.set(0, "", "smt=off", "pm_qos_resume_latency_us=70us")
		s.reads(cpu+"/online", "0,2")
		s.hostlab(0, "", "revert")
	}},
	{"CPUs of a policy go offline with an open journal", offlined, func(s *stage) {
		list := governors()
		if len(list) == 0 {
			return
		}
		last := strings.TrimSuffix(list[len(list)-1], "scaling_governor")
		cpus := strings.Fields(cat(last + "related_cpus"))
		if slices.Contains(cpus, "0") {
			return // one policy for all
		}
		s.set(0, "", map[bool]string{true: "governor=performance", false: "governor=powersave"}[cat(list[0]) == "powersave"])
		for _, n := range cpus {
			s.put("0", cpu+"/cpu"+n+"/online")
		}
		s.hostlab(10, "offline", "verify", "--exit-status")
		s.hostlab(1, "stays in the journal", "revert")
		for _, n := range cpus {
			s.put("1", cpu+"/cpu"+n+"/online")
		}
		s.hostlab(0, "", "revert")
	}},
	{"a read-only /sys", "", func(s *stage) {
		if err := errorOf(syscall.Mount("/sys", "/sys", "", syscall.MS_BIND, ""),
			syscall.Mount("", "/sys", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")); err != nil {
			fail(s.name, "mount: %v", err)
			return
		}
		s.set(1, "read-only", "ksm=1")
		s.set(1, "nothing was changed", "ksm=1", "swappiness=10")
		s.reads(swappiness, "60")
		if err := syscall.Unmount("/sys", 0); err != nil {
			fail(s.name, "umount: %v", err)
		}
	}},
	{"no privilege", "", func(s *stage) {
		cmd := command("set", "--yes", "thp=always")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			fail(s.name, "%v", err)
			return
		}
		s.ended(run{code: cmd.ProcessState.ExitCode(), out: string(out)}, "thp=always as nobody", 1, "CAP_DAC_OVERRIDE")
	}},
	{"two hostlabs", "", func(s *stage) {
		first := command("set", "--yes", "cpu_dma_latency=100us") // holds the device as long as it runs, and not the journal
		if err := first.Start(); err != nil {
			cannot(err.Error())
		}
		for range 500 {
			if v, _ := dmaLatency(); v == 100 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		var second run
		for range 50 { // the first gives up the journal once the device is open
			if second = hostlab("set", "--yes", "swappiness=10"); second.code == 0 {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		v, _ := dmaLatency()
		require(s.name+": what one holds does not keep others from setting", second.code == 0 && v == 100,
			"exit %d, %d us: %s", second.code, v, second.err)
		_ = first.Process.Signal(os.Interrupt)
		_ = first.Wait()
		a, b := command("set", "--yes", "swappiness=10"), command("set", "--yes", "ksm=1")
		errA, errB := a.Start(), b.Start()
		errA, errB = errorOf(errA, a.Wait()), errorOf(errB, b.Wait())
		require(s.name+": one at least sets", errA == nil || errB == nil, "%v; %v", errA, errB)
		s.hostlab(0, "", "revert")
	}},
	{"another program changes a value meanwhile", "", func(s *stage) {
		s.set(0, "", "swappiness=10", "thp_defrag=never")
		s.put("33", swappiness)
		s.hostlab(10, "33, no longer 10", "verify", "--exit-status")
		s.hostlab(1, "reads 33: another program has changed it", "revert")
		s.reads(swappiness, "33")
		s.put("60", swappiness)
		s.hostlab(0, "", "revert")
	}},
	{"--force puts back also what another program has changed", "", func(s *stage) {
		s.set(0, "", "swappiness=10")
		s.put("33", swappiness)
		s.hostlab(0, "", "revert", "--force")
	}},
	{"what fails on the way is undone", "", func(s *stage) {
		s.set(1, "kernel does not take this value", "thp=always", "swappiness=10", "shmmni=40000") // 32768 at most
	}},
	{"huge pages and a reserve of memory that was set by hand", "", func(s *stage) {
		reserve := "/proc/sys/vm/min_free_kbytes"
		old := cat(reserve)
		s.put("5000", reserve)
		before := dump()
		s.set(0, "", "thp=always")
		s.hostlab(0, "", "revert")
		same(s.name, before, dump())
		s.put(old, reserve)
	}},
	{"values that cannot be", "", func(s *stage) {
		for _, w := range []string{"governor=nonsense", "max_freq=99GHz", "max_freq=abc", "smt=forceoff", "swappiness=-1",
			"nothing=1", "governor@policy9=performance", "swappiness="} {
			s.set(map[bool]int{true: 1, false: 2}[len(governors()) == 0 &&
				strings.Contains("governor max_freq", strings.Split(w, "=")[0])], "", w)
		}
	}},
	{"governor and EPP together, from performance", eppFile, func(s *stage) {
		defer s.given("performance", governors()...)()
		s.set(0, "", "epp=power", "governor=powersave")
		s.reads(eppFile, "power")
		s.hostlab(0, "", "verify")
		s.hostlab(0, "", "revert")
	}},
	{"EPP under the governor performance", eppFile, func(s *stage) {
		defer s.given("performance", governors()...)()
		s.set(2, "", "epp=power")
	}},
	{"EPP and a governor that locks it", eppFile, func(s *stage) {
		defer s.given("powersave", governors()...)()
		s.set(1, "locked while the governor is performance", "epp=power", "governor=performance")
	}},
	{"EPP comes back with the governor", eppFile, func(s *stage) {
		defer s.given("powersave", governors()...)()
		defer s.given("balance_power", glob(policy+"energy_performance_preference")...)()
		s.set(0, "", "governor=performance")
		s.reads(eppFile, "performance")
		s.hostlab(0, "", "revert")
		s.reads(eppFile, "balance_power")
	}},
	{"the EPP default is reported as what it stands for", eppFile, func(s *stage) {
		defer s.given("powersave", governors()...)()
		c := s.set(0, "", "epp=default")
		require(s.name+": reported", c.results()["rounded"]+c.results()["unchanged"]+len(c.Same) > 0, "%+v", c)
		s.hostlab(0, "", "revert")
	}},
	{"governor, EPP and limits", eppFile, func(s *stage) {
		s.set(0, "", "min_freq=1GHz", "max_freq=2GHz", "epp=balance_power", "governor=powersave")
		s.hostlab(0, "", "verify")
		s.hostlab(0, "", "revert")
	}},
}

func errorOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}
