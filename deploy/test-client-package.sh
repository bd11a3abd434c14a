#!/usr/bin/env bash
# Builds and runs a new package that depends on SluiceClient alone, from a clone of what is committed here, where no header of
# the server's libraries can be seen: SQLite's is all that an app on Linux needs.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet . "$work/sluice"
# Xcode and older SwiftPM refuse packages whose targets have unsafe flags; the one that is installed may not.
if command -v jq >/dev/null; then
    unsafe='.targets[] | select(.name == "SluiceClient" or .name == "CSluiceSQLite") | .settings[] | .kind | has("unsafeFlags")'
    if swift package --package-path "$work/sluice" dump-package | jq -e "any($unsafe; .)" >/dev/null; then
        echo "test-client-package.sh: SluiceClient has unsafe flags: no other package may use it" >&2
        exit 1
    fi
else
    echo "skipping the search for unsafe flags: jq is missing; deploy/dependencies.sh --tools installs it"
fi

mkdir -p "$work/app/Sources/app"
cat >"$work/app/Package.swift" <<'MANIFEST'
// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "app",
    platforms: [.iOS(.v16), .macOS(.v13)],
    dependencies: [.package(path: "../sluice")],
    targets: [
        .executableTarget(name: "app", dependencies: [.product(name: "SluiceClient", package: "sluice")])
    ]
)
MANIFEST
cat >"$work/app/Sources/app/main.swift" <<'MAIN'
import Foundation
import SluiceClient

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("app-\(UUID().uuidString)")
let endpoint = URL(string: "http://127.0.0.1:9/api/mobile-events")!
var configuration = SluiceConfiguration(
    endpoint: endpoint, folder: folder, appVersion: "1.0", buildNumber: "1", platform: "ios")
configuration.delivery = .manual
let client = try SluiceClient(configuration)
try await client.setConsent([.analytics])
await client.track("screen_viewed", ["name": "home", "count": 1])
print("queued: \(await client.diagnostics().queuedEvents)")
try? FileManager.default.removeItem(at: folder)
MAIN

build=(swift build --package-path "$work/app")
headers=()
for header in lz4frame.h microhttpd.h jwt.h xxhash.h simdjson.h zlib.h curl/curl.h x86_64-linux-gnu/curl/curl.h; do
    [ -e "/usr/include/$header" ] && headers+=("/usr/include/$header")
done
if unshare --mount true 2>/dev/null; then
    # In a view of the system in which those headers are empty and cannot be taken for the real ones.
    # shellcheck disable=SC2016  # the words are the inner shell's
    script='for header in "${@:2:$1}"; do mount --bind /dev/null "$header"; done; shift "$(($1 + 1))"; exec "$@"'
    unshare --mount bash -c "$script" hide "${#headers[@]}" "${headers[@]}" "${build[@]}"
else
    echo "the server's headers stay visible: mounts of one's own are not permitted here"
    "${build[@]}"
fi

app=$("${build[@]}" --show-bin-path)/app
"$app" | grep -x "queued: 1"
for library in lz4 microhttpd jwt xxhash simdjson; do
    if ldd "$app" | grep -q "lib$library"; then
        echo "test-client-package.sh: an app that uses SluiceClient needs lib$library" >&2
        exit 1
    fi
done
echo "a package that depends on SluiceClient alone builds and runs"
