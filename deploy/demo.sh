#!/usr/bin/env bash
# The product from end to end, in a temporary folder, without account and network: an endpoint that takes batches, a relay
# that delivers them, and a stand-in for GraphJSON, as three processes; some of the events are bad.
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
finish() {
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT

step() { printf '\n== %s\n' "$1"; }

# Where a program listens, from the first line that it prints to a file.
address() {
    until grep -q '^listening on ' "$1"; do
        kill -0 "$2" || exit
        sleep 0.05
    done
    sed -n 's/^listening on //p' "$1"
}

# Settings of the machine have no say here.
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done
export GRAPHJSON_API_KEY=demo-key

graphjson-stub --listen 127.0.0.1:0 --key "$GRAPHJSON_API_KEY" --store "$work/arrived.ndjson" --poison demo-poison \
    >"$work/stub.out" &
stub=$!
url="http://$(address "$work/stub.out" "$stub")"
cat >"$work/sluice.json5" <<EOF
{
  spool: { path: "$work/spool" },
  graphjson: { url: "$url" },
  endpoint: { contract: "deploy/samples/contract.json5", listen: "127.0.0.1:0", admin_listen: "off" },
  relay: { admin_listen: "off" },
}
EOF
config=(--config "$work/sluice.json5")

step "import: $(wc -l <deploy/samples/envelopes.ndjson) older envelopes; some break the contract (deploy/samples/contract.json5)"
code=0
sluice-endpoint import "${config[@]}" --backfill deploy/samples/envelopes.ndjson || code=$?
[ "$code" -eq 65 ] || { echo "demo.sh: import ended with $code, not with 65 for refused envelopes" >&2; exit 1; }

sluice-endpoint serve "${config[@]}" >"$work/endpoint.out" 2>"$work/endpoint.err" &
endpoint=$!
endpoint_url="http://$(address "$work/endpoint.out" "$endpoint")/api/mobile-events"
sluice-relay run "${config[@]}" 2>"$work/relay.err" &
relay=$!

envelope() { # EVENT ID PROPERTIES
    printf '{"event":"%s","event_id":"%s","occurred_at":%s,"anonymous_id":"anon-1","session_id":"ses-1",' "$1" "$2" "$(date +%s)"
    printf '"app_version":"4.2.0","build_number":"812","platform":"ios","schema_version":1,"properties":%s}' "$3"
}
post() { curl -sS -w '  (HTTP %{http_code})\n' -H 'Content-Type: application/json' --data-binary "$1" "$endpoint_url"; }

step "a batch from a phone, to the endpoint at $endpoint_url: taken once it is on disk"
post "{\"events\":[$(envelope screen_viewed live-1 '{"name":"home"}'),$(
    envelope report_exported live-2 '{"report_type":"funnel","row_count":"18420"}'
)]}"

step "a batch with one good and two bad events: each gets its own verdict"
post "{\"events\":[$(envelope screen_viewed live-3 '{"name":"settings","phone_number":"x"}'),$(
    envelope screen_viewed live-4 '{"name":7}'
),$(envelope purchase_completed live-5 '{}')]}"

step "what is no batch is refused whole"
post '{"events":['

step "the relay delivers by itself; both end in good order, and a drain finds nothing left"
until grep -q live-3 "$work/arrived.ndjson"; do
    kill -0 "$relay" || exit
    sleep 0.05
done
kill "$endpoint" "$relay"
wait "$endpoint" "$relay"
sluice-relay drain "${config[@]}"

step "one event as it arrived"
grep -m 1 live-3 "$work/arrived.ndjson"

step "one that GraphJSON refused, alone; its neighbours arrived"
sluice-relay quarantine show "${config[@]}" --reason upstream_rejected --limit 1

step "all of quarantine: kept, with a reason, until somebody replays or discards it"
sluice-relay quarantine list "${config[@]}"

step "status: where every accepted event is"
sluice-relay status "${config[@]}" | tee "$work/status" | sed '$d'
echo
tail -n 1 "$work/status"
grep -q '(balanced)$' "$work/status"
