#!/bin/bash
# test-deps.sh [test]: installs what the tests use and this machine lacks, with "test" only what 'make test' uses and 'make lab' has
# beside it left out. Debian or Ubuntu; needs root or sudo only then.
set -euo pipefail
want=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || want+=(chromium)
command -v tmux >/dev/null || want+=(tmux)
command -v pgrep >/dev/null || want+=(procps)
command -v git >/dev/null || want+=(git)
command -v jq >/dev/null || want+=(jq)
command -v crun >/dev/null || want+=(crun)
command -v busybox >/dev/null || want+=(busybox-static)
command -v npm >/dev/null || want+=(npm)
command -v promtool >/dev/null || want+=(prometheus)
# The tests start servers of their own from these programs; they do not skip without.
command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || want+=(postgresql postgresql-contrib)
command -v pgbouncer >/dev/null || want+=(pgbouncer)
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || want+=(mariadb-server)
lab() {
  # The guests of the test bed: kernels are downloaded as Debian packages, and not installed.
  missing() { ! dpkg -s "$1" >/dev/null 2>&1; }
  if command -v dpkg >/dev/null; then
    for p in qemu-system-x86 acpica-tools busybox-static cpio kmod xz-utils zstd lz4 e2fsprogs xfsprogs dmsetup crun mdadm lvm2 debootstrap; do
      if missing "$p"; then want+=("$p"); fi
    done
  fi
  # Servers of other releases run with their own C library (testbed/servers.sh).
  if command -v dpkg >/dev/null; then
    for p in patchelf debian-archive-keyring; do
      if missing "$p"; then want+=("$p"); fi
    done
  fi
  # Packages of other systems are built and tried (packages.sh, packages-test.sh).
  if command -v dpkg >/dev/null; then
    for p in umoci wixl msitools faketime zip uuid-runtime debootstrap rpm rpmlint lintian; do
      if missing "$p"; then want+=("$p"); fi
    done
  fi
  # The Ansible collection is played over ssh (ansible-test.sh).
  if command -v dpkg >/dev/null; then
    for p in openssh-server openssh-client sudo iproute2 python3-venv; do
      if missing "$p"; then want+=("$p"); fi
    done
  fi
  # The Windows program runs under Wine, with DLLs of the test bed's own (testbed/windows).
  if [ "$(uname -m)" = x86_64 ] && command -v dpkg >/dev/null; then
    for p in wine64 gcc-mingw-w64-x86-64; do
      if missing "$p"; then want+=("$p"); fi
    done
  fi
  # The programs for the kernel are built again and compared (bpf.sh), where this release has their compiler.
  if command -v apt-cache >/dev/null && apt-cache show clang-14 >/dev/null 2>&1; then
    for p in clang-14 llvm-14 libbpf-dev; do
      if missing "$p"; then want+=("$p"); fi
    done
  fi
}
[ "${1:-}" = test ] || lab
# The rules that pages are held to, by their version and hash; npm checks nothing of a package that no lock file names.
axe() {
  local dl file=axe-core-4.10.3.tgz
  dl=$(cd "$(dirname "$0")/../testbed" && mkdir -p dl && cd dl && pwd)
  if [ ! -e "$dl/$file" ]; then
    (cd "$dl" && npm pack --silent axe-core@4.10.3 >/dev/null)
  fi
  if ! (cd "$dl" && echo "5e6edba515e70d25f6604d9815f064d859c5d1ea7ab661bbc4f87c88779ef0c21cae0abbeb636471ef39e9d62d2582e4b88a1866f19f4ecfcf6d986275e4dc12  $file" | sha512sum --quiet -c -); then
    rm -f "$dl/$file"
    echo "test-deps: $file is not the package that was pinned" >&2
    return 1
  fi
}
# venv NAME: what testbed/ansible/NAME.txt pins, in a Python of its own below testbed/dl.
venv() {
  local bed dir
  bed=$(cd "$(dirname "$0")/../testbed" && pwd); dir=$bed/dl/$1
  if cmp -s "$bed/ansible/$1.txt" "$dir/pinned.txt"; then return; fi
  rm -rf "$dir"
  /usr/bin/python3 -m venv "$dir"
  "$dir/bin/pip" install --quiet --disable-pip-version-check --no-compile -r "$bed/ansible/$1.txt"
  cp "$bed/ansible/$1.txt" "$dir/pinned.txt"
}
if [ "${1:-}" = venv ]; then # what only 'ansible-test.sh -full' needs
  for name in "${@:2}"; do venv "$name"; done
  exit
fi
only=${1:-}
bed() {
  axe
  [ "$only" != test ] || return 0
  venv ansible
  [ "$(uname -m)" != x86_64 ] || "$(dirname "$0")/../testbed/setup.sh"
}
[ ${#want[@]} = 0 ] && { bed; exit; }
command -v apt-get >/dev/null || { echo "test-deps: no apt-get here; install by hand: ${want[*]}" >&2; exit 1; }
as=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "test-deps: neither root nor sudo; install by hand: ${want[*]}" >&2; exit 1; }
  as=sudo
fi
if [[ " ${want[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  # Only the programs: without this, Debian's package makes a cluster and starts it.
  $as mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' | $as tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
if [[ " ${want[*]} " == *" mariadb-server "* || " ${want[*]} " == *" prometheus "* || " ${want[*]} " == *" openssh-server "* ]] && [ ! -e /usr/sbin/policy-rc.d ]; then
  # Only the programs: Debian's packages start a server, unless this forbids it meanwhile.
  printf '#!/bin/sh\nexit 101\n' | $as tee /usr/sbin/policy-rc.d >/dev/null
  $as chmod 755 /usr/sbin/policy-rc.d
  trap '$as rm -f /usr/sbin/policy-rc.d' EXIT
fi
echo "test-deps: installing ${want[*]}"
$as apt-get update -qq
$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -o Dpkg::Options::=--force-confold -qq --no-install-recommends "${want[@]}" >/dev/null
bed
