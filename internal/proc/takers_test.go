package proc

import (
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func TestTakers(t *testing.T) {
	s := time.Second
	before := Census{all: []Stat{
		{PID: 1, Name: "init", Started: 1}, {PID: 10, Parent: 1, Name: "hog", CPU: 5 * s, Started: 2}, {PID: 11, Parent: 1, Name: "hog", CPU: 5 * s, Started: 2},
		{PID: 20, Parent: 1, Name: "postgres", CPU: s, Started: 2}, {PID: 30, Parent: 1, Name: "make", Started: 3},
		{PID: 31, Parent: 30, Name: "cc", CPU: 2 * s, Started: 4}, {PID: 40, Parent: 1, Name: "old", CPU: 9 * s, Started: 4},
		{PID: 60, Parent: 1, Name: "sh", Started: 4}, {PID: 61, Parent: 60, Name: "long", CPU: 99 * s, Started: 4}}} // both end
	after := Census{all: []Stat{
		{PID: 1, Name: "init", Reaped: 108 * s, Started: 1}, {PID: 10, Parent: 1, Session: 1, Name: "hog", CPU: 15 * s, Started: 2},
		{PID: 11, Parent: 1, Session: 30, Name: "hog", CPU: 6 * s, Started: 2},
		{PID: 20, Parent: 1, Name: "postgres", CPU: 9 * s, Started: 2}, {PID: 21, Parent: 20, Name: "postgres", CPU: 4 * s, Started: 7},
		{PID: 30, Parent: 1, Name: "make", Reaped: 5 * s, Started: 3},  // cc ended, and others came and went
		{PID: 40, Parent: 1, Name: "young", CPU: 2 * s, Started: 9},    // another process of that number
		{PID: 50, Parent: 2, Name: "kworker/0:1", CPU: s, Started: 9}}, // of the kernel
		groupOf: func(pid int) string {
			return map[int]string{10: "/system.slice/hog.service", 11: "/system.slice/hog.service"}[pid]
		}}
	ours := after.Below(20)
	got := after.Takers(before, func(p Stat, _ string) bool { return ours[p.PID] })
	want := []Taker{{"hog", 10, []int{11}, []int{10, 30}, 2, "/system.slice/hog.service", 11, false},
		{"make", 30, nil, []int{30}, 1, "", 3, false}, {"young", 40, nil, []int{40}, 1, "", 2, false},
		{"the kernel's threads", 50, nil, nil, 1, "", 1, true}}
	if kthreadd < 0 {
		want[3].Name, want[3].Sessions, want[3].Kernel = "kworker/0:1", []int{50}, false
	}
	testkit.Same(t, want, got)
	for group, unit := range map[string]string{
		"/system.slice/hog.service": "hog.service", "/user.slice/user-0.slice/session-3.scope": "",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope": "x.scope", "/system.slice/docker-ab12.scope": "docker-ab12.scope", "": "",
	} {
		testkit.Is(t, unit, (Taker{Group: group}).Unit(), group)
	}
}
