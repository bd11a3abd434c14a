#!/usr/bin/env bash
# Looks at the relay's status page with a real browser (Debian's chromium-headless-shell, driven by PyPI's playwright), at
# phone and desktop width, light and dark, in each state that it can show. SCREENSHOTS=DIR keeps what was seen.
set -euo pipefail
cd "$(dirname "$0")/.."

browser=$(command -v chromium-headless-shell) || {
    echo "test-status-page.sh: chromium-headless-shell is missing; deploy/dependencies.sh --tools installs it" >&2
    exit 69
}
venv=.build/status-page-venv
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c "import playwright" 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet playwright
fi
for product in sluice-endpoint sluice-relay graphjson-stub; do swift build --product "$product" >/dev/null; done
PATH="$(swift build --show-bin-path):$PATH"
if [ -n "${SCREENSHOTS:-}" ]; then mkdir -p "$SCREENSHOTS"; fi
"$venv/bin/python" Tests/StatusPage/status_page.py "$browser"
