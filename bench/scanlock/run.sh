#!/bin/bash
# run.sh [FLAGS]: hostlab's scan and lock loops against the same program in C, in turn. See ../README.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v gcc >/dev/null || { echo "bench: gcc is not installed: apt-get install gcc" >&2; exit 2; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
gcc -O2 -pthread -o "$dir/seed" bench/scanlock/seed/seed.c
go build -o "$dir/scanlock" ./bench/scanlock
"$dir/scanlock" "$@" "$dir/seed"
