#!/usr/bin/env bash
# Measures the release programs on this machine and writes deploy/BENCHMARKS.md, or checks it.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
usage: deploy/bench.sh [--check] [--quick] [--programs FOLDER] [--output FOLDER]

Builds the release programs, runs sluice-bench micro, endpoint, relay, path, latency and recovery, about a quarter of an
hour, and writes BENCHMARKS.md, with what every target came to, and benchmarks.ndjson, with every figure of every run.

    --check            run only what has a floor, write nothing, and fail when a ratio to its floor has dropped by more
                       than a third against benchmarks.ndjson
    --quick            so few events that it takes seconds and means nothing, to see that everything runs
    --programs FOLDER  measure the programs in FOLDER instead of building them
    --output FOLDER    where the two files are, default deploy

Nothing else should run on the machine meanwhile. Spools go to a folder below the current one, which is removed.
Exit codes: 0 done; 65 a ratio dropped, or something was lost; 70 a program did not do what it should.
TEXT
}

check=false
quick=false
programs=
output=deploy
while [ $# -gt 0 ]; do
    case $1 in
        --check) check=true ;;
        --quick) quick=true ;;
        --programs) programs=${2:?--programs needs a folder} && shift ;;
        --output) output=${2:?--output needs a folder} && shift ;;
        --help | -h) usage && exit 0 ;;
        *) usage >&2 && exit 64 ;;
    esac
    shift
done

if [ -z "$programs" ]; then
    if ! command -v swift >/dev/null; then
        echo "bench.sh: swift 6.3 or later must be installed: https://www.swift.org/install/linux/" >&2
        exit 69
    fi
    deploy/dependencies.sh
    for product in sluice-endpoint sluice-relay graphjson-stub sluice-bench; do
        swift build -c release --product "$product" >/dev/null
    done
    programs=$(swift build -c release --show-bin-path)
fi

measured=$(mktemp)
trap 'rm -f "$measured"' EXIT

# measure BENCHMARK EVENTS RUNS OPTION…
measure() {
    local name=$1 events=$2 runs=$3
    shift 3
    if "$quick"; then
        events=2000
        runs=1
    fi
    echo "bench.sh: sluice-bench $name --events $events --repeat $runs $*" >&2
    "$programs/sluice-bench" "$name" --events "$events" --repeat "$runs" "$@" --json >>"$measured"
}

measure endpoint 2000000 5
measure endpoint 300000 5 --batch 1
measure relay 2000000 5
measure path 2000000 5
if "$check"; then
    "$programs/sluice-bench" check "$output/benchmarks.ndjson" "$measured"
    exit
fi
measure micro 1000000 5
measure relay 10000000 3 --second 10000
measure latency 100000 3
measure latency 500000 3 --in-flight 128
measure latency 80000 3 --rate 4000
measure latency 80000 3 --rate 4000 --slow-rate 0.01
measure latency 80000 3 --slow-rate 0.01
measure recovery 1000000 3

remarks=$(sed -n '/^## Remarks$/,$p' "$output/BENCHMARKS.md" 2>/dev/null || true)
{
    "$programs/sluice-bench" report "$measured"
    printf '\n%s\n' "${remarks:-## Remarks}"
} >"$output/BENCHMARKS.md.new"
mv "$output/BENCHMARKS.md.new" "$output/BENCHMARKS.md"
cp "$measured" "$output/benchmarks.ndjson"
chmod 644 "$output/benchmarks.ndjson"
