#!/bin/bash
# mktools.sh PROGRAM...: out/tools.cpio with dynamic programs of this machine and their libraries (guest-run TOOLS=1)
set -euo pipefail; cd "$(dirname "$0")"; R=$(mktemp -d); trap 'rm -rf "$R"' EXIT
for p; do
  f=$(readlink -f "$(command -v "$p")") || { echo "mktools: no program $p" >&2; exit 1; }; install -D -m755 "$f" "$R/tools/$(basename "$p")"
  ldd "$f" | grep -oE '/[^ ]+' | while read -r l; do install -D -m755 "$(readlink -f "$l")" "$R$l"; done
done
rm -rf "$R/usr"/share; (cd "$R" && find . | cpio -o -H newc --quiet) > out/tools.cpio
