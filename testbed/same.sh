#!/bin/bash
# same.sh: in guests, facts read live must equal facts read from a recording made at the same
# moment. Needs setup.sh, Go and cmd/hostlab. Exit 1 and a diff where they do not.
set -euo pipefail; cd "$(dirname "$0")"
CGO_ENABLED=0 go build -trimpath -o out/hostlab ../cmd/hostlab
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
cat > "$tmp/job" <<'EOS'
#!/bin/sh
# in the guest: live facts, recording, facts of the recording, one behind the other
set -e; cd /run; p=; for d in /mnt/*; do [ ! -d "$d" ] || p="$p --path $d"; done
/job/hostlab facts --format json $p > live.json
/job/hostlab facts --save rec.txtar $p > /dev/null
/job/hostlab facts --format json --root rec.txtar $p > rec.json
cat live.json; echo "=== recording"; cat rec.json
EOS
# what may differ: values that change from one moment to the next, where a fact comes from, the replaced host name,
# and what only system calls and binary files tell (/dev/cpu_dma_latency)
norm='walk(if type == "object" then (if has("source") then del(.source) else . end) else . end)
  | del(.identity.hostname, .frequency.current, .idle.cpu_dma_latency, .kernel.pressure_cpu, .kernel.pressure_io, .virtualization.steal,
        .memory.huge_pages_free, .storage[]?.free)'
one() {
  echo "same: $1"; ./guest-run.sh "$tmp/job" > "$tmp/out"
  sed '/^=== recording$/,$d' "$tmp/out" | jq -S "$norm" > "$tmp/live"; sed '1,/^=== recording$/d' "$tmp/out" | jq -S "$norm" > "$tmp/rec"
  diff -u --label live "$tmp/live" --label recording "$tmp/rec" || bad=1
  [ "$(wc -l < "$tmp/live")" -gt 100 ] || { echo "same: $1: too few facts" >&2; bad=1; }
}
bad=0; export FILES=out/hostlab
SSDT=core-cst one "intel, acpi-cpufreq, C-states"
PRE='echo off > /sys/devices/system/cpu/smt/control' SSDT=cpu one "intel, SMT off"
PROFILE=amd MODULES= APPEND=amd_pstate=active one "amd-pstate-epp"
PROFILE=bare one "bare"
rm -f out/same.img; truncate -s 352M out/same.img
PMEM=out/same.img MODULES="nfit nd_pmem dax_pmem ext4" TOOLS=1 FILES="out/hostlab guest/fsdax.sh" PROFILE=bare \
  PRE='( . /job/fsdax.sh ); /tools/mke2fs -q -t ext4 -b 4096 /dev/pmem0; mkdir /mnt/p; mount -t ext4 -o dax=always /dev/pmem0 /mnt/p' one "NVDIMM, fsdax"
rm -f out/same.img out/log.img; truncate -s 64M out/same.img out/log.img; CGO_ENABLED=0 go build -trimpath -o out/record ./record
DRIVES="file=out/same.img,format=raw|file=out/log.img,format=raw" MODULES="virtio_blk ext4 dm-delay" TOOLS=1 FILES="out/hostlab out/record" PROFILE=bare \
  PRE='/tools/dmsetup create slow --table "0 $(cat /sys/block/vdb/size) delay /dev/vdb 0 5"; /tools/dmsetup mknodes
    for d in vda mapper/slow; do /tools/mke2fs -q -t ext4 /dev/$d; mkdir -p /mnt/${d##*/}; mount -t ext4 /dev/$d /mnt/${d##*/}; done
    mkdir /mnt/vda/main /mnt/slow/wal; ln -s /mnt/slow/wal /mnt/vda/main/pg_wal; cp /job/record /run/postgres; cd /mnt/vda/main
    /run/postgres -D /mnt/vda/main </dev/null >/dev/null 2>&1 & sleep 1' one "device mapper and a database server"
rm -f out/same.img out/log.img; exit $bad
