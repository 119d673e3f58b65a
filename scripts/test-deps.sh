#!/bin/bash
# test-deps.sh: installs what the tests use and this machine lacks. Debian or Ubuntu; needs root or sudo only then.
set -euo pipefail
want=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || want+=(chromium)
command -v git >/dev/null || want+=(git)
[ ${#want[@]} = 0 ] && exit 0
command -v apt-get >/dev/null || { echo "test-deps: no apt-get here; install by hand: ${want[*]}" >&2; exit 1; }
as=; [ "$(id -u)" = 0 ] || as=sudo
echo "test-deps: installing ${want[*]}"
$as apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as apt-get install -y -qq --no-install-recommends "${want[@]}" >/dev/null
