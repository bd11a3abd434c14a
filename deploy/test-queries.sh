#!/usr/bin/env bash
# Runs deploy/queries/*.sql on a ClickHouse engine (PyPI chdb-core, about 560 MB unpacked, in .build/clickhouse) over events that
# went through the product: imported at several times, delivered by a relay, stored by the stand-in for GraphJSON. Results
# are compared with deploy/queries/test/expected. --write writes them instead.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
stub=
finish() {
    [ -z "$stub" ] || kill "$stub" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT

for tool in faketime curl python3; do
    command -v "$tool" >/dev/null || { echo "test-queries.sh: $tool is missing; deploy/dependencies.sh --tools installs it" >&2; exit 69; }
done
venv=${CLICKHOUSE_VENV:-.build/clickhouse}
if ! "$venv/bin/python" -c 'import chdb' 2>/dev/null; then
    echo "installing chdb-core into $venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --no-deps chdb-core
fi
for product in sluice-endpoint sluice-relay graphjson-stub; do swift build --product "$product" >/dev/null; done
PATH="$(swift build --show-bin-path):$PATH"

# Settings of the machine have no say here. Rows that came twice must reach the stub, so the relay forgets what it sent; rounded
# timestamps and both kinds of corrected clocks must be among the data.
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done
export TZ=UTC GRAPHJSON_API_KEY=test SLUICE_SPOOL_PATH="$work/spool" SLUICE_RELAY_ADMIN_LISTEN=off
export SLUICE_RELAY_DUPLICATE_WINDOW=0 SLUICE_GRAPHJSON_TIMESTAMP_PRECISION_S=60 SLUICE_CLOCK_MAX_AGE_ACTION=clamp

: >"$work/stub.out"
graphjson-stub --listen 127.0.0.1:0 --store "$work/arrived.ndjson" >"$work/stub.out" &
stub=$!
until grep -q '^listening on ' "$work/stub.out"; do
    kill -0 "$stub"
    sleep 0.05
done
SLUICE_GRAPHJSON_URL="http://$(sed -n 's/^listening on //p' "$work/stub.out")"
export SLUICE_GRAPHJSON_URL

# An old build of the app that calls GraphJSON itself.
for second in 0 0 60; do
    curl -sS -o "$work/answer" -H 'Content-Type: application/json' "$SLUICE_GRAPHJSON_URL/api/log" --data-binary \
        '{"api_key":"test","collection":"mobile_events","timestamp":'$((1767614400 + second))',"json":"{\"type\":\"screen\",\"name\":\"home\"}"}'
done

# Each file is named by the time of its receipt; the endpoint's clock stands there.
for file in deploy/queries/test/events/*.ndjson; do
    name=$(basename "$file" .ndjson)
    received="${name:0:10} ${name:11:2}:${name:13:2}:${name:15:2}"
    faketime -f "$received" sluice-endpoint import --contract deploy/samples/contract.json5 "$file" >"$work/import.out"
    sluice-relay drain >"$work/drain.out" 2>"$work/drain.err" || { cat "$work/drain.err" >&2; exit 1; }
done
sluice-relay status | tail -n 1
sluice-relay status | grep -q '(balanced)$'

"$venv/bin/python" deploy/queries/test/run.py "$work/arrived.ndjson" "$@"
