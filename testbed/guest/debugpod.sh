#!/bin/sh
# debugpod.sh CAPABILITY PROGRAM ARGS...: runs PROGRAM in a container by crun with the host's process numbers, the host's root
# at /host and a control group of its own, as kubectl debug node does. With CAPABILITY "all" it is privileged, with "none" not.
# Needs tools.cpio (TOOLS=1). Output and exit code are PROGRAM's.
set -e
caps='[]'
if [ "$1" = all ]; then
  caps='["CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_NET_ADMIN", "CAP_SYSLOG", "CAP_PERFMON", "CAP_BPF"]'
fi
c=/run/debug; mkdir -p $c/rootfs/tmp; cp "$2" $c/rootfs/program; chmod 755 $c/rootfs/program; shift 2
args=; for a; do args="$args, \"$a\""; done
cat > $c/config.json <<JSON
{"ociVersion": "1.0.0", "hostname": "debug", "root": {"path": "rootfs"},
 "process": {"cwd": "/", "args": ["/program"$args], "env": ["PATH=/bin", "HOME=/tmp"],
  "capabilities": {"bounding": $caps, "effective": $caps, "permitted": $caps, "inheritable": $caps}},
 "mounts": [
  {"destination": "/proc", "type": "none", "source": "/proc", "options": ["rbind"]},
  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
  {"destination": "/host", "type": "none", "source": "/", "options": ["rbind"]}],
 "linux": {"cgroupsPath": "/debug", "namespaces": [{"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "cgroup"}, {"type": "network"}]}}
JSON
cd $c; exec /tools/crun --root /run/crun --cgroup-manager cgroupfs run --no-pivot debug
