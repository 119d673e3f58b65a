#!/bin/sh
# container.sh PROGRAM ARGS...: runs PROGRAM in a container by crun, as `docker run --cpus 1.5 --memory 256m --user 65534`
# would, and laid out like that: no capabilities, docker's masked and read-only paths, own namespaces, overlay root,
# cgroup v2 limits. Needs tools.cpio (TOOLS=1) and the module overlay. Output and exit code are PROGRAM's.
set -e
id=$(cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/uuid | tr -d '\n-'); c=/run/oci; d=/var/lib/docker; l=$d/overlay2/$id
mkdir -p $d; mount -t tmpfs docker $d; mkdir -p $d/containers/$id $l/diff $l/work $l/merged; h=$(echo $id | cut -c1-12)
echo $h > $d/containers/$id/hostname; echo "127.0.0.1 localhost" > $d/containers/$id/hosts; : > $d/containers/$id/resolv.conf
mkdir -p $c/lower/proc $c/lower/sys $c/lower/dev $c/lower/tmp $c/lower/etc
cp "$1" $c/lower/program; chmod 755 $c/lower/program; cp /etc/os-release $c/lower/etc/; : > $c/lower/.dockerenv; shift
mount -t overlay overlay -o lowerdir=$c/lower,upperdir=$l/diff,workdir=$l/work $l/merged
json() { printf '%s\n' "$1" | awk 'NR > 1 { printf "\\n" } { gsub(/["\\]/, "\\\\&"); printf "%s", $0 }'; }
args=; for a; do args="$args, \"$(json "$a")\""; done
cat > $c/config.json <<JSON
{"ociVersion": "1.0.0", "hostname": "$h", "root": {"path": "$l/merged"},
 "process": {"user": {"uid": 65534, "gid": 65534}, "cwd": "/", "args": ["/program"$args], "env": ["PATH=/bin"],
  "noNewPrivileges": true, "capabilities": {}, "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1048576, "soft": 1024}]},
 "mounts": [
  {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
  {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
  {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
  {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["nosuid", "noexec", "nodev", "relatime", "ro"]},
  {"destination": "/etc/resolv.conf", "type": "bind", "source": "$d/containers/$id/resolv.conf", "options": ["rbind", "rprivate"]},
  {"destination": "/etc/hostname", "type": "bind", "source": "$d/containers/$id/hostname", "options": ["rbind", "rprivate"]},
  {"destination": "/etc/hosts", "type": "bind", "source": "$d/containers/$id/hosts", "options": ["rbind", "rprivate"]}],
 "linux": {"cgroupsPath": "/docker/$id",
  "resources": {"cpu": {"quota": 150000, "period": 100000}, "memory": {"limit": 268435456}},
  "namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "cgroup"}, {"type": "network"}],
  "maskedPaths": ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
   "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"],
  "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]}}
JSON
cd $c; exec /tools/crun --root /run/crun --cgroup-manager cgroupfs run --no-pivot $id
