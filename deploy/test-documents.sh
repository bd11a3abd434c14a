#!/usr/bin/env bash
# Runs the documents: every block marked `sh` of README.md, OPERATIONS.md and LAUNCH.md, in the order of the text, in a folder of
# its own with real programs, where `systemctl` starts and stops them. Then the names: each link leads somewhere, each alert has its
# section, and each test that a document names exists. A comment <!-- test: NAME --> calls the function of that name below.
# shellcheck disable=SC2317,SC2329  # functions that the blocks and the comments call
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

for tool in curl jq lz4; do
    command -v "$tool" >/dev/null || { echo "test-documents.sh: $tool is missing; deploy/dependencies.sh --tools installs it" >&2; exit 69; }
done
for product in sluice-endpoint sluice-relay graphjson-stub; do swift build --product "$product" >/dev/null; done
PATH="$(swift build --show-bin-path):$PATH"

exec 9>&2
work=$(mktemp -d)
declare -A process=()
running=
finish() {
    [ -z "$running" ] || { echo "$running: the block at line ${place:-?} did not come to its end" && cat "$work/script.log"; } >&9
    for name in "${!process[@]}"; do kill "${process[$name]}" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT

# MARK: - Where the blocks run

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# Starts a program in the background and waits until it answers.
launch() { # NAME PORT PROGRAM WORD…
    local name=$1 port=$2
    shift 2
    "$@" >"$work/$name.out" 2>>"$work/$name.err" &
    process[$name]=$!
    until curl -s -o "$work/answer" "http://127.0.0.1:$port/"; do
        kill -0 "${process[$name]}" 2>/dev/null || { cat "$work/$name.err" >&2; return 1; }
        sleep 0.05
    done
}

halt() { # NAME
    [ -n "${process[$1]:-}" ] || return 0
    kill "${process[$1]}" 2>/dev/null || true
    wait "${process[$1]}" || true
    unset "process[$1]"
}

systemctl() { # VERB UNIT…
    local verb=$1 unit name
    shift
    for unit in "$@"; do
        name=${unit#sluice-}
        name=${name%%[.@]*}
        case "$verb $name" in
            "reload "*) kill -HUP "${process[$name]}" ;;
            "stop "*) halt "$name" ;;
            "start endpoint" | "restart endpoint") halt endpoint && launch endpoint "$listen_port" sluice-endpoint serve ;;
            "start relay" | "restart relay") halt relay && launch relay "$relay_port" sluice-relay run ;;
            *) echo "no such thing here: systemctl $verb $unit" >&2 && return 1 ;;
        esac
    done
}

journalctl() { cat "$work/relay.err" "$work/endpoint.err"; }

stub() { launch stub "$stub_port" graphjson-stub --listen "127.0.0.1:$stub_port" --store "$work/arrived.ndjson" --key "$1"; }

# The sample's events under ids of their own each time; what the relay knows already it would not send.
imports=0
import() {
    imports=$((imports + 1))
    sed "s/\"demo-/\"demo-$imports-/" "$root/deploy/samples/envelopes.ndjson" |
        sluice-endpoint import --backfill 2>/dev/null || [ $? -eq 65 ]
}

# A fresh folder with everything that a document may take for granted.
prepare() {
    for name in "${!process[@]}"; do halt "$name"; done
    rm -rf "${work:?}"/*
    mkdir -p "$work/etc" "$work/here"
    cd "$work/here"
    stub_port=$(free_port) relay_port=$(free_port) endpoint_port=$(free_port) listen_port=$(free_port) trial_port=$(free_port)
    for variable in $(compgen -e | grep '^SLUICE_\|^GRAPHJSON_' || true); do unset "$variable"; done
    export SLUICE_SPOOL_PATH="$work/spool" SLUICE_GRAPHJSON_URL="http://127.0.0.1:$stub_port"
    export SLUICE_GRAPHJSON_API_KEY_FILE="$work/etc/graphjson-api-key" SLUICE_ENDPOINT_CONTRACT="$work/etc/contract.json5"
    export SLUICE_ENDPOINT_LISTEN="127.0.0.1:$listen_port" SLUICE_ENDPOINT_ADMIN_LISTEN="127.0.0.1:$endpoint_port"
    export SLUICE_RELAY_ADMIN_LISTEN="127.0.0.1:$relay_port" SLUICE_LOG_FORMAT=json
    cp "$root"/deploy/samples/contract.json5 "$work/etc/"
    echo first-key >"$work/etc/graphjson-api-key"
    # What the texts call by a name.
    # shellcheck disable=SC2034
    NEW_KEY=second-key SPOOL=$work/spool BACKUP=$work/backup
    sed 's/^  events: {/  events: {\n    chat_opened: { properties: { topic: { type: "string" } } },/' \
        "$work/etc/contract.json5" >new-contract.json5
    cp new-contract.json5 staging-contract.json5
    cp "$work/etc/graphjson-api-key" staging-key
    stub first-key
    import >/dev/null
    systemctl start sluice-endpoint sluice-relay
    settle
}

# Waits until the relay has delivered everything.
settle() {
    until [ "$(sluice-relay status --json | jq '.pending + .segments.claimed')" = 0 ]; do sleep 0.1; done
}

# The README begins with nothing but the programs and the repository.
prepare_readme() {
    prepare
    systemctl stop sluice-relay sluice-endpoint
    halt stub
    unset SLUICE_SPOOL_PATH SLUICE_GRAPHJSON_URL SLUICE_GRAPHJSON_API_KEY_FILE SLUICE_ENDPOINT_CONTRACT
    rm -rf "$work/spool" ./*
    ln -s "$root/deploy" deploy
    mkdir spool
}

# MARK: - What the texts take as having happened

test_pending_events() { systemctl stop sluice-relay && import >/dev/null; }

test_damage() {
    test_pending_events
    local segment
    segment=$(find "$SPOOL/ready" -name '*.lz4' | head -n 1)
    printf 'damage' | dd of="$segment" bs=1 seek=600 conv=notrunc status=none
}

test_lose_the_volume() {
    systemctl stop sluice-relay sluice-endpoint
    rm -rf "$SPOOL"
}

test_revoke_the_key() {
    halt stub
    stub second-key
    import >/dev/null
    until sluice-relay status | grep -q '^gate  *halted'; do sleep 0.1; done
}

test_allow_the_key() {
    halt stub
    stub first-key
    settle
}

test_hide_a_segment() {
    test_pending_events
    mkdir "$work/hidden"
    mv "$SPOOL"/ready/*.lz4 "$work/hidden"
    ! sluice-relay status | grep -q '(balanced)$'
}

test_put_it_back() {
    mv "$work"/hidden/*.lz4 "$SPOOL/ready"
    sluice-relay status | grep -q '(balanced)$'
    systemctl start sluice-relay
    settle
}

test_settle() { settle; }

test_deliver_everything() { systemctl stop sluice-relay && sluice-relay drain; }

# MARK: - Running

# The blocks of a document as a script: paths and ports are those of the folder.
script_of() {
    awk '
        /^<!-- test: / { name = $0; sub(/^<!-- test: /, "", name); sub(/ *-->.*/, "", name); gsub(/ /, "_", name); print "test_" name; next }
        /^```sh$/ { inside = 1; print "place=" NR; next }
        /^```/ { inside = 0; next }
        inside { print }
    ' "$1" | sed -e 's/^swift build.*/:/' -e 's/^deploy\/\(demo\|test\)\.sh/: &/' \
        -e '/^sluice-endpoint import/s/$/ || [ $? -eq 65 ]/' -e "s|127.0.0.1:9000|127.0.0.1:$stub_port|g"  -e "s|/etc/sluice/|$work/etc/|g" -e "s|127.0.0.1:8080|127.0.0.1:$listen_port|g" \
        -e "s|127.0.0.1:8081|127.0.0.1:$trial_port|g" \
        -e "s|127.0.0.1:9464|127.0.0.1:$endpoint_port|g" -e "s|127.0.0.1:9465|127.0.0.1:$relay_port|g"
}

failed=0
run_document() {
    local document=$1
    place=0
    if [ "$document" = README.md ]; then prepare_readme; else prepare; fi
    script_of "$root/$document" >"$work/script"
    set +e
    # The standard streams are the log's while a block runs; 9 is the person's.
    trap 'echo "ended with $? at: $BASH_COMMAND" >&9; exit 1' ERR
    running=$document
    set -E
    # shellcheck source=/dev/null
    source "$work/script" >"$work/script.log" 2>&1
    set +E
    trap - ERR
    running=
    set -e
    [ -z "${VERBOSE:-}" ] || cat "$work/script.log"
    # shellcheck disable=SC2046  # what a block left in the background
    kill $(jobs -p) 2>/dev/null || true
    wait
    process=()
    sluice-relay status | grep -q '(balanced)$' || { echo "$document: the books do not balance" >&2; exit 1; }
    cd "$root"
    echo "$document: $(grep -c '^place=' "$work/script") blocks ran"
}

# MARK: - Names

anchors() { sed -n 's/^#\{1,6\} //p' "$1" | tr '[:upper:]' '[:lower:]' | sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'; }

check_links() {
    local document target file anchor
    for document in README.md CONTRIBUTING.md CHANGELOG.md spool/README.md deploy/*.md; do
        while read -r target; do
            case $target in http*) continue ;; esac
            file=${target%%#*} anchor=
            [[ $target != *"#"* ]] || anchor=${target#*#}
            if [ -n "$file" ]; then file=$(dirname "$document")/$file; else file=$document; fi
            if [ ! -e "$file" ]; then
                echo "$document: there is no $target" >&2
                failed=1
            elif [ -n "$anchor" ] && ! anchors "$file" | grep -qx -- "$anchor"; then
                echo "$document: nothing is called $target" >&2
                failed=1
            fi
        done < <(grep -o '](\([^) ]*\))' "$document" | sed 's/^](//; s/)$//')
    done
}

check_alerts() {
    local alert
    while read -r alert; do
        grep -qx "### $alert" deploy/OPERATIONS.md || { echo "deploy/OPERATIONS.md: no section for the alert $alert" >&2; failed=1; }
    done < <(sed -n 's/^ *- alert: *//p' deploy/prometheus/alerts.yml)
    while read -r alert; do
        grep -q "alert: *$alert\$" deploy/prometheus/alerts.yml || { echo "deploy/OPERATIONS.md: $alert is no alert" >&2; failed=1; }
    done < <(sed -n 's/^### \(Sluice[A-Za-z]*\)$/\1/p' deploy/OPERATIONS.md)
}

# Suites and test names that stand in documents are in the tree.
check_tests() {
    local name
    while read -r name; do
        [ -d "Tests/$name" ] || grep -rqw "struct $name" Tests || { echo "documents: there is no suite $name" >&2; failed=1; }
    done < <(grep -oh '[A-Z][A-Za-z0-9]*Tests' deploy/*.md README.md CONTRIBUTING.md | sort -u)
}

documents=("$@")
[ $# -gt 0 ] || documents=(README.md deploy/OPERATIONS.md deploy/LAUNCH.md)
for document in "${documents[@]}"; do run_document "$document"; done
check_links
[ ! -e deploy/prometheus/alerts.yml ] || check_alerts
check_tests
exit "$failed"
