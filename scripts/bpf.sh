#!/bin/bash
# bpf.sh: builds the programs of internal/trace again and says whether what is committed is what the sources give.
# The compiler is pinned in generate_linux.go; test-deps.sh installs it where Debian has it.
set -euo pipefail
cd "$(dirname "$0")/../internal/trace"
files=({calls,sched}_bpfel.{go,o})
kept=$(mktemp -d); trap 'rm -rf "$kept"' EXIT
cp "${files[@]}" "$kept"
go generate .
for f in "${files[@]}"; do
  cmp "$f" "$kept/$f" || { echo "bpf: internal/trace/$f is not what its sources give: commit what 'go generate ./internal/trace' writes" >&2; exit 1; }
done
echo "bpf: ${files[*]} are what their sources give"
