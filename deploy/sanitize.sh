#!/usr/bin/env bash
# Builds the tests with a sanitizer, in a folder of their own, and runs them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

usage() {
    cat <<'TEXT'
usage: deploy/sanitize.sh thread|address [FILTER]

  thread    Thread Sanitizer over the suites whose subjects share memory between threads
  address   Address Sanitizer over everything, and Undefined Behaviour Sanitizer over C and C++; Swift has none, for it
            traps by itself

FILTER is an expression for the tests to run, as of swift test --filter, in the place of those. A finding ends the test or
the program in which it is met. The builds stay in .build/thread-sanitizer and .build/address-sanitizer.
TEXT
}

case ${1:-} in
thread)
    options=(--sanitize thread)
    filter='SluiceSystemTests|SluiceTelemetryTests|SluiceCommandsTests|SluiceSpoolTests|SluiceHTTPTests|SluiceServerTests|SluiceEndpointTests|SluiceRelayTests|SluiceClientTests'
    ;;
address)
    # The Swift compiler refuses Undefined Behaviour Sanitizer here; its linker driver takes it.
    options=(--sanitize address -Xcc -fsanitize=undefined -Xcc -fno-sanitize-recover=undefined
        -Xswiftc -Xclang-linker -Xswiftc -fsanitize=undefined)
    filter=.
    # What a sanitized program takes more is no fault of it, and under faketime it does not even start.
    options+=(--skip 'within the memory' --skip 'preloaded library' --skip 'six days later')
    # What lives as long as the process is no leak, and programs that are traced cannot be searched for any; tests preload
    # libraries in front of the sanitizer's.
    export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
    ;;
-h | --help) usage && exit ;;
*) usage >&2 && exit 64 ;;
esac
exec swift test --disable-xctest "${options[@]}" --scratch-path ".build/$1-sanitizer" --no-parallel --filter "${2:-$filter}"
