#!/bin/bash
# packages-test.sh: what 'make packages' has built is installed, used, upgraded and removed, in a chroot of Debian, with dpkg and with
# rpm, and in a container of the image. Root only; nothing of this machine's is changed. Needs apt's mirror.
set -euo pipefail
cd "$(dirname "$0")/.."; here=$PWD
for program in debootstrap rpm rpmlint lintian umoci crun systemd-analyze; do
  command -v "$program" >/dev/null || { echo "packages-test: $program is missing; on Debian: apt-get install debootstrap rpm rpmlint lintian umoci crun systemd" >&2; exit 1; }
done
[ "${1:-}" = inside ] || exec unshare --mount --propagation private --pid --fork --uts "$0" inside
fail() { echo "packages-test: $*" >&2; exit 1; }
# expect TEXT COMMAND...: the command ends well and prints the text.
expect() { local want=$1 got; shift; got=$("$@" 2>&1) || fail "$* failed: $got"; [[ $got == *"$want"* ]] || fail "$* says: $got; wanted: $want"; }
work=$(mktemp -d); trap 'umount -R "$work"/deb/proc 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
deb=$(ls "$PWD"/dist/hostlab_*_amd64.deb) rpm=$(ls "$PWD"/dist/hostlab-*.x86_64.rpm) image=$(ls "$PWD"/dist/hostlab-*-amd64.oci.tar)
chmod 755 "$work"

(cd dist && sha256sum --quiet -c SHA256SUMS)
cp dist/*.rpm deploy/package/rpmlint.toml "$work"
cd "$work"
out=$(setpriv --reuid 65534 --regid 65534 --clear-groups lintian --fail-on error,warning,info "${deb%/*}"/*.deb 2>&1) || fail "lintian: $out"
out=$(HOME=/nonexistent setpriv --reuid 65534 --regid 65534 --clear-groups rpmlint -c rpmlint.toml ./*.rpm 2>/dev/null) || fail "rpmlint: $out"
[[ $out == *"0 errors, 0 warnings"* ]] || fail "rpmlint: $out"

# Debian: two versions of the package, so that one is an upgrade.
debootstrap --variant=minbase --include=systemd "$(. /etc/os-release; echo "$VERSION_CODENAME")" deb > debootstrap.log 2>&1 || fail "debootstrap: $(tail -3 debootstrap.log)"
in=(chroot deb /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin)
mount -t proc proc deb/proc
echo 60 > swappiness; mount --bind swappiness deb/proc/sys/vm/swappiness # what is set there is this file
cp "$deb" deb/new.deb
dpkg-deb -R "$deb" old; sed -i 's/^Version:.*/Version: 0~1/' old/DEBIAN/control; dpkg-deb -b old deb/old.deb >/dev/null
"${in[@]}" dpkg -i /old.deb > install.log 2>&1 || fail "dpkg: $(cat install.log)"
expect hostlab "${in[@]}" hostlab version
expect swappiness "${in[@]}" hostlab set swappiness=10 --yes
[ "$(cat swappiness)" = 10 ] || fail "the setting is $(cat swappiness)"
"${in[@]}" dpkg -i /new.deb > install.log 2>&1 || fail "upgrade: $(cat install.log)"
expect 60 "${in[@]}" hostlab revert --dry-run # the journal has survived the upgrade
for file in /usr/share/man/man1/hostlab-assess.1.gz /lib/systemd/system/hostlab-assess.timer /lib/systemd/system/hostlab-send.timer /etc/hostlab/exceptions.toml /etc/hostlab/config.toml /usr/share/bash-completion/completions/hostlab; do
  [ -f "deb$file" ] || fail "$file is not there"
done
echo 'role = "development"' >> deb/etc/hostlab/config.toml # the role that check takes where none is given
[[ $("${in[@]}" hostlab check 2>&1) == *" as development"* ]] || fail "check does not take the role of /etc/hostlab/config.toml"
out=$("${in[@]}" systemd-analyze verify --man=no $(cd deb && ls lib/systemd/system/hostlab-* | sed s,^,/,) 2>&1) && [ -z "$out" ] || fail "units: $out"
expect "these settings stay" "${in[@]}" dpkg -r hostlab
[ "$(cat swappiness)" = 10 ] && [ -d deb/var/lib/hostlab ] || fail "removing the package has changed the setting, or lost the journal"
"${in[@]}" dpkg -i /new.deb > install.log 2>&1
expect "" "${in[@]}" hostlab revert
[ "$(cat swappiness)" = 60 ] || fail "revert leaves $(cat swappiness)"
"${in[@]}" dpkg -P hostlab > install.log 2>&1 || fail "purge: $(cat install.log)"
! grep -q "these settings stay" install.log || fail "it says that settings stay where none does"
[ ! -e deb/usr/bin/hostlab ] && [ ! -e deb/etc/hostlab ] || fail "files are left after a purge"
for unit in hostlab-assess:4.5 hostlab-watch@:4.5 hostlab-send:2.0 hostlab-day@:2.0 hostlab-watch:2.0; do
  most=${unit#*:} unit=${unit%:*}
  level=$(systemd-analyze security --offline=yes --no-pager "old/lib/systemd/system/$unit.service" | sed -nE "s/.*exposure level for .*: ([0-9.]+).*/\\1/p")
  awk "BEGIN { exit !(\"$level\" != \"\" && $level <= $most) }" || fail "$unit.service is exposed at ${level:-?}"
done

# rpm: the same there, with its scripts, which rpm calls otherwise.
as_rpm() { rpm --root "$work/deb" --nodeps "$@"; }
rpm --root "$work/deb" --initdb
expect "" as_rpm -i "$rpm"
expect hostlab "${in[@]}" hostlab version
expect "" as_rpm -V hostlab
expect swappiness "${in[@]}" hostlab set swappiness=10 --yes
out=$(as_rpm -U --replacepkgs "$rpm" 2>&1) && [[ $out != *"settings stay"* ]] || fail "rpm -U: $out"
expect 60 "${in[@]}" hostlab revert --dry-run
expect "these settings stay" as_rpm -e hostlab
expect "" as_rpm -i "$rpm"
expect "" "${in[@]}" hostlab revert
[ "$(cat swappiness)" = 60 ] || fail "with rpm, revert leaves $(cat swappiness)"
out=$(as_rpm -e hostlab 2>&1) && [[ $out != *"settings stay"* ]] || fail "rpm -e says that settings stay where none does: $out"
[ ! -e deb/usr/bin/hostlab ] || fail "rpm has left files"

# The MSI, under Wine: the program is there and in the PATH of new consoles, and goes.
wine() { WINEPREFIX=$work/wine WINEDEBUG=-all timeout 120 /usr/lib/wine/wine64 "$@" 2>/dev/null; }
in_path() { wine reg query 'HKLM\System\CurrentControlSet\Control\Session Manager\Environment' /v PATH | grep -q 'Program Files.hostlab'; }
program=$work/wine/drive_c/Program\ Files/hostlab/hostlab.exe
wine wineboot -i > wine.log && cp "$here"/dist/*.msi hostlab.msi
wine msiexec /i hostlab.msi /qn && [ -s "$program" ] && in_path || fail "the MSI does not install the program"
wine msiexec /x hostlab.msi /qn && [ ! -e "$program" ] && ! in_path || fail "the MSI leaves something"

# The image: what a container hides is said, in words.
mkdir layout; tar -C layout -xf "$image"
expect "hostlab:" jq -r '.manifests[].annotations[]' layout/index.json
jq '.manifests[0].annotations["org.opencontainers.image.ref.name"] = "here"' layout/index.json > index; mv index layout/index.json # umoci takes no name with a colon
umoci unpack --image layout:here bundle > /dev/null 2>&1 || fail "umoci unpack"
expect hostlab bundle/rootfs/usr/bin/hostlab version
# One in namespaces of its own, one with the host's processes and /sys: docs/install.md.
jq '.process.terminal = false | .process.args = ["/usr/bin/hostlab", "facts"]' bundle/config.json > bundle/own.json
jq '.linux.namespaces |= map(select(.type != "pid" and .type != "network")) | .mounts |= (map(select(.destination != "/sys/fs/cgroup" and .destination != "/proc"
  and .destination != "/sys")) + [{destination: "/proc", type: "bind", source: "/proc", options: ["rbind"]}, {destination: "/sys", type: "bind", source: "/sys", options: ["rbind", "ro"]}])' bundle/own.json > bundle/host.json
tar -C bundle -cf bundle.tar rootfs own.json host.json

bed=$here/testbed
out=$(PROFILE=bare MODULES=overlay TOOLS=1 MEM=1G TIMEOUT=300 FILES="$work/bundle.tar" "$bed/guest-run.sh" "$here/deploy/package/guest-image.sh" 2>&1 | tr '\n' ' ') || fail "the image in a guest: ${out: -2000}"
hides="hides the host's processes"
[[ ${out%%== host*} == *"$hides"* && ${out#*== host} != *"$hides"* && ${out#*== host} == *TOPOLOGY* ]] || fail "the image says of what it hides: $out"

# Units, where systemd runs: in a guest of the test bed.
[ -e "$bed/out/system.img" ] || fail "there is no $bed/out/system.img; testbed/setup.sh makes it"
cp --sparse=always "$bed/out/system.img" "$work/system.img"; cp "$deb" "$work/hostlab.deb"
guest() { # SCRIPT [ARGS...]; $CHECK runs first, in the file system of the machine
  MODULES= MEM=2G SMP=1 TIMEOUT=600 DRIVES="file=$work/system.img,format=raw,cache=unsafe" APPEND=systemd.show_status=false \
    PRE="mkdir -p /mnt/system; mount -t ext4 /dev/vda /mnt/system; cd /mnt/system; ${CHECK:-}" FILES="$work/hostlab.deb" "$bed/guest-run.sh" "$here/deploy/package/$@" 2>&1
}
out=$(guest guest-test.sh) || fail "units in a guest: $(tail -n 20 <<<"$out")"
# What a power cut in the middle of a live experiment leaves on the disk, the next boot puts back.
out=$(guest guest-cut.sh cut) || fail "a power cut: $(tail -n 20 <<<"$out")"
out=$(CHECK="grep commit_delay var/lib/postgresql/*/main/postgresql.auto.conf" guest guest-cut.sh back) || fail "restoring at boot: $(tail -n 20 <<<"$out")"
echo "packages-test: deb, rpm and image are installed, used, upgraded and removed; exposure of the recording unit: $level; what a power cut has left is put back at boot"
