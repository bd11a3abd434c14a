#!/usr/bin/env bash
# Runs nginx with deploy/nginx.conf in front of the real endpoint: TLS, HTTP/2, gzip, forwarded addresses, limits, and what a
# phone is told while the endpoint is down. Needs nginx, openssl and curl; PROGRAMS names a folder with built programs.
set -euo pipefail
cd "$(dirname "$0")/.."

programs=${PROGRAMS:-$(swift build --show-bin-path)}
work=$(mktemp -d)
endpoint=
nginx=
finish() {
    # shellcheck disable=SC2086
    kill $endpoint $nginx 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
fail() {
    echo "test-proxy.sh: $*" >&2
    tail -n 20 "$work"/*.err "$work/error.log" >&2 2>/dev/null || true
    exit 1
}
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=events.example.com \
    -addext subjectAltName=DNS:events.example.com -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

# 60 events at once from an address, then next to none: the limit that the test watches.
cat >"$work/sluice.json5" <<END
{
  spool: { path: "$work/spool" },
  endpoint: { contract: "deploy/samples/contract.json5", listen: "127.0.0.1:0", admin_listen: "off" },
  auth: { trusted_proxies: ["127.0.0.1"] },
  clients: { "ios-prod": { collection: "ios", platform: "ios" }, "secret": { collection: "secret" } },
  rate_limit: { address: 0.001, address_burst: 60, anonymous: 0 },
}
END
start_endpoint() { # LISTEN
    : >"$work/endpoint.out"
    "$programs/sluice-endpoint" serve --config "$work/sluice.json5" --listen "$1" >"$work/endpoint.out" 2>"$work/endpoint.err" &
    endpoint=$!
    until grep -q '^listening on ' "$work/endpoint.out"; do
        kill -0 "$endpoint" || fail "the endpoint does not start"
        sleep 0.05
    done
    upstream=$(sed -n 's/^listening on //p' "$work/endpoint.out")
}
start_endpoint 127.0.0.1:0

# nginx has no port 0: one that was free a moment ago will do.
: >"$work/port"
"$programs/graphjson-stub" --listen 127.0.0.1:0 --key any >"$work/port" &
holder=$!
until grep -q '^listening on ' "$work/port"; do sleep 0.05; done
port=$(sed -n 's/^listening on .*://p' "$work/port")
kill "$holder"
wait "$holder" || true
sed -e "s|listen 443 |listen 127.0.0.1:$port |" -e '/listen \[::\]:443/d' -e "s|server 127.0.0.1:8080;|server $upstream;|" \
    -e "s|/etc/letsencrypt/live/events.example.com/fullchain.pem|$work/cert.pem|" \
    -e "s|/etc/letsencrypt/live/events.example.com/privkey.pem|$work/key.pem|" \
    -e "s|/var/log/nginx/sluice.log|$work/access.log|" -e 's|rate=20r/s|rate=1r/m|' deploy/nginx.conf >"$work/site.conf"
for change in "127.0.0.1:$port ssl" "server $upstream" "$work/cert.pem" "$work/key.pem" "$work/access.log" "rate=1r/m"; do
    grep -qF "$change" "$work/site.conf" || fail "deploy/nginx.conf has changed: no place for $change"
done
cat >"$work/nginx.conf" <<END
worker_processes 1;
daemon off;
pid $work/nginx.pid;
error_log $work/error.log warn;
events { worker_connections 256; }
http {
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    include $work/site.conf;
}
END
# Its workers write to folders of the test, whoever runs it.
[ "$(id -u)" -ne 0 ] || sed -i '1i user root;' "$work/nginx.conf"
nginx -t -q -e "$work/error.log" -c "$work/nginx.conf" || fail "nginx -t"
nginx -e "$work/error.log" -c "$work/nginx.conf" 2>"$work/nginx.err" &
nginx=$!

url=https://events.example.com:$port/api/mobile-events
ask() { # ADDRESS CURL-WORDS…: prints the status and keeps body and head
    local from=$1
    shift
    curl -sS --max-time 30 --interface "$from" --cacert "$work/cert.pem" --resolve "events.example.com:$port:127.0.0.1" \
        -o "$work/body.json" -D "$work/head" -w '%{http_code} %{http_version}' -H 'Content-Type: application/json' "$@"
}
number=0
batch() { # COUNT: a body with so many events
    local events=() index
    for ((index = 0; index < $1; index++)); do
        number=$((number + 1))
        events+=("{\"event\":\"screen_viewed\",\"event_id\":\"p-$number\",\"occurred_at\":$(date +%s),\"anonymous_id\":\"a\",\
\"session_id\":\"s\",\"user_id\":\"u-1\",\"app_version\":\"1\",\"build_number\":\"1\",\"platform\":\"ios\",\"schema_version\":1,\
\"properties\":{\"name\":\"home\"}}")
    done
    (IFS=, && echo "{\"events\":[${events[*]}]}")
}
expect() { # WHAT WANTED FOUND
    # shellcheck disable=SC2254 # patterns are meant
    case $3 in $2) ;; *) fail "$1: expected $2, found $3: $(cat "$work/body.json" 2>/dev/null)" ;; esac
}
until ask 127.0.0.1 "$url" >/dev/null 2>&1; do
    kill -0 "$nginx" || fail "nginx does not start"
    sleep 0.05
done

batch 2 >"$work/two"
expect "a batch over TLS and HTTP/2" "200 2" "$(ask 127.0.0.2 --http2 --data-binary "@$work/two" "$url")"
grep -q '"accepted":\["p-1","p-2"\]' "$work/body.json" || fail "the verdicts are missing"
grep -qi '^strict-transport-security:' "$work/head" || fail "no Strict-Transport-Security"
expect "HTTP/1.1" "200 1.1" "$(batch 1 | ask 127.0.0.2 --http1.1 --data-binary @- "$url")"
expect "plain HTTP on the port of TLS" "400 *" "$(ask 127.0.0.2 "http://events.example.com:$port/" || true)"

batch 20 | gzip >"$work/gzip"
expect "a compressed batch" "200 *" "$(ask 127.0.0.2 -H 'Content-Encoding: gzip' --data-binary "@$work/gzip" "$url")"

# 23 of 60 events of 127.0.0.2 are used up. Whoever forges an address or a user does not get further.
forged=(-H 'X-Forwarded-For: 192.0.2.7' -H 'X-Real-IP: 192.0.2.7' -H 'Forwarded: for=192.0.2.7' -H 'X-User-ID: u-1'
    -H 'X-Account-ID: boss' -H 'X-Client-ID: secret')
expect "a batch with forged headers" "200 *" "$(batch 37 | ask 127.0.0.2 "${forged[@]}" --data-binary @- "$url")"
expect "the rate limit of the forwarded address" "429 *" "$(batch 1 | ask 127.0.0.2 "${forged[@]}" --data-binary @- "$url")"
grep -qi '^retry-after: [0-9]' "$work/head" || fail "429 without Retry-After"
expect "another address" "200 *" "$(batch 1 | ask 127.0.0.3 -H 'X-Client-ID: ios-prod' --data-binary @- "$url")"

head -c 1060000 /dev/zero | tr '\0' ' ' >"$work/large"
expect "a body that the endpoint refuses" "413 *" "$(ask 127.0.0.4 --data-binary "@$work/large" "$url")"
grep -qE '"request_id":"[0-9a-z]{15}","code":"body_too_large"' "$work/body.json" || fail "413, but not the endpoint's"
head -c 3000000 /dev/zero | tr '\0' ' ' >"$work/larger"
expect "a body that nginx refuses" "413 *" "$(ask 127.0.0.4 --http1.1 --data-binary "@$work/larger" "$url")"
grep -q '"code":"body_too_large"' "$work/body.json" || fail "413 of nginx without a code"
expect "another path" "404 *" "$(ask 127.0.0.4 "https://events.example.com:$port/metrics")"
grep -q '"code":"not_found"' "$work/body.json" || fail "404 without a code"

# 400 requests from one address: the burst goes through to the endpoint, the rest is told to slow down. (What the rate lets
# through in the meantime is next to nothing here, so that a slow machine finds the same.)
curl -sS -o /dev/null --max-time 60 --interface 127.0.0.5 --cacert "$work/cert.pem" --resolve "events.example.com:$port:127.0.0.1" \
    -w '%{http_code}\n' "$url?[1-400]" | sort | uniq -c >"$work/flood"
let_through=$(sed -n 's/ 405$//p' "$work/flood")
((${let_through:-0} >= 200 && ${let_through:-0} < 220)) || fail "of 400 requests: $(cat "$work/flood")"
grep -q ' 429$' "$work/flood" || fail "nothing ends a flood: $(cat "$work/flood")"

kill "$endpoint"
wait "$endpoint" || fail "the endpoint did not end in good order"
expect "while the endpoint is down" "503 *" "$(batch 1 | ask 127.0.0.6 --data-binary @- "$url")"
grep -qi '^retry-after: 5' "$work/head" || fail "503 without Retry-After"
grep -q '"code":"unavailable"' "$work/body.json" || fail "503 without a code"
start_endpoint "$upstream"
expect "after a new start" "200 *" "$(batch 1 | ask 127.0.0.6 --data-binary @- "$url")"
kill "$endpoint"
wait "$endpoint" || fail "the endpoint did not end in good order"
endpoint=

# What was stored: every accepted event, nobody's user, and no collection that a phone chose.
cat "$work"/spool/ready/*.lz4 | lz4 -dc >"$work/stored"
expect "events in the spool" 62 "$(wc -l <"$work/stored")"
! grep -qE '"collection":"secret"|boss|account_id|"trusted":\{"user' "$work/stored" || fail "a forged header was believed"
expect "events of the client that may be named" 1 "$(grep -c '"collection":"ios"' "$work/stored")"
! grep -qE '127\.0\.0|p-[0-9]|curl' "$work/access.log" || fail "the access log tells of people"
echo "test-proxy.sh: in order: $(nginx -v 2>&1 | sed 's/.*: //')"
