#!/bin/bash
# setup.sh: everything that guests need, from Debian 12 packages only. Takes two minutes, mostly for a system with
# PostgreSQL (mksystem.sh), and nothing the second time. KERNELS="linux-image-6.12-cloud-amd64 linux-image-cloud-amd64" adds 6.1, to be chosen with KVER=6.1...
set -euo pipefail; cd "$(dirname "$0")"
need="qemu-system-x86 acpica-tools busybox-static cpio kmod xz-utils zstd lz4 e2fsprogs xfsprogs dmsetup crun mdadm lvm2 debootstrap"
dpkg -s $need >/dev/null 2>&1 || apt-get install -y --no-install-recommends $need >/dev/null
mkdir -p out k dl
for meta in ${KERNELS:-linux-image-6.12-cloud-amd64}; do
  pkg=$(apt-cache depends "$meta" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1); v=${pkg#linux-image-}
  [ -n "$v" ] || { echo "setup: apt knows no package $meta; try apt-get update" >&2; exit 1; }
  if [ ! -e "k/$v/vmlinux" ]; then
    (cd dl && apt-get download "$pkg" >/dev/null 2>&1); dpkg -x dl/"$pkg"_*.deb "k/$v"
    ./extract-vmlinux.sh "k/$v/boot/vmlinuz-$v" "k/$v/vmlinux"
  fi
  [ "out/initrd-$v.cpio" -nt mkinitrd.sh ] && [ "out/initrd-$v.cpio" -nt guest/init ] || ./mkinitrd.sh "$v"
done
for d in core socket cpu; do acpi/build.sh $d psd=sw_any domain=$d cst=no; done
acpi/build.sh core-cst psd=sw_any domain=core cst=yes
acpi/build.sh socket-hw psd=hw_all domain=socket cst=no
acpi/build.sh twosocket psd=sw_any domain=socket cps=2 cst=no
acpi/build.sh cpc; acpi/build.sh pcct
[ out/tools.cpio -nt mktools.sh ] && [ out/tools.cpio -nt setup.sh ] || ./mktools.sh mke2fs mkfs.xfs dmsetup crun mdadm lvm
[ out/system.img -nt mksystem.sh ] || ./mksystem.sh
