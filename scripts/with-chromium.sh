#!/bin/bash
# with-chromium.sh COMMAND...: runs a command while one Chromium waits for its tests, and says where in HOSTLAB_CHROMIUM.
set -euo pipefail
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
  browser=$(command -v "$name") && break
done
[ -n "${browser:-}" ] || { echo "with-chromium: no Chromium on PATH nor in CHROMIUM" >&2; exit 1; }
profile=$(mktemp -d /tmp/hostlab-browser-XXXXXX)
TMPDIR=$profile "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-quic --disable-background-networking \
  --disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage --mute-audio --force-color-profile=srgb \
  --user-data-dir="$profile" --remote-debugging-port=0 about:blank >"$profile/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$profile"' EXIT
until [ -s "$profile/DevToolsActivePort" ]; do
  kill -0 $server 2>/dev/null || { cat "$profile/log" >&2; exit 1; }
  sleep 0.1
done
{ read -r port; read -r path; } <"$profile/DevToolsActivePort" || true
export HOSTLAB_CHROMIUM=ws://127.0.0.1:$port$path
"$@"
