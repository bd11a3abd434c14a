#!/usr/bin/env bash
# Type-checks what the client library has for Apple's systems alone, against stand-ins for the frameworks, and shows that the
# check would notice a misspelt name. It says nothing about how those systems behave.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
features=()
while read -r feature; do
    features+=(-enable-upcoming-feature "$feature")
done < <(sed -n 's/.*enableUpcomingFeature("\(.*\)").*/\1/p' Package.swift)

swiftc -emit-module -parse-as-library -swift-version 6 -module-name BackgroundTasks "${features[@]}" \
    -o "$work/BackgroundTasks.swiftmodule" Tests/AppleStubs/BackgroundTasks.swift

# * `$1`: the folder of the client's sources.
check() {
    swiftc -typecheck -swift-version 6 -package-name sluice -module-name SluiceClient -warnings-as-errors "${features[@]}" \
        -I "$work" -I Sources/CSluiceSQLite "$1"/*.swift
}

check Sources/SluiceClient
mkdir "$work/misspelt"
cp Sources/SluiceClient/*.swift "$work/misspelt"
sed -i 's/earliestBeginDate/earliestBeginningDate/' "$work/misspelt/BackgroundDelivery.swift"
if check "$work/misspelt" 2>"$work/errors"; then
    echo "test-client-apple.sh: a misspelt property was not noticed: the code for Apple's systems was not checked" >&2
    exit 1
fi
grep -q "earliestBeginningDate" "$work/errors"
echo "the client's code for Apple's systems fits the stand-ins"
