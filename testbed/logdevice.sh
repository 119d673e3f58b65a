#!/bin/bash
# logdevice.sh [HOSTLAB]: commits of 4 KiB in the guest on a model of a SAN (dm-delay, 5 ms), on a disk of the hypervisor's
# memory (vPMEMDisk) and on an NVDIMM with DAX (vPMEM), by fdatasync and by MAP_SYNC stores. Says whether the order is that of
# published results: exit status 3 if not, 1 if it cannot tell. Emulated: only the order means anything, not the times. Needs jq.
set -euo pipefail
T=$(cd "$(dirname "$0")" && pwd); bin=$(realpath "${1:-$T/../bin/hostlab}")
J=$(mktemp -d); shm=$(mktemp -p /dev/shm hostlab-vpmemdisk.XXXX); trap 'rm -rf "$J" "$shm"' EXIT
truncate -s 64M "$J/san.img" "$shm"; truncate -s 160M "$J/nv.img"
cat > "$J/logdevice" <<'G'
#!/bin/sh
# hostlab's workload in the guest: one line for each device
set -e
export PATH=/tools:/bin
( . /job/fsdax.sh )
modprobe dm-delay
s=$(cat /sys/block/vda/size)
/tools/dmsetup create san --table "0 $s delay /dev/vda 0 0 /dev/vda 0 5"; /tools/dmsetup mknodes
mkdir -p /mnt/san /mnt/disk /mnt/dax
for d in /dev/mapper/san:san /dev/vdb:disk; do /tools/mke2fs -q -F -t ext4 -b 4096 "${d%:*}"; mount -t ext4 "${d%:*}" "/mnt/${d#*:}"; done
/tools/mke2fs -q -F -t ext4 -b 4096 /dev/pmem0; mount -t ext4 -o dax=always /dev/pmem0 /mnt/dax
b() { echo "== $1"; shift; /job/hostlab workload logcommit --runs 3 --format json layout=overwritten size=1MiB "$@"; }
b "SAN: dm-delay 5 ms, fdatasync" dir=/mnt/san count=100
b "vPMEMDisk: virtio-blk on host memory, fdatasync" dir=/mnt/disk count=300
b "vPMEM: ext4 DAX, fdatasync" dir=/mnt/dax count=300
b "vPMEM: ext4 DAX, MAP_SYNC store" dir=/mnt/dax sync=mapped count=300
G
cp "$bin" "$J/hostlab"
TOOLS=1 FILES="$J/hostlab $T/guest/fsdax.sh" PMEM="$J/nv.img" MODULES="nfit nd_pmem dax_pmem" TIMEOUT=${TIMEOUT:-300} MEM=${MEM:-768M} \
  DRIVES="file=$J/san.img,format=raw,cache=writeback|file=$shm,format=raw,cache=writeback" \
  "$T/guest-run.sh" "$J/logdevice" > "$J/out"
jq -rs '.[] | .parameters as $p | .responses[] | select(.name == "p50") | [.median, .least, .most, .n, $p.count] | @tsv' \
  <(sed '/^== /d' "$J/out") | paste <(sed -n 's/^== //p' "$J/out") - |
awk -F '\t' '{ printf "%-50s p50 %8.1f us (%.1f to %.1f), n = %d runs of %d commits, emulated\n", $1, $2 * 1e6, $3 * 1e6, $4 * 1e6, $5, $6
       if (NR > 1 && $2 >= last) bad = 3; last = $2; n += $5 > 0 }
     END { if (n != 4) { print "logdevice: " n + 0 " of 4 devices were measured" > "/dev/stderr"; exit 1 }
           print bad ? "order: NOT that of the published results" : "order: SAN > vPMEMDisk > vPMEM > MAP_SYNC, as published"; exit bad }' || { rc=$?; cat "$J/out" >&2; exit $rc; }
