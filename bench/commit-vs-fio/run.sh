#!/usr/bin/env bash
# Compares hostlab's commit workload with fio's on the same directory.
# Usage: bench/commit-vs-fio/run.sh [DIRECTORY [ROUNDS]]
# Writes about 4 MiB at a time into a directory of its own there and removes it.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:-.}
rounds=${2:-31}
if ! command -v fio >/dev/null; then
    echo "commit-vs-fio: fio is not installed: apt-get install fio" >&2
    exit 2
fi
if [[ ! -d $dir ]]; then
    echo "commit-vs-fio: $dir is not a directory: name one on the device to compare on" >&2
    exit 2
fi
program=$(mktemp)
trap 'rm -f "$program"' EXIT
CGO_ENABLED=0 go build -o "$program" ./bench/commit-vs-fio
"$program" -dir "$dir" -rounds "$rounds"
