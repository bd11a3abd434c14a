#!/usr/bin/env bash
# The product from end to end, in a temporary folder, without account and network: sample envelopes, a few of them bad,
# through the contract into a spool, and from there to a stand-in for GraphJSON.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v swift >/dev/null; then
    echo "demo.sh: swift 6.3 or later must be installed: https://www.swift.org/install/linux/" >&2
    exit 69
fi
deploy/dependencies.sh
echo "building (a few minutes the first time) …"
for product in sluice-endpoint sluice-relay graphjson-stub; do
    swift build -c release --product "$product" >/dev/null
done
PATH="$(swift build -c release --show-bin-path):$PATH"

work=$(mktemp -d)
stub=
finish() {
    [ -z "$stub" ] || kill "$stub" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT

step() { printf '\n== %s\n' "$1"; }

# Settings of the machine have no say here.
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done
export GRAPHJSON_API_KEY=demo-key

graphjson-stub --listen 127.0.0.1:0 --key "$GRAPHJSON_API_KEY" --store "$work/arrived.ndjson" --poison demo-poison \
    >"$work/stub.out" &
stub=$!
until grep -q '^listening on ' "$work/stub.out"; do
    kill -0 "$stub" || exit
    sleep 0.05
done
url="http://$(sed -n 's/^listening on //p' "$work/stub.out")"
cat >"$work/sluice.json5" <<EOF
{ spool: { path: "$work/spool" }, graphjson: { url: "$url" }, endpoint: { contract: "deploy/samples/contract.json5" } }
EOF
config=(--config "$work/sluice.json5")

step "import: $(wc -l <deploy/samples/envelopes.ndjson) envelopes; some break the contract (deploy/samples/contract.json5)"
code=0
sluice-endpoint import "${config[@]}" --backfill deploy/samples/envelopes.ndjson || code=$?
[ "$code" -eq 65 ] || { echo "demo.sh: import ended with $code, not with 65 for refused envelopes" >&2; exit 1; }

step "drain: everything to GraphJSON's stand-in at $url"
sluice-relay drain "${config[@]}"

step "one event as it arrived"
head -n 1 "$work/arrived.ndjson"

step "one that GraphJSON refused, alone; its neighbours arrived"
sluice-relay quarantine show "${config[@]}" --reason upstream_rejected --limit 1

step "all of quarantine: kept, with a reason, until somebody replays or discards it"
sluice-relay quarantine list "${config[@]}"

step "status: where every accepted event is"
sluice-relay status "${config[@]}" | tee "$work/status" | sed '$d'
echo
tail -n 1 "$work/status"
grep -q '(balanced)$' "$work/status"
