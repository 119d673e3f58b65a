#!/bin/bash
# arm64.sh [-full]: hostlab on arm64, without such a machine: an emulated program (qemu-user), then an emulated machine with Debian's
# own kernel. It takes minutes; with -full the emulated program runs the unit tests too, which takes an hour.
set -euo pipefail; cd "$(dirname "$0")"; export CGO_ENABLED=0
need="qemu-user-static qemu-system-arm busybox-static cpio kmod xz-utils"
dpkg -s $need >/dev/null 2>&1 || { apt-get update -qq; apt-get install -y --no-install-recommends $need >/dev/null; }
work=$(mktemp -d) misc=/proc/sys/fs/binfmt_misc known= mounted= # what this script has told the kernel, and taken back
trap 'rm -rf "$work"; [ -z "$known" ] || echo -1 > $misc/qemu-aarch64; [ -z "$mounted" ] || umount $misc' EXIT
fail() { echo "arm64: $*" >&2; exit 1; }

# Debian's packages of the other processor, by lists of their own: the machine's stay as they are.
debs=$PWD/dl/arm64; mkdir -p "$debs" out k
if ! ls "$debs"/busybox-static_*_arm64.deb "$debs"/linux-image-*_arm64.deb >/dev/null 2>&1; then
  mkdir -p "$work"/{state/lists/partial,cache/archives/partial}; : > "$work/status"
  apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache"
    -o Acquire::Languages=none -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" update
  kernel=$(apt-cache "${apt[@]}" depends linux-image-6.12-cloud-arm64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n1)
  [ -n "$kernel" ] || fail "apt knows no kernel for arm64"
  (cd "$debs" && apt-get "${apt[@]}" download busybox-static "$kernel")
fi
deb=$(ls "$debs"/linux-image-*_arm64.deb | sort -V | tail -n1); v=$(dpkg-deb -f "$deb" Package); v=${v#linux-image-}
[ -e "k/$v/boot/vmlinuz-$v" ] || dpkg -x "$deb" "k/$v"
dpkg -x "$debs"/busybox-static_*_arm64.deb "$work/busybox"
[ "out/initrd-$v.cpio" -nt mkinitrd.sh ] && [ "out/initrd-$v.cpio" -nt guest/init ] ||
  BUSYBOX=$work/busybox/bin/busybox MODS="virtio_blk ext4 xfs mq-deadline kyber-iosched bfq" ./mkinitrd.sh "$v"

hostlab=$work/hostlab # or $HOSTLAB, which is built already
[ -z "${HOSTLAB:-}" ] || cp "$HOSTLAB" "$hostlab"
[ -e "$hostlab" ] || GOARCH=arm64 make -s -C .. build OUT="$hostlab"

# As a program. It starts itself anew for its workers: the kernel has to know who runs programs of that kind.
[ -e $misc/register ] || { mount -t binfmt_misc binfmt_misc $misc; mounted=yes; }
[ -e $misc/qemu-aarch64 ] || { cat /usr/lib/binfmt.d/qemu-aarch64.conf > $misc/register; known=yes; }
user=(qemu-aarch64-static "$hostlab")
[[ $("${user[@]}" version) == *linux/arm64* ]] || fail "version"
"${user[@]}" assess --quick --quiet --out "$work/user.json" || fail "assess as a program: exit status $?"
jq -e '.verdict.text != ""' "$work/user.json" >/dev/null || fail "assess as a program gives no answer"
if [ "${1:-}" = -full ]; then
  # Left out: tests of time limits (of seconds of a processor, which this is not), and of what qemu 7.2 shows wrong: a program's own
  # /proc/PID/stat. It says that it has DC CVAP and does not, so the processor is an older one. A fork of threads may hang in it.
  export GOARCH=arm64 QEMU_CPU=cortex-a72
  (cd .. && go test -vet=off -exec qemu-aarch64-static -timeout 60m -skip 'TestPoliciesAreCheap|TestLongWords|TestDemo$|TestPairContract' \
    $(go list ./internal/... | grep -v /workload/observe))
  (cd .. && go test -vet=off -exec qemu-aarch64-static -skip 'TestTeller|TestContract|TestApplication' ./internal/workload/observe)
  unset GOARCH QEMU_CPU
fi

# As a machine: facts of its kernel, settings and their restoring, and an assessment.
cat > "$work/guest" <<'END'
#!/bin/sh
set -ex
exec 3>&1 >&2 # the document alone
./hostlab facts --format json > /tmp/facts
grep -q '"arm64"\|"aarch64"' /tmp/facts
./hostlab check > /tmp/check
was=$(cat /proc/sys/vm/swappiness)
./hostlab set swappiness=10 --yes
[ "$(cat /proc/sys/vm/swappiness)" = 10 ]
./hostlab verify
./hostlab revert
[ "$(cat /proc/sys/vm/swappiness)" = "$was" ]
./hostlab assess --quick --quiet --format json --out /tmp/assess
cat /tmp/assess >&3
END
PROFILE=arm64 KVER=$v MODULES= MEM=1G TCG=multi TIMEOUT=${TIMEOUT:-600} FILES=$hostlab ./guest-run.sh "$work/guest" > "$work/guest.json" || fail "the guest: exit status $?"
jq -e '.verdict.text != ""' "$work/guest.json" >/dev/null || fail "assess in the guest gives no answer: $(head -c 300 "$work/guest.json")"
echo "arm64: as a program: $(jq -r .verdict.text "$work/user.json")"
echo "arm64: as a machine: $(jq -r .verdict.text "$work/guest.json")"
