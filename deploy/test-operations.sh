#!/usr/bin/env bash
# Checks what operators install: scripts, units, crontab, pages for man, alerts and dashboard, and the proxy in front of the real
# endpoint. A check whose tool is missing is skipped by name; deploy/dependencies.sh --tools installs them all.
# PROGRAMS names a folder with built programs; otherwise they are built.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

work=$(mktemp -d)
finish() {
    stop_programs
    rm -rf "$work"
}
trap finish EXIT
passed=()
failed=()
skipped=()

check() { # NAME "TOOL…" COMMAND…
    local name=$1 tool
    for tool in $2; do
        if ! command -v "$tool" >/dev/null; then
            echo "-- skipped: $name (needs $tool)"
            skipped+=("$name")
            return
        fi
    done
    shift 2
    echo "-- $name"
    if "$@"; then passed+=("$name"); else failed+=("$name"); fi
}

# Settings of the machine have no say here.
for variable in $(compgen -e | grep '^SLUICE_' || true); do unset "$variable"; done
export GRAPHJSON_API_KEY=test-key

# MARK: Programs at work

if [ -z "${PROGRAMS:-}" ]; then
    for product in sluice-endpoint sluice-relay graphjson-stub; do
        swift build --product "$product" >/dev/null || exit
    done
    PROGRAMS=$(swift build --show-bin-path)
fi
PROGRAMS=$(realpath "$PROGRAMS")
export PROGRAMS
export PATH="$PROGRAMS:$PATH"

running=()
stop_programs() {
    [ ${#running[@]} -gt 0 ] || return 0
    kill "${running[@]}" 2>/dev/null
    wait "${running[@]}" 2>/dev/null
    running=()
}
start() { # NAME COMMAND…: what it prints goes to NAME.out and NAME.err
    local name=$1
    shift
    : >"$work/$name.out"
    : >"$work/$name.err"
    "$@" >"$work/$name.out" 2>"$work/$name.err" &
    running+=($!)
}
await() { # FILE EXPRESSION: what follows the expression, once it is there
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        sed -nE "s/.*$2([^\"]*).*/\1/p" "$work/$1" | grep -m 1 . && return
        sleep 0.05
    done
    echo "nothing in $1: $2" >&2
    cat "$work/$1" >&2
    return 1
}
envelopes() { # COUNT PREFIX
    local index now
    now=$(date +%s)
    for ((index = 0; index < $1; index++)); do
        printf '{"event":"screen_viewed","event_id":"%s-%d","occurred_at":%d,"anonymous_id":"a","session_id":"s",' "$2" "$index" "$now"
        printf '"app_version":"1","build_number":"1","platform":"ios","schema_version":1,"properties":{"name":"home"}}\n'
    done
}
fill() { # SPOOL COUNT PREFIX
    envelopes "$2" "$3" | sluice-endpoint import --spool "$1" --contract deploy/samples/contract.json5 >/dev/null
}

# MARK: Files

mapfile -t scripts < <(find deploy .ci -name '*.sh' -o -path '.ci/run' -o -path 'deploy/debian/*inst' -o -path 'deploy/debian/*rm' | sort)
mapfile -t yaml < <(find deploy -name '*.yml' -o -name '*.yaml' | sort)
mapfile -t units < <(find deploy/systemd -name '*.service' -o -name '*.timer' | sort)

check_scripts() { shellcheck --severity=style "${scripts[@]}"; }
check_yaml() { yamllint --strict -d '{extends: default, rules: {line-length: {max: 140}}}' "${yaml[@]}"; }

# systemd-analyze wants the programs where the units say; a folder of links stands in for them.
check_units() {
    local unit base=0 text
    for unit in "${units[@]}"; do
        mkdir -p "$work/units"
        sed "s|=/usr/bin/sluice-|=$PROGRAMS/sluice-|" "$unit" >"$work/units/${unit##*/}"
    done
    for unit in "$work"/units/*; do
        text=$(systemd-analyze verify --man=no "$unit" 2>&1) || base=1
        text=$(grep -F "${unit##*/}" <<<"$text" || true)
        [ -z "$text" ] || { echo "$text" && base=1; }
    done
    return "$base"
}
# A unit for a further API key is the plain one with folders and files of its own.
check_instances() {
    local template plain base=0
    # Without comments and description, in which they may differ.
    settings() { grep -vE '^(#|Description=)' "$1"; }
    for template in deploy/systemd/*@.*; do
        plain=${template/@/}
        diff <(settings "$plain" | sed -E 's#/etc/sluice/(sluice|graphjson)#/etc/sluice/%i#
            s#(/var/lib|=)/?sluice/#&%i/#g') <(settings "$template") || { echo "${template##*/} is not ${plain##*/}" && base=1; }
    done
    return "$base"
}
check_exposure() {
    local unit text score base=0
    for unit in "$work"/units/*.service; do
        text=$(systemd-analyze security --offline=true --no-pager "$unit" 2>&1 | tail -n 1)
        score=$(sed -nE 's/.*: ([0-9.]+) .*/\1/p' <<<"$text")
        echo "${unit##*/}: $score"
        awk -v score="$score" 'BEGIN { exit !(score != "" && score < 2.5) }' || base=1
    done
    return "$base"
}
# The sandbox cannot be tried without systemd, but what it would refuse can be seen.
check_calls() {
    local program base=0 spool="$work/calls-spool"
    systemd-analyze syscall-filter --no-pager 2>/dev/null >"$work/filters" || return
    # The members of a set, sets in it too.
    members() {
        awk -v set="$1" '$0 == set { on = 1; next } /^[^ ]/ { on = 0 } on && NF && $1 != "#" { print $1 }' "$work/filters" |
            while read -r word; do if [[ $word == @* ]]; then members "$word"; else echo "$word"; fi; done
    }
    # What the unit's lines leave, one after the other, as systemd.exec(5) has it.
    permitted() { # UNIT
        local words word known
        members @default | sort -u >"$work/known"
        while read -r words; do
            for word in ${words#\~}; do
                known=$word
                [[ $word != @* ]] || known=$(members "$word")
                if [[ $words == ~* ]]; then comm -23 "$work/known" <(sort -u <<<"$known"); else sort -u "$work/known" - <<<"$known"; fi >"$work/known.new"
                mv "$work/known.new" "$work/known"
            done
        done < <(sed -n 's/^SystemCallFilter=//p' "$1")
        cat "$work/known"
    }
    start calls-stub graphjson-stub --listen 127.0.0.1:0 --key test-key
    local url
    url="http://$(await calls-stub.out '^listening on ')" || return
    start calls-endpoint strace -D -f -qq -e signal=none -o "$work/endpoint.trace" sluice-endpoint serve --spool "$spool" \
        --contract deploy/samples/contract.json5 --listen 127.0.0.1:0 --admin 127.0.0.1:0
    start calls-relay strace -D -f -qq -e signal=none -o "$work/relay.trace" sluice-relay run --spool "$spool" \
        --graphjson-url "$url" --admin 127.0.0.1:0
    local address admin
    address=$(await calls-endpoint.out '^listening on ') && admin=$(await calls-relay.err '"admin.address":"') || return
    envelopes 3 calls | paste -sd, | sed 's/.*/{"events":[&]}/' >"$work/body"
    curl -sS -o /dev/null -H 'Content-Type: application/json' --data-binary "@$work/body" "http://$address/api/mobile-events" || return
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        curl -sS "http://$admin/metrics" >"$work/calls.metrics"
        grep -q 'sluice_relay_events_total{result="delivered"} 3' "$work/calls.metrics" && break
        sleep 0.1
    done
    stop_programs
    for program in endpoint relay; do
        sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' "$work/$program.trace" | sort -u >"$work/$program.calls"
        [ "$(wc -l <"$work/$program.calls")" -gt 20 ] || { echo "no calls of $program were seen" && base=1; }
        permitted "deploy/systemd/sluice-$program.service" >"$work/permitted"
        [ "$(wc -l <"$work/permitted")" -gt 200 ] || { echo "the sets of systemd-analyze are not understood" && base=1; }
        comm -23 "$work/$program.calls" "$work/permitted" >"$work/$program.refused"
        if [ -s "$work/$program.refused" ]; then
            echo "SystemCallFilter= would refuse $program: $(tr '\n' ' ' <"$work/$program.refused")"
            base=1
        fi
    done
    return "$base"
}
# A stop must never take longer than systemd waits.
check_stop_limits() {
    local unit base=0 limit own program setting
    for unit in deploy/systemd/*.service; do
        limit=$(sed -n 's/^TimeoutStopSec=//p' "$unit")
        program=relay
        case $unit in *endpoint*) program=endpoint ;; esac
        own=0
        for setting in shutdown_grace_s stop_drain_s; do
            own=$((own + $(sed -nE "s/^\| \`$program\.$setting\`.*\| \`([0-9]+)\` \|.*/\1/p" deploy/CONFIGURATION.md | grep . || echo 0)))
        done
        if [ "$own" -eq 0 ] || [ "$limit" -lt $((own * 2 + 10)) ]; then
            echo "$unit: TimeoutStopSec=$limit, and the program itself takes up to $own s" && base=1
        fi
        grep -q '^Restart=always' "$unit" || grep -q '^Type=oneshot' "$unit" || { echo "$unit: no Restart=" && base=1; }
    done
    return "$base"
}
# Twice at once, the very command of the unit, and the very line of the crontab.
twice() { # SPOOL COMMAND
    local first second url
    fill "$1" 3000 twice || return
    start twice-stub graphjson-stub --listen 127.0.0.1:0 --key test-key --latency-ms 5
    url="http://$(await twice-stub.out '^listening on ')" || return
    export SLUICE_GRAPHJSON_URL=$url
    bash -c "$2" >"$work/first" 2>&1 &
    first=$!
    bash -c "$2" >"$work/second" 2>&1 &
    second=$!
    wait "$first"
    first=$?
    wait "$second"
    second=$?
    unset SLUICE_GRAPHJSON_URL
    curl -sS "$url/stats" >"$work/stats"
    stop_programs
    echo "exit codes $first and $second"
    [[ "$first $second" =~ ^(0|75)\ (0|75)$ ]] || { cat "$work/first" "$work/second" && return 1; }
    if ! grep -q '"events":3000,' "$work/stats" || ! grep -q '"distinct_event_ids":3000' "$work/stats"; then
        cat "$work/stats"
        return 1
    fi
    sluice-relay status --spool "$1" | grep -F '(balanced)'
}
check_drain_unit() {
    local command
    command=$(sed -n 's|^ExecStart=/usr/bin/||p' deploy/systemd/sluice-drain.service)
    command=${command/--config \/etc\/sluice\/sluice.json5/--config $work/empty.json5}
    command=${command/\/var\/lib\/sluice\/spool/$work/unit-spool}
    [[ $command == *"$work/empty.json5"*"$work/unit-spool"* ]] || { echo "the unit's command has changed: $command" && return 1; }
    echo '{}' >"$work/empty.json5"
    twice "$work/unit-spool" "exec $command"
}
cron_line() { sed -nE "s/^$1 [^ ]+ [^ ]+ [^ ]+ [^ ]+ sluice-relay (.*)/\1/p" deploy/cron/sluice; }
check_cron() {
    local drain look
    drain=$(cron_line '\*') look=$(cron_line '7')
    ! grep -q % <<<"$drain$look" || { echo "a % ends a line of a crontab" && return 1; }
    export SLUICE_SPOOL_PATH="$work/cron-spool"
    grep -q '^SLUICE_SPOOL_PATH=' deploy/cron/sluice || return
    twice "$work/cron-spool" "$drain" || return
    # No letter while GraphJSON can't be reached or refuses the key; one for a wrong configuration.
    fill "$work/cron-spool" 10 more || return
    [ -z "$(SLUICE_GRAPHJSON_URL=http://127.0.0.1:9 SLUICE_RELAY_DRAIN_PATIENCE_S=0 sh -c "$drain" 2>&1)" ] || { echo "a letter each minute" && return 1; }
    [ -z "$(sh -c "$look" 2>&1)" ] || { sh -c "$look" && return 1; }
    start cron-stub graphjson-stub --listen 127.0.0.1:0 --key another-key
    local url
    url="http://$(await cron-stub.out '^listening on ')" || return
    rm "$work/cron-spool/gate"
    [ -z "$(SLUICE_GRAPHJSON_URL=$url sh -c "$drain" 2>&1)" ] || { echo "a letter each minute while the key is refused" && return 1; }
    stop_programs
    sh -c "$look" >"$work/letter" 2>&1
    grep -q '^gate .*halted' "$work/letter" || { echo "no letter an hour while the key is refused" && return 1; }
    [ -n "$(SLUICE_RELAY_LINGER_S=x sh -c "$drain" 2>&1)" ] || { echo "no letter for a wrong configuration" && return 1; }
    unset SLUICE_SPOOL_PATH
}
check_manuals() {
    local base=0 page
    for page in sluice-endpoint sluice-relay; do "$page" help --manual >"$work/$page.1" || return; done
    sluice-relay help --configuration --manual >"$work/sluice.json5.5" || return
    for page in "$work"/sluice-*.1 "$work/sluice.json5.5"; do
        man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>"$work/warnings" >/dev/null || base=1
        [ ! -s "$work/warnings" ] || { cat "$work/warnings" && base=1; }
        MANWIDTH=100 man -l "$page" >"$work/page" 2>/dev/null
        grep -q '^SEE ALSO' "$work/page" || base=1
    done
    return "$base"
}

# MARK: Prometheus

check_alerts() {
    promtool check rules deploy/prometheus/alerts.yml && promtool check config deploy/prometheus/prometheus.yml &&
        (cd deploy/prometheus && promtool test rules alerts_test.yml)
}
# Every expression parses, and every name in it is one that a program shows.
check_metrics() {
    local base=0
    start stub graphjson-stub --listen 127.0.0.1:0 --key test-key
    start endpoint sluice-endpoint serve --spool "$work/metrics-spool" --contract deploy/samples/contract.json5 \
        --listen 127.0.0.1:0 --admin 127.0.0.1:0
    start relay sluice-relay run --spool "$work/metrics-spool" --graphjson-url "http://$(await stub.out '^listening on ')" --admin 127.0.0.1:0
    for program in endpoint relay; do
        curl -sS "http://$(await "$program.err" '"admin.address":"')/metrics" >"$work/$program.metrics" || return
        promtool check metrics <"$work/$program.metrics" || base=1
        grep -q '^sluice_spool_balanced 1$' "$work/$program.metrics" || { echo "$program shows no books" && base=1; }
    done
    stop_programs
    sed -nE 's/^# TYPE ([^ ]+) histogram$/\1_bucket\n\1_sum\n\1_count/p; s/^# TYPE ([^ ]+) (counter|gauge)$/\1/p' "$work"/*.metrics |
        sort -u >"$work/shown"
    jq -r '.. | objects | .expr? // empty' deploy/grafana/sluice.json >"$work/expressions"
    [ "$(wc -l <"$work/expressions")" -gt 30 ] || { echo "the dashboard has lost its expressions" && base=1; }
    {
        echo 'groups: [{name: dashboard, rules: ['
        awk '{ gsub(/\$__rate_interval/, "5m"); gsub(/'"'"'/, "&&"); printf "{record: \"dashboard:%d\", expr: '"'"'%s'"'"'},\n", NR, $0 }' "$work/expressions"
        echo ']}]'
    } >"$work/dashboard.yml"
    promtool check rules "$work/dashboard.yml" >"$work/promtool" 2>&1 || { cat "$work/promtool" && base=1; }
    grep -ohE '\b(sluice|process)_[a-z_]+' "$work/expressions" deploy/prometheus/alerts.yml deploy/prometheus/alerts_test.yml \
        <(jq -r '.templating.list[].query | .query? // empty' deploy/grafana/sluice.json) | grep -v '_$' | sort -u >"$work/named"
    comm -23 "$work/named" "$work/shown" >"$work/unknown"
    [ ! -s "$work/unknown" ] || { echo "no program shows: $(tr '\n' ' ' <"$work/unknown")" && base=1; }
    jq -e '[.panels[].id] | length == (unique | length)' deploy/grafana/sluice.json >/dev/null || { echo "panels share an id" && base=1; }
    return "$base"
}
# Each alert has its section in the handbook.
check_runbooks() {
    local base=0 alert
    [ -e deploy/OPERATIONS.md ] || { echo "there is no deploy/OPERATIONS.md yet" && return 0; }
    while read -r alert; do
        grep -q "^#\+ $alert\$" deploy/OPERATIONS.md || { echo "deploy/OPERATIONS.md has no section $alert" && base=1; }
        grep -q "OPERATIONS.md#${alert,,}\$" deploy/prometheus/alerts.yml || { echo "$alert names no runbook" && base=1; }
    done < <(sed -n 's/^ *- alert: //p' deploy/prometheus/alerts.yml)
    return "$base"
}

check "scripts (shellcheck)" shellcheck check_scripts
check "YAML (yamllint)" yamllint check_yaml
check "units (systemd-analyze verify)" systemd-analyze check_units
check "units of further keys are the plain ones" diff check_instances
check "exposure below 2.5 (systemd-analyze security)" systemd-analyze check_exposure
check "system calls that the units permit" "systemd-analyze strace curl" check_calls
check "limits of stopping" awk check_stop_limits
check "the drain's unit, twice at once" curl check_drain_unit
check "the crontab's lines, twice at once" curl check_cron
check "pages for man" man check_manuals
check "alerts (promtool)" promtool check_alerts
check "metrics, alerts and dashboard name the same" "promtool jq curl" check_metrics
check "a section in the handbook for each alert" grep check_runbooks
check "reverse proxy (nginx)" "nginx openssl curl lz4" deploy/test-proxy.sh

echo "test-operations.sh: ${#passed[@]} checks in order, ${#skipped[@]} skipped, ${#failed[@]} failed"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
