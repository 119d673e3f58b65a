#!/bin/bash
# mkinitrd.sh KVER [extra files...]: makes out/initrd-KVER.cpio (uncompressed: unpacking gzip costs more under TCG)
# BUSYBOX=FILE is one of another processor. Needs: busybox-static, kmod, cpio, xz-utils. Only the modules named below and what they depend on go in.
set -euo pipefail
cd "$(dirname "$0")"; T=$PWD; K=$1; shift
MODS=${MODS:-"virtio_pci virtio_blk virtio_console virtio_net acpi-cpufreq cpufreq_powersave cpufreq_ondemand cpufreq_conservative cpufreq_userspace
 nfit nd_pmem nd_btt dax_pmem device_dax nd_e820 virtio_pmem dm-log-writes msr ext4 xfs dm-delay dm-flakey scsi_debug sd_mod overlay raid1 loop mq-deadline kyber-iosched bfq sunrpc"}
M=k/$K/lib/modules/$K; [ -e k/$K/usr/lib/modules/$K ] && M=k/$K/usr/lib/modules/$K
R=$(mktemp -d); chmod 755 "$R"; trap 'rm -rf "$R"' EXIT
mkdir -p "$R"/{bin,sbin,dev,proc,sys,tmp,run,mnt,etc,job,lib/modules/"$K"}
cp "${BUSYBOX:-/bin/busybox}" "$R/bin/busybox"; install -m755 guest/init "$R/init"; install -D -m644 /etc/os-release "$R/etc/os-release"
[ -e "$M/modules.dep" ] || depmod -b "${M%/lib/modules/*}" "$K"
for m in $MODS; do
  modprobe -C /dev/null -d "$T/${M%/lib/modules/*}" -S "$K" --show-depends "$m" 2>/dev/null | awk '/^insmod/{print $2}' | while read -r f; do
    d="$R/lib/modules/$K/${f#*/lib/modules/$K/}"; d=${d%.xz}; mkdir -p "${d%/*}"
    [ -e "$d" ] || { case $f in *.xz) xz -dc "$f" > "$d" ;; *) cp "$f" "$d" ;; esac; }
  done
done
depmod -b "$R" "$K" 2>/dev/null
rm -f "$R"/lib/modules/"$K"/modules.{builtin,symbols,softdep,devname}*
for f in "$@"; do install -D -m755 "$f" "$R/bin/$(basename "$f")"; done
(cd "$R" && find . | cpio -o -H newc --quiet) > "out/initrd-$K.cpio"
