#!/usr/bin/env bash
# See to it that there is a Chromium for the tests that open pages in a real browser.
#
#     scripts/chromium.sh
#
# Where none is on the PATH, root on Debian (a container, CI) gets the system's package; anybody else
# is told how to get one, and those tests fail.
set -euo pipefail

[ -x "${PALESTRA_CHROMIUM:-}" ] && exit
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit
done
if [ "$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release; then
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq >/dev/null && apt-get install -y -qq chromium >/dev/null; then
        echo "installed Chromium $(chromium --version 2>/dev/null | grep -o '[0-9.]*' | head -1)"
        exit
    fi
fi
echo "No Chromium: tests in a real browser will fail. Install one (Debian: apt install chromium;" \
    "macOS: brew install --cask chromium), or say where it is in PALESTRA_CHROMIUM." >&2
