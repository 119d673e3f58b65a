package host

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

func FuzzMountinfo(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n", "/mnt2/x")
	f.Add("1 1 0:1 / / rw - rootfs r rw\n2 1 0:2 / / rw - ext4 \\134\\040 rw\n2 2 0:3 / / rw - x y", "/")
	f.Fuzz(func(t *testing.T, s, path string) {
		m := mountTable{mounts: parseMounts(s)}
		for i := range m.mounts {
			if !strings.HasPrefix(m.mounts[i].point, "/") {
				t.Errorf("mount point %q", m.mounts[i].point)
			}
			m.mounts[i].options()
		}
		if strings.HasPrefix(path, "/") {
			if c := m.find(path); c != nil && m.rootMount() != nil && !within(path, c.point) {
				t.Errorf("%q is not within %q", path, c.point)
			}
		}
	})
}

// The kernel escapes blank, tab, newline and backslash; all else is as it is.
func TestUnescapeOctal(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		mangled := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(s)
		if got := unescapeOctal(mangled); got != s {
			t.Errorf("%q gives %q, want %q", mangled, got, s)
		}
	})
}

// Without overmounts, the kernel's way and the longest mount point agree.
func TestFindIsTheLongestWhereNothingIsHidden(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfDistinct(rapid.StringMatching(`(/[ab]){1,4}`), func(s string) string { return s }).Draw(t, "points")
		m := mountTable{mounts: []mount{{id: 1, point: "/"}}}
		for len(points) > 0 { // outer mounts first, as they must be made
			least := 0
			for i := range points {
				if len(points[i]) < len(points[least]) {
					least = i
				}
			}
			p := points[least]
			points = append(points[:least], points[least+1:]...)
			m.mounts = append(m.mounts, mount{id: len(m.mounts) + 1, parent: m.longest(p).id, point: p})
		}
		path := rapid.StringMatching(`(/[ab]){1,6}`).Draw(t, "path")
		if got, want := m.find(path), m.longest(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	})
}

// Only what a user mounted is his: others may call theirs the same.
func TestUserMounts(t *testing.T) {
	got := UserMounts(tree(t, mountinfo(`36 35 98:0 / /home/eve/at rw - fuse.delay delay rw,user_id=54321,group_id=0`,
		`37 35 98:1 / /var/lib/with\040space rw,nosuid shared:1 - fuse.delay delay rw,user_id=0,group_id=0,allow_other`,
		`38 35 98:2 / /mnt rw - ext4 /dev/user_id=0 rw,user_id=0`, `39 35 98:3 / /odd rw - fuse.delay delay rw,user_id=00`)), "fuse.delay", 0)
	testkit.Same(t, map[int]string{37: "/var/lib/with space"}, got)
}
