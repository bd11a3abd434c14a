#!/usr/bin/env bash
# Feeds the fuzz targets of Tests/SluiceFuzzing with inputs that libFuzzer makes up, under Address Sanitizer.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

usage() {
    cat <<'TEXT'
usage: deploy/fuzz.sh [--minutes N | --seconds N] [--jobs N] [--keep] [TARGET…]
       deploy/fuzz.sh --check

Builds the targets with libFuzzer and Address Sanitizer and feeds each of them, or those that are named, for a while
(a minute). It begins with the inputs of Tests/SluiceFuzzingTests/Corpus and goes on with what earlier runs found, which
stays in .build/fuzzer-corpus. A target ends at its first fault: the input is in .build/fuzzer-faults, the report in
.build/fuzzer-logs. The exit code is 0 without a fault, else 1.

  --minutes N   how long each target runs
  --seconds N   the same in seconds
  --jobs N      targets at a time; default: a target for each core
  --check       builds nothing; the exit code is 0 when this machine's toolchain can build the targets, else 1
  --keep        afterwards adds to the Corpus what covers more than its inputs do, small inputs only

An input that is a fault:   swift run sluice-fuzz TARGET FILE
To keep it for good:        put it into Corpus/TARGET under a name that says what it broke; each run of the tests
                            checks every file there.
TEXT
}

# Whether a program with libFuzzer and Address Sanitizer can be linked.
check() {
    local folder code
    folder=$(mktemp -d) || return
    echo '@_cdecl("LLVMFuzzerTestOneInput") public func test(_: UnsafePointer<UInt8>, _: Int) -> CInt { 0 }' >"$folder/probe.swift"
    swiftc -parse-as-library -sanitize=fuzzer,address "$folder/probe.swift" -o "$folder/probe" >/dev/null 2>&1
    code=$?
    rm -rf "$folder"
    return $code
}

seconds=60
jobs=$(nproc)
keep=
targets=()
while [ $# -gt 0 ]; do
    case $1 in
    --minutes) seconds=$((${2:?--minutes takes a number} * 60)) && shift ;;
    --seconds) seconds=${2:?--seconds takes a number} && shift ;;
    --jobs) jobs=${2:?--jobs takes a number} && shift ;;
    --keep) keep=1 ;;
    --check) check && exit || exit 1 ;;
    -h | --help) usage && exit ;;
    -*) usage >&2 && exit 64 ;;
    *) targets+=("$1") ;;
    esac
    shift
done

tests=Tests/SluiceFuzzingTests
known=$(ls $tests/Corpus)
[ ${#targets[@]} -gt 0 ] || mapfile -t targets <<<"$known"
for target in "${targets[@]}"; do
    [ -d "$tests/Corpus/$target" ] || { echo "fuzz.sh: $target is no target; there are: ${known//$'\n'/ }" >&2 && exit 64; }
done

echo "building the fuzz targets"
# Of several --sanitize only one reaches the Swift compiler, and nobody says which; clang takes all.
swift build -c release --product sluice-fuzz --sanitize fuzzer --scratch-path .build/fuzzer \
    -Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=address -Xswiftc -DFUZZER >.build/fuzzer.log 2>&1 || { grep -E 'error' .build/fuzzer.log >&2 && exit 1; }
program=.build/fuzzer/release/sluice-fuzz

# Files of spools come and go by the thousand; in memory they wear out no disk.
shm=/dev/shm
[ -w $shm ] || shm=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$shm/sluice-fuzz-XXXXXX") && export TMPDIR
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$TMPDIR"' EXIT
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=0 SWIFT_BACKTRACE=enable=no
mkdir -p .build/fuzzer-faults .build/fuzzer-logs

# Time and memory that one input may take: many times what the slowest known one takes.
limits=(-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256)

feed() {
    local target=$1 corpus=.build/fuzzer-corpus/$1 options=()
    mkdir -p "$corpus"
    [ -f "$tests/Dictionaries/$target" ] && options+=(-dict="$tests/Dictionaries/$target")
    # A short run is a step of the tests: it makes the same inputs each time. Long ones look for new ones.
    [ "$seconds" -ge 30 ] || options+=(-seed=1)
    SLUICE_FUZZ_TARGET=$target "$program" -max_total_time="$seconds" "${limits[@]}" "${options[@]}" -print_final_stats=1 \
        -artifact_prefix=".build/fuzzer-faults/$target-" "$corpus" "$tests/Corpus/$target" \
        >".build/fuzzer-logs/$target" 2>&1
}

# Adds small inputs that cover what the Corpus does not, until the folder is large enough.
keep() {
    local target=$1 folder=$tests/Corpus/$1 merged size
    merged=$(mktemp -d "$TMPDIR/merged-XXXXXX")
    cp "$folder"/* "$merged"
    SLUICE_FUZZ_TARGET=$target "$program" "${limits[@]}" -merge=1 -max_len=512 "$merged" ".build/fuzzer-corpus/$target" \
        >".build/fuzzer-logs/$target-merge" 2>&1
    # shellcheck disable=SC2045 # libFuzzer names its files by their hashes
    for file in $(ls -Sr "$merged"); do
        size=$(du -sb "$folder" | cut -f1)
        [ -f "$folder/$file" ] || [ "$size" -gt 40000 ] || cp "$merged/$file" "$folder"
    done
}

for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    feed "$target" &
done
wait

failed=0
printf '%-14s %12s %8s %9s %9s  %s\n' target executions per-s branches inputs end
for target in "${targets[@]}"; do
    log=.build/fuzzer-logs/$target
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    covered=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)
    end=$(grep -E '^SUMMARY|Fatal error|ERROR: libFuzzer' "$log" | head -n 1 | sed 's/.*Fatal error: //' | cut -c 1-100)
    [ -z "$end" ] || failed=1
    [ -n "$executions" ] || { failed=1 && end=${end:-did not begin: $log}; }
    printf '%-14s %12s %8s %9s %9s  %s\n' "$target" "${executions:--}" "${rate:--}" "${covered#cov: }" \
        "$(find ".build/fuzzer-corpus/$target" -type f | wc -l)" "${end:-ok}"
    [ -z "$keep" ] || [ $failed = 1 ] || keep "$target"
done
exit $failed
