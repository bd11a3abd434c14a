#!/usr/bin/env bash
# Breaks the real programs at random and proves that nothing acknowledged is lost; all options go to sluice-bench soak.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TEXT'
usage: deploy/soak.sh [--minutes N] [--rate EVENTS_PER_S] [--seed N] [--faults LIST] [OPTION…]

Builds the release programs and runs sluice-bench soak, which tells of its options with
    swift run -c release sluice-bench soak --help

    deploy/soak.sh --minutes 10                  # all faults, one every three seconds
    deploy/soak.sh --minutes 60 --rate 100000    # limits under load: descriptors, threads, memory, disk
    deploy/soak.sh --faults kill,disk --seed 7   # some of them; a seed repeats the choice
    deploy/soak.sh --faults none                 # none

As root the spool lies on a filesystem in memory, which is filled now and then; else on the disk here, which is not.
deploy/dependencies.sh --tools installs faketime, by which clocks are stepped. Files go to a folder below the current one,
which is kept when something was found. Exit code 0: nothing is lost, nothing is altered, the ledger is balanced.
TEXT
    exit 0
fi
if ! command -v swift >/dev/null; then
    echo "soak.sh: swift 6.3 or later must be installed: https://www.swift.org/install/linux/" >&2
    exit 69
fi
deploy/dependencies.sh
for product in sluice-endpoint sluice-relay graphjson-stub sluice-bench; do
    swift build -c release --product "$product" >/dev/null
done
exec "$(swift build -c release --show-bin-path)/sluice-bench" soak "$@"
