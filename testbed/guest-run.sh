#!/bin/bash
# guest-run.sh BINARY [ARGS...]: boots a throw-away QEMU guest (TCG), runs a static BINARY in it as root, prints its
# stdout and stderr, and returns its exit code. 124: time-out. 125: the guest died before the command ended.
# Environment:
#   KVER=...            which unpacked kernel of k/, else the newest          PROFILE=intel|amd|bare|arm64   CPU and ACPI tables
#   SSDT=core|socket|socket-hw|...  out/NAME.aml, see setup.sh             FILES="a b"  more files put into /job
#   PMEM=FILE[:label]   NVDIMM backed by FILE (.label: FILE has a label area)   DRIVES="spec|spec" raw -drive values
#   MODULES="..."       modules for the guest to load          APPEND="..."  more kernel parameters
#   QEMU_EXTRA="..."    more QEMU arguments                    TIMEOUT=120   LOG=FILE  console log
#   OUT=FILE  stdout goes live into FILE instead            PIDFILE=FILE  QEMU's pid (kill -9 it = power cut)
#   TOOLS=1  add out/tools.cpio (mke2fs, mkfs.xfs, dmsetup, mdadm, lvm, crun)
#   PRE="..."  shell lines (sh -e) that init runs first; 126 if they fail; a program that they leave running must not
#     keep stdout and stderr
set -euo pipefail
T=$(cd "$(dirname "$0")" && pwd)
PROFILE=${PROFILE:-intel}; arch=amd64; [ "$PROFILE" != arm64 ] || arch=arm64
KVER=${KVER:-$(ls "$T/k" 2>/dev/null | grep -- "-$arch\$" | sort -V | tail -n1 || true)} SSDT=${SSDT:-core} TIMEOUT=${TIMEOUT:-120} MEM=${MEM:-512M} SMP=${SMP:-4,sockets=1,cores=2,threads=2}
MODULES=${MODULES-"acpi-cpufreq cpufreq_powersave cpufreq_ondemand cpufreq_conservative cpufreq_userspace"}
[ -n "$KVER" ] && [ -e "$T/out/initrd-$KVER.cpio" ] || { echo "guest-run: no kernel in $T/k: run $T/setup.sh first" >&2; exit 125; }
J=$(mktemp -d); q=(); pid=; trap '[ -z "$pid" ] || kill $pid 2>/dev/null; rm -rf "$J"' EXIT; trap 'exit 130' INT TERM
mkdir -p "$J/i/job"; o=${OUT:-$J/out}; : > "$o"; : > "$J/err"; : > "$J/rc"; LOG=${LOG:-$J/console}; : > "$LOG"
cp "$1" "$J/i/job/bin"; chmod 755 "$J/i/job/bin"; shift
for f in ${FILES:-}; do cp "$f" "$J/i/job/"; done
{ printf ./bin; for a; do printf " '%s'" "${a//\'/\'\\\'\'}"; done; echo; } > "$J/i/job/cmd"
echo "$MODULES" > "$J/i/job/modules"; [ -z "${PRE:-}" ] || printf '%s\n' "$PRE" > "$J/i/job/pre"
# the kernel unpacks concatenated cpio archives one over the other: base (built once) + this job
{ cat "$T/out/initrd-$KVER.cpio"; [ -z "${TOOLS:-}" ] || cat "$T/out/tools.cpio"; (cd "$J/i" && find job | cpio -o -H newc --quiet); } > "$J/initrd"
INTEL=Haswell-v4,-pcid,-x2apic,-tsc-deadline,-avx,-avx2,-f16c,-fma,-invpcid,-rtm,-hle,-spec-ctrl
AMD=${AMDCPU:-qemu64,vendor=AuthenticAMD,family=23,model=49,stepping=0}
case $PROFILE in
  intel) q=(-cpu "$INTEL" -acpitable file="$T/out/$SSDT.aml") ;;
  amd)   q=(-cpu "$AMD" -acpitable file="$T/out/cpc.aml" -acpitable file="$T/out/pcct.aml")
         APPEND="memmap=64K\$0x10000000 ${APPEND:-}" ;;   # the RAM that plays the PCC shared memory
  bare)  q=(-cpu "$INTEL") ;;
  arm64) q=(-cpu cortex-a76) SMP=${ARMSMP:-2} ;;
esac
n=0; IFS='|' read -r -a ds <<< "${DRIVES:-}"
for d in ${ds[@]+"${ds[@]}"}; do q+=(-drive "if=none,id=d$n,$d" -device "virtio-blk-pci,drive=d$n${BLKOPT:-}"); n=$((n + 1)); done
mach=pc; memopt=$MEM; [ -z "${PIDFILE:-}" ] || q+=(-pidfile "$PIDFILE")
if [ -n "${PMEM:-}" ]; then
  f=${PMEM%:label}; sz=$(stat -c %s "$f"); l=; [ "$f" = "$PMEM" ] || l=,label-size=2M
  mach=pc,nvdimm=on,nvdimm-persistence=${PERSIST:-mem-ctrl} memopt=$MEM,slots=2,maxmem=4G
  q+=(-object "memory-backend-file,id=nv0,share=on,mem-path=$f,size=$sz,align=2M" -device "nvdimm,id=nvdimm0,memdev=nv0$l")
fi
kernel=$T/k/$KVER/vmlinux console=ttyS0 qemu=qemu-system-x86_64
if [ $arch = arm64 ]; then
  kernel=$T/k/$KVER/boot/vmlinuz-$KVER console=ttyAMA0 qemu=qemu-system-aarch64 mach=virt,gic-version=3
  q+=(-serial chardev:com0)
else
  q+=(-device isa-serial,index=0,chardev=com0)
  for p in 1 2 3; do q+=(-chardev "null,id=com$p" -device "isa-serial,index=$p,chardev=com$p"); done # scratch registers
fi
set +e
timeout -k 5 "$TIMEOUT" $qemu -nodefaults -no-user-config -display none -no-reboot \
  -accel tcg,thread=${TCG:-single} -machine $mach -smp "$SMP" -m "$memopt" \
  -chardev file,id=com0,path="$LOG" "${q[@]}" \
  -device virtio-serial-pci -chardev file,id=o,path="$o" -chardev file,id=e,path="$J/err" -chardev file,id=r,path="$J/rc" \
  -device virtserialport,nr=1,chardev=o,name=out -device virtserialport,nr=2,chardev=e,name=err -device virtserialport,nr=3,chardev=r,name=rc \
  -kernel "$kernel" -initrd "$J/initrd" \
  -append "console=$console quiet loglevel=4 panic=-1 mitigations=off nokaslr audit=0 apparmor=0 random.trust_cpu=on tsc=reliable no_timer_check initcall_blacklist=jent_mod_init,load_system_certificate_list,init_kprobe_trace ${APPEND:-}" \
  ${QEMU_EXTRA:-} </dev/null 2>"$LOG.qemu" &
pid=$!; { wait $pid; } 2>/dev/null; qrc=$?; pid=
[ -n "${OUT:-}" ] || cat "$J/out"; cat "$J/err" >&2
rc=$(sed -n 's/^rc=//p' "$J/rc")
[ -n "$rc" ] && exit "$rc"
[ $qrc = 124 ] && exit 124
echo "guest-run: the guest ended without a result (qemu exit $qrc)" >&2; tail -n5 "$LOG.qemu" >&2; tail -n60 "$LOG" >&2; exit 125
