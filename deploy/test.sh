#!/usr/bin/env bash
# Builds and tests everything: the formatter's rules, the whole suite, a Thread Sanitizer pass over its concurrent parts, and
# some seconds of made-up inputs for each reader.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

failed=()
step() {
    local name=$1
    shift
    echo "== $name"
    "$@" || failed+=("$name")
}

deploy/dependencies.sh || exit
if ! command -v swift >/dev/null; then
    echo "test.sh: swift 6.3 or later must be installed: https://www.swift.org/install/linux/" >&2
    exit 69
fi
for tool in lz4 strace openssl nghttpd chattr faketime; do
    command -v "$tool" >/dev/null || echo "skipping the tests that use $tool; deploy/dependencies.sh --tools installs it"
done

step "shell syntax" bash -n deploy/*.sh .ci/run
step "format" swift format lint --strict --recursive --parallel Package.swift Sources Tests
step "thread sanitizer" deploy/sanitize.sh thread
step "build" swift build --build-tests --explicit-target-dependency-import-check error
if [[ " ${failed[*]-} " != *" build "* ]]; then
    step "tests" swift test --disable-xctest --skip-build --no-parallel
    step "operations" env PROGRAMS="$(swift build --show-bin-path)" deploy/test-operations.sh
    if command -v jq >/dev/null && command -v lz4 >/dev/null; then
        step "documents" deploy/test-documents.sh
    else
        echo "skipping the documents' commands: jq or lz4 is missing; deploy/dependencies.sh --tools installs them"
    fi
fi
if deploy/fuzz.sh --check; then
    step "fuzz targets" deploy/fuzz.sh --seconds 2
else
    echo "skipping the fuzz targets: this toolchain has no libFuzzer or no Address Sanitizer"
fi
step "client library for Apple's systems" deploy/test-client-apple.sh
step "client library alone" deploy/test-client-package.sh
if command -v chromium-headless-shell >/dev/null; then
    step "status page in a browser" deploy/test-status-page.sh
else
    echo "skipping the status page's browser test: chromium-headless-shell is missing; deploy/dependencies.sh --tools installs it"
fi

if [ ${#failed[@]} -gt 0 ]; then
    (IFS=, && echo "test.sh: failed: ${failed[*]}" >&2)
    exit 1
fi
