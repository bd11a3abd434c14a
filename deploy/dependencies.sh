#!/usr/bin/env bash
# Installs the Debian packages that building needs, only those that are missing; --tools adds what more tests use.
set -euo pipefail

packages=(pkg-config curl libcurl4-openssl-dev liblz4-dev libmicrohttpd-dev libsimdjson-dev libxxhash-dev libjwt-dev
    zlib1g-dev libsqlite3-dev)
tools=(lz4 jq strace openssl nghttp2-server e2fsprogs faketime python3-venv chromium-headless-shell fonts-dejavu-core
    binutils dpkg-dev lintian man-db mmdebstrap nginx-light prometheus shellcheck systemd yamllint)

case "${1:-}" in
    "") ;;
    --tools) packages+=("${tools[@]}") ;;
    --help | -h)
        echo "usage: deploy/dependencies.sh [--tools]"
        exit 0
        ;;
    *)
        echo "usage: deploy/dependencies.sh [--tools]" >&2
        exit 64
        ;;
esac

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "dependencies.sh: these are missing, and there is no apt-get to install them: ${missing[*]}" >&2
    exit 69
fi
root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "dependencies.sh: run as root, or with sudo: apt-get install ${missing[*]}" >&2
        exit 69
    fi
    root=(sudo)
fi
echo "installing ${missing[*]}"
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
