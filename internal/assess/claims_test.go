package assess

import (
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/pods"
	"hostlab/internal/proc"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// inPod is a container of a pod, with a CPU limit that stopped it.
func inPod() *Minute {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.RunQueue: 42})
	m.Service = service.Service{Kind: service.Pod, Name: "shop/db-0", PID: 7, Containers: []pods.Container{
		{Namespace: "shop", Pod: "db-0", Name: "postgres", ID: "aa11", Engine: "containerd"}}}
	m.Throttled, m.Quota, m.Counted = new(40.0), &service.Quota{File: "/sys/fs/cgroup/x/cpu.max", CPUs: 1.5,
		Period: 0.1}, true
	m.Memory = &service.Ceiling{File: "/sys/fs/cgroup/x/memory.max", Bytes: 1 << 30, Hits: 3}
	return m
}

// TestPodLimits: a limit of a container is raised where its owner wrote it; the kubelet writes the group's files anew.
func TestPodLimits(t *testing.T) {
	for engine, says := range map[string][2]string{
		"": {"raise spec.containers[].resources.limits.cpu of container postgres in the manifest of pod shop/db-0",
			"spec.containers[].resources.limits.memory of container postgres"},
		"docker":     {"sudo docker update --cpus 3 aa11", "sudo docker update --memory 2147483648 aa11"},
		"podman":     {"sudo podman update --cpus 3 aa11", "sudo podman update --memory 2147483648 aa11"},
		"nerdctl":    {"sudo nerdctl update --cpus 3 aa11", "sudo nerdctl update --memory 2147483648 aa11"},
		"containerd": {"raise --cpus where container web is started", "raise --memory-limit where container web is started"},
		"lxc":        {"echo '300000 100000' | sudo tee /sys/fs/cgroup/x/cpu.max", "echo 2147483648 | sudo tee"},
	} {
		m := inPod()
		if c := &m.Service.Containers[0]; engine != "" {
			*c = pods.Container{Name: "web", ID: "aa11", Engine: engine}
			m.Service.Kind, m.Service.Name = service.Container, "web"
		}
		levers := m.Levers()
		for i, name := range []string{lever.Quota, lever.Memory} {
			if l := find(t, levers, name); !strings.Contains(l.Next.Command+l.Next.Note, says[i]) {
				t.Errorf("%q, %s: %+v, want %q", engine, name, l.Next, says[i])
			}
		}
	}
	m := inPod() // a user's own runtime takes no sudo
	m.Service.Containers[0] = pods.Container{Name: "web", ID: "aa11", Engine: "podman", Owner: 1000}
	if next := find(t, m.Levers(), lever.Quota).Next; next.Command != "podman update --cpus 3 aa11" ||
		!strings.HasPrefix(next.Note, m.Service.Containers[0].String()+": twice as much as now") {
		t.Errorf("%+v", next)
	}
	m = inPod() // of several containers, the one whose group has the limit
	m.Service.Containers = append([]pods.Container{{Namespace: "shop", Pod: "db-0", Name: "log", Group: "/kubepods/pod1/cc22"}}, m.Service.Containers...)
	m.Service.Containers[1].Group, m.Quota.File = "/kubepods/pod1/aa11", "/sys/fs/cgroup/kubepods/pod1/aa11/cpu.max"
	if says := m.Verdict(m.Levers()); !strings.Contains(says, "Pod shop/db-0 waits") ||
		!strings.Contains(says, "First: raise spec.containers[].resources.limits.cpu of container postgres in the manifest of pod shop/db-0") {
		t.Error(says)
	}
}

// TestPodTable: what is not known is neither 0 nor no limit.
func TestPodTable(t *testing.T) {
	m := inPod()
	m.Claims = []host.Claims{{Name: "pod shop/db-0, container postgres",
		Limits: host.Limits{CPUQuota: host.Known(1.5, "", "x"),
			CPUThrottled: host.Known[int64](12, "", "x"), CPUPeriods: host.Known[int64](600, "", "x"),
			MemoryMax:   host.Known[int64](1<<30, "B", "x"),
			MemoryKills: host.Known[int64](1, "", "x")}, Request: host.Known(host.Request{CPUs: 0.5, Later: 0.13}, "", "x"),
		Huge: []host.HugeLimit{{Size: "2MB", Bytes: host.Known[int64](0, "B", "x")},
			{Size: "1GB", Bytes: host.Fact[int64]{State: host.StateAbsent}}}},
		{Name: "backup", Limits: host.Limits{CPUQuota: host.Fact[float64]{State: host.StateAbsent},
			CPUThrottled: host.Fact[int64]{State: host.StateAbsent}}}}
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, &document.Document{Sections: []document.Section{m.limitsOf()}},
		document.TextOptions{Width: 220}))
	if head := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(head, "CPU limit stopped by its limit CPU request") {
		t.Error(head)
	}
	for _, text := range []string{"1.5 CPUs", "0.5 or 0.13", "in 12 of 600", "1 GiB", "1 process",
		"2MB: none", "no limit", "not known"} {
		testkit.Has(t, b.String(), text)
	}
}

// TestNeighbourInPod: a program that takes the CPUs is named with its pod, which has a hash for a control group.
func TestNeighbourInPod(t *testing.T) {
	hog := Taker{Taker: proc.Taker{Name: "java", PID: 4711, Processes: 1, Group: "/kubepods/pod1/ab12", Seconds: 30},
		Container: &pods.Container{Namespace: "batch", Pod: "nightly-1", Name: "main"}}
	testkit.Is(t, "java (PID 4711, pod batch/nightly-1, container main)", called(hog))
	if next := limit(hog); !strings.Contains(next.Note, "spec.containers[].resources.limits.cpu of container main in the manifest of pod batch/nightly-1") ||
		next.Command != "" {
		t.Errorf("%+v", next)
	}
}

// TestNeighbourInContainer: outside of Kubernetes its runtime has the limit, and each has it elsewhere.
func TestNeighbourInContainer(t *testing.T) {
	for _, c := range []struct{ name, engine, says string }{
		{"web", "docker", "give container web a CPU limit: sudo docker update --cpus CPUS ab12"},
		{"pod web", "podman", "give container pod web a CPU limit: sudo podman update --cpus CPUS ab12"},
		{"web", "nerdctl", "give container web a CPU limit: sudo nerdctl update --cpus CPUS ab12"},
		{"web", "lxc", "limits.cpu.allowance of container web in LXD or Incus, lxc.cgroup2.cpu.max in LXC"},
		{"", "containerd", "--cpus where container ab12 is started, as by ctr run"},
		{"web", "", "ask the runtime of container web"},
	} {
		next := limit(Taker{Taker: proc.Taker{Name: "java", PID: 4711, Processes: 1},
			Container: &pods.Container{ID: "ab12", Name: c.name, Engine: c.engine}})
		if !strings.HasSuffix(next.Note, c.says) || next.Command != "" || c.engine != "docker" && strings.Contains(next.Note, "docker") {
			t.Errorf("%+v, want %q", next, c.says)
		}
	}
}

// TestAskedInPod: a server that is asked is named with its pod, too.
func TestAskedInPod(t *testing.T) {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, explain.Peers: 60})
	m.Asked = []Asked{{Address: "10.0.0.7:5432", PID: 4711, Name: "postgres", Seconds: 60,
		Container: &pods.Container{Namespace: "shop", Pod: "db-0", Name: "postgres"}}}
	if f := m.asking(); len(f) != 1 || !strings.Contains(f[0].Text,
		"postgres (PID 4711, pod shop/db-0, container postgres) at 10.0.0.7:5432") {
		t.Errorf("%+v", f)
	}
}
