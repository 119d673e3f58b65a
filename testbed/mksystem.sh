#!/bin/bash
# mksystem.sh: out/system.img, an ext4 image of Debian with systemd, udev, sudo, sshd and PostgreSQL as its packages set them up,
# which guest/init hands over to. Needs root, debootstrap and a mirror of Debian (MIRROR=URL). PostgreSQL's account is numbered as a person's.
set -euo pipefail; cd "$(dirname "$0")"; mkdir -p out dl/debs
at=/var/tmp; [ ! -w /dev/shm ] || at=/dev/shm # packages are unpacked with many a sync
R=$(mktemp -d -p $at); log=$(mktemp); trap 'rm -rf --one-file-system "$R" "$log"' EXIT; chmod 755 "$R"
debootstrap --cache-dir="$PWD/dl/debs" --variant=minbase --include=systemd,udev,dbus,kmod,procps,sudo,postgresql,openssh-server \
  bookworm "$R" "${MIRROR:-http://deb.debian.org/debian}" >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; exit 1; }
chroot "$R" usermod -u 1500 postgres
chown -R -h --from="$(stat -c %u "$R/etc/postgresql")" 1500 "$R/etc/postgresql" "$R/var/log/postgresql" "$R/run/postgresql"
echo 0123456789abcdef0123456789abcdef > "$R/etc/machine-id"; echo guest > "$R/etc/hostname"; echo 127.0.1.1 guest >> "$R/etc/hosts"
for unit in ssh.service getty.target serial-getty@ttyS0.service systemd-journal-flush.service systemd-update-utmp.service \
  systemd-random-seed.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer; do
  ln -sf /dev/null "$R/etc/systemd/system/$unit" # slow when emulated; a guest that needs sshd removes its link
done
rm -rf "$R"/var/cache/apt/* "$R"/var/lib/apt/lists/* "$R"/usr/share/{doc,man,locale,info,postgresql-common/testsuite}
truncate -s 900M out/system.new; mke2fs -q -t ext4 -d "$R" out/system.new; mv out/system.new out/system.img
