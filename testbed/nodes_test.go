//go:build linux && amd64 && system

package testbed

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// twoNodes are QEMU's arguments for two memory nodes of so much each, with those CPUs.
func twoNodes(size, first, second string) string {
	return strings.NewReplacer("SIZE", size, "FIRST", first, "SECOND", second).Replace(
		"-object memory-backend-ram,id=m0,size=SIZE -object memory-backend-ram,id=m1,size=SIZE " +
			"-numa node,memdev=m0,cpus=FIRST -numa node,memdev=m1,cpus=SECOND")
}

// TestNodes reads the facts of a host with two memory nodes and a network card, moves the card's interrupts, and runs
// numa-interleave and doublewrite on a private MariaDB.
func TestNodes(t *testing.T) {
	t.Parallel()
	root, image := t.TempDir(), filepath.Join(t.TempDir(), "mariadb.img")
	withLibraries(t, root, "/usr/sbin/mariadbd", "/usr/share/mysql/english", "/usr/share/mysql/charsets")
	said(t, exec.Command("/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", root, image, "128M"))
	const bind = "mkdir -p /disk /usr /lib64 /lib/x86_64-linux-gnu; mount -t ext4 /dev/vda /disk; " +
		"for d in usr lib64 lib/x86_64-linux-gnu; do mount -o bind /disk/$d /$d; done"
	guest{environ: []string{"PROFILE=bare", "MODULES=ext4 virtio_net", "SMP=4,sockets=2,cores=2,threads=1", "MEM=1536M", "TIMEOUT=900",
		"DRIVES=file=" + image + ",format=raw,snapshot=on", "PRE=" + bind,
		"QEMU_EXTRA=" + twoNodes("768M", "0-1", "2-3") + " -netdev hubport,id=n,hubid=0 -device virtio-net-pci,netdev=n"}}.run(t, nil, "nodes").played(t, 13)
}

// TestInterrupts runs irq-affinity on a PostgreSQL, in a guest of two nodes of a CPU each with a network card of two
// queues, to its end and killed.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	guest{apart: true, environ: []string{"PROFILE=bare", "MODULES=ext4 virtio_net", "SMP=2,sockets=2",
		"DRIVES=file=" + liveImage(t) + ",format=raw,snapshot=on", "PRE=mkdir -p /disk; mount -t ext4 /dev/vda /disk",
		"QEMU_EXTRA=" + twoNodes("256M", "0", "1") + " -netdev tap,id=n,queues=2,script=no,downscript=no -device virtio-net-pci,mq=on,vectors=6,netdev=n"}}.
		run(t, nil, "irq").played(t, 9)
}
