#!/bin/bash
# run.sh: the engine of the power model against other simulation engines. Installs what it can from
# package registries into a directory of its own, says what it could not, and compares. See ../README.md.
set -uo pipefail
cd "$(dirname "$0")/../.."
here=bench/engines
dir=${ENGINES_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/hostlab-engines}
mkdir -p "$dir"
# try NAME COMMAND...: one line on what could not be installed, and why
try() {
  local name=$1; shift
  local log="$dir/$name.log"
  if ! "$@" >"$log" 2>&1; then
    echo "not compared: $name: $(grep -iE 'error|not available|unable|forbidden|not found|No module' "$log" | tail -1 | cut -c1-160) (see $log)"
    return 1
  fi
}
go build -o "$dir/hostlab" ./$here/hostlab && go build -o "$dir/closures" ./$here/closures || exit 1

[ -x "$dir/python/bin/python" ] || try python python3 -m venv "$dir/python"
for p in simpy ciw salabim; do
  [ -e "$dir/python/$p.ok" ] || { try "$p" "$dir/python/bin/pip" install -q "$p" && touch "$dir/python/$p.ok"; }
done

nexosim() { command -v cargo >/dev/null || { echo "error: cargo is not found"; return 1; }
  CARGO_TARGET_DIR="$dir/cargo" cargo build --release --manifest-path $here/peers/nexosim/Cargo.toml && cp "$dir/cargo/release/nexosim-mm8" "$dir/"; }
[ -x "$dir/nexosim-mm8" ] || try nexosim nexosim

gopeer() { rm -rf "$dir/$1" && cp -r "$here/peers/$1" "$dir/$1" && (cd "$dir/$1" && go get "$2" && go build -o "../$1-mm8" .); }
[ -x "$dir/simgo-mm8" ] || try simgo gopeer simgo github.com/fschuetz04/simgo@v0.7.0
[ -x "$dir/godes-mm8" ] || try godes gopeer godes github.com/agoussia/godes@latest

# SimGrid has no wheels; Debian has it for the system's Python. Its packages are only unpacked.
simgrid() (
  command -v apt-get >/dev/null || { echo "error: no apt-get here"; return 1; }
  mkdir -p "$dir/debs" "$dir/debian" && cd "$dir/debs" || return 1
  local all; all=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances python3-simgrid | grep '^[a-z]' | grep -E 'simgrid|boost|libns3|gsl|gfortran|quadmath|libxml2|libicu|sqlite3' | sort -u)
  [ -n "$all" ] || { echo "error: python3-simgrid is not available"; return 1; }
  apt-get download $all && for d in *.deb; do dpkg-deb -x "$d" "$dir/debian" || return 1; done
  PYTHONPATH="$dir/debian/usr/lib/python3/dist-packages" LD_LIBRARY_PATH="$(echo "$dir"/debian/usr/lib/*-linux-gnu):$dir/debian/usr/lib" /usr/bin/python3 -c 'import simgrid' && touch "$dir/debian/ok"
)
[ -e "$dir/debian/ok" ] || try simgrid simgrid
exec go run ./$here -n "${ROUNDS:-11}" "$dir"
