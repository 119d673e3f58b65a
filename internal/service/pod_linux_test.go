package service

import (
	"strings"
	"testing"

	"hostlab/internal/pods"
	"hostlab/internal/testkit"
)

// running are containers with a pod that runs twice, one name in two pods, and IDs that begin alike.
var running = []pods.Container{
	{Namespace: "shop", Pod: "db-0", Name: "postgres", UID: "u1", ID: "aa11", Group: "/k/u1/aa11", Whole: "/k/u1"},
	{Namespace: "shop", Pod: "db-0", Name: "backup", UID: "u1", ID: "aa22", Group: "/k/u1/aa22", Whole: "/k/u1"},
	{Namespace: "shop", Pod: "db-0", Name: pods.Sandbox, UID: "u1", ID: "aa33", Group: "/k/u1/aa33", Whole: "/k/u1"},
	{Namespace: "shop", Pod: "api-1", Name: "api", UID: "u2", ID: "bb11", Group: "/k/u2/bb11", Whole: "/k/u2"},
	{Namespace: "shop", Pod: "api-1", Name: "api", UID: "u3", ID: "bb22", Group: "/k/u3/bb22", Whole: "/k/u3"},
	{Namespace: "shop", Pod: "api-1", Name: "log", UID: "u2", ID: "bb33", Group: "/k/u2/bb33", Whole: "/k/u2"},
	{Namespace: "shop", Pod: "api-1", Name: "log", UID: "u3", ID: "bb44", Group: "/k/u3/bb44", Whole: "/k/u3"},
	{Namespace: "test", Pod: "db-0", Name: "postgres", UID: "u4", ID: "cc11", Group: "/k/u4/cc11", Whole: "/k/u4"},
	{Name: "web", ID: "abcd1111", Group: "/docker/abcd1111"}, {Name: "cache", ID: "abcd2222", Group: "/docker/abcd2222"},
}

// odd are containers of a pod without a group of its own, and of other users, who take IDs and names of others.
var odd = []pods.Container{
	{Namespace: "shop", Pod: "old-0", Name: "db", UID: "u5", ID: "dd11", Group: "/x/kubepods-podu5.slice:cri-containerd:dd11"},
	{Namespace: "shop", Pod: "old-0", Name: "log", UID: "u5", ID: "dd22", Group: "/x/kubepods-podu5.slice:cri-containerd:dd22"},
	{Name: "cache", ID: "abcd2222", Group: "/docker/abcd2222"}, {ID: "abcd2222", Group: "/user.slice/u/abcd2222", Owner: 4711},
	{ID: "eeee1111", Group: "/user.slice/u/eeee1111", Owner: 4711}, {ID: "ffff1111", Group: "/user.slice/v/ffff1111", Owner: -1},
	{ID: "9999aaaa", Group: "/user.slice/u/9999aaaa", Owner: 4711}, {ID: "9999bbbb", Group: "/user.slice/w/9999bbbb", Owner: 4712},
}

// TestPodErrors: who names none, or several, is told in one line what to name.
func TestPodErrors(t *testing.T) {
	for _, c := range []struct {
		find func() (*Service, error)
		says []string
	}{
		{func() (*Service, error) { return podAmong("shop/web", running, "names were looked for in /x", nil) },
			[]string{"no pod shop/web runs here", "pod:shop/db-0/postgres", "container:web", "names were looked for in /x"}},
		{func() (*Service, error) { return podAmong("shop/db-0/redis", running, "", nil) },
			[]string{`pod shop/db-0 has no container "redis"; it has pod:shop/db-0/postgres, pod:shop/db-0/backup`}},
		{func() (*Service, error) { return podAmong("shop/api-1", running, "", nil) },
			[]string{"2 pods shop/api-1 run here; name one by its group: cgroup:/k/u2, cgroup:/k/u3"}},
		{func() (*Service, error) { return podAmong("shop/old-0", odd, "", nil) },
			[]string{"name one of pod:shop/old-0/db, pod:shop/old-0/log"}},
		{func() (*Service, error) { return containerAmong("eeee", odd, "", nil) },
			[]string{"container eeee is of uid 4711; name it by cgroup:/user.slice/u/eeee1111"}},
		{func() (*Service, error) { return containerAmong("ffff1111", odd, "", nil) },
			[]string{"of a user that is not known; name it by cgroup:/user.slice/v/ffff1111"}},
		{func() (*Service, error) { return containerAmong("9999", odd, "", nil) },
			[]string{"2 containers 9999 run here", "cgroup:/user.slice/u/9999aaaa (container 9999aaaa of uid 4711), cgroup:/user.slice/w/9999bbbb"}},
		{func() (*Service, error) { return containerAmong("abcd2222", odd, "", nil) }, []string{"no control group /docker/abcd2222 is here"}},
		{func() (*Service, error) { return containerAmong("nothing", odd, "", nil) },
			[]string{"container:cache, cgroup:/user.slice/u/abcd2222"}},
		{func() (*Service, error) { return containerAmong("postgres", running, "", nil) },
			[]string{"2 containers postgres run here", "pod:shop/db-0/postgres, pod:test/db-0/postgres"}},
		{func() (*Service, error) { return containerAmong("abcd", running, "", nil) },
			[]string{"2 containers abcd run here", "cgroup:/docker/abcd1111 (container web), cgroup:/docker/abcd2222 (container cache)"}},
		{func() (*Service, error) { return containerAmong("abc", running, "", nil) }, []string{"no container abc runs here"}},
		{func() (*Service, error) { return containerAmong("x", nil, "no directory", nil) },
			[]string{"no container x runs here: no container runs here; no directory"}},
		// One is found, whose group is none of this host's.
		{func() (*Service, error) { return podAmong("shop/db-0", running, "", nil) },
			[]string{"no control group /k/u1 is here"}},
		{func() (*Service, error) { return podAmong("shop/db-0/backup", running, "", nil) },
			[]string{"no control group /k/u1/aa22 is here"}},
		{func() (*Service, error) { return containerAmong("web", running, "", nil) }, []string{"/docker/abcd1111"}},
		{func() (*Service, error) { return containerAmong("abcd2", running, "", nil) }, []string{"/docker/abcd2222"}},
	} {
		_, err := c.find()
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want an error of one line with %q", err, c.says)
			continue
		}
		for _, text := range c.says {
			testkit.Has(t, err.Error(), text)
		}
	}
	for _, text := range []string{"pod:", "pod:a", "pod:a/", "pod:a/b/c/d", "pod:/b", "container:", "container:a/b",
		"pod:a/b\n"} {
		if s, err := Parse(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q) = %+v, %v", text, s, err)
		}
	}
	if s, err := Parse("pod:shop/db-0/postgres"); err != nil || s != (Spec{Pod, "shop/db-0/postgres"}) {
		t.Errorf("%+v, %v", s, err)
	}
}
