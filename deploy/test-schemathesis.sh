#!/usr/bin/env bash
# Lets schemathesis (PyPI) loose on a running endpoint with the OpenAPI document that it generates: no answer may be a 5xx,
# and none may be one that the document does not describe. SECONDS_LIMIT bounds the time, default 120.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
endpoint=
finish() {
    [ -z "$endpoint" ] || kill "$endpoint" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT

swift build --product sluice-endpoint >/dev/null
PATH="$(swift build --show-bin-path):$PATH"

venv=${SCHEMATHESIS_VENV:-$work/venv}
if [ ! -x "$venv/bin/schemathesis" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet schemathesis
fi

# Settings of the machine have no say here; a limit on how fast it may try would only be in the way.
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done
export SLUICE_RATE_LIMIT_ADDRESS=0 SLUICE_RATE_LIMIT_ANONYMOUS=0 SLUICE_RATE_LIMIT_USER=0
: >"$work/endpoint.out"
contract=(--contract deploy/samples/contract.json5)

sluice-endpoint serve --spool "$work/spool" "${contract[@]}" --listen 127.0.0.1:0 --admin off \
    >"$work/endpoint.out" 2>"$work/endpoint.err" &
endpoint=$!
until grep -q '^listening on ' "$work/endpoint.out"; do
    kill -0 "$endpoint" || { cat "$work/endpoint.err" >&2; exit 1; }
    sleep 0.05
done
url="http://$(sed -n 's/^listening on //p' "$work/endpoint.out")"
sluice-endpoint openapi "${contract[@]}" >"$work/openapi.json"

# An event that breaks its rule is answered 200 with a verdict of its own, so the checks that want a 4xx for every body
# outside the schema do not apply.
(cd "$work" && timeout "${SECONDS_LIMIT:-120}" "$venv/bin/schemathesis" run "$work/openapi.json" --url "$url" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
    --max-examples "${EXAMPLES:-200}" --phases examples,coverage,fuzzing --seed 1 --no-color)

kill "$endpoint"
wait "$endpoint"
endpoint=
echo "test-schemathesis.sh: the endpoint ended in good order"
