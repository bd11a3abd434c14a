#!/usr/bin/env bash
# Builds the Debian package, lets lintian judge it, and installs, uses, installs again and purges it in a fresh Debian: a folder
# that mmdebstrap makes, so this needs root. PACKAGE names a package that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in mmdebstrap unshare; do
    command -v "$tool" >/dev/null || { echo "test-package.sh: $tool is missing; deploy/dependencies.sh --tools installs it" >&2 && exit 69; }
done
[ "$(id -u)" -eq 0 ] || { echo "test-package.sh: a fresh Debian needs root" >&2 && exit 69; }

work=$(mktemp -d)
stub=
finish() {
    [ -z "$stub" ] || kill "$stub" 2>/dev/null || true
    wait
    rm -rf --one-file-system "$work"
}
trap finish EXIT

package=${PACKAGE:-$(deploy/package.sh "$work/package" | tail -n 1)}
[ -n "${PROGRAMS:-}" ] || swift build --product graphjson-stub >/dev/null
programs=${PROGRAMS:-$(swift build --show-bin-path)}
ls -lh "$package"

if command -v lintian >/dev/null; then
    echo "-- lintian"
    # It is no package of Debian's: there is no bug that asked for it.
    lintian --no-cfg --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$package" 2>"$work/lintian" ||
        { cat "$work/lintian" >&2 && exit 1; }
else
    echo "-- skipped: lintian"
fi

echo "-- a fresh Debian"
# Everything that the package asks for, and systemd for its checks; nothing else.
wanted=$(dpkg-deb -f "$package" Depends | sed -E 's/ \([^)]*\)//g; s/ //g')
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --quiet --variant=apt --include="$wanted,systemd" "$codename" "$work/root"
cp "$package" "$work/root/sluice.deb"
cp deploy/samples/contract.json5 deploy/samples/envelopes.ndjson "$work/root/root/"

# GraphJSON's stand-in stays outside: it is not in the package.
"$programs/graphjson-stub" --listen 127.0.0.1:0 --key package-key >"$work/stub.out" &
stub=$!
until grep -q '^listening on ' "$work/stub.out"; do sleep 0.05; done
sed -n 's|^listening on |http://|p' "$work/stub.out" >"$work/root/root/url"

cat >"$work/root/root/test.sh" <<'END'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
fail() { echo "test-package.sh: $*" >&2 && exit 1; }
state() { stat -c '%U:%G %a' "$1"; }
expect() { [ "$2" = "$3" ] || fail "$1: expected $2, found $3"; }
as() { local user=$1; shift; setpriv --reuid="$user" --regid=sluice --clear-groups --reset-env env PATH="$PATH" "$@"; }

installed() {
    expect /var/lib/sluice/spool "root:sluice 2770" "$(state /var/lib/sluice/spool)"
    expect /etc/sluice "root:sluice 750" "$(state /etc/sluice)"
    expect /etc/sluice/sluice.json5 "root:sluice 640" "$(state /etc/sluice/sluice.json5)"
    for user in sluice-endpoint sluice-relay; do
        expect "$user's groups" sluice "$(id -Gn "$user")"
        expect "$user's shell" /usr/sbin/nologin "$(getent passwd "$user" | cut -d: -f7)"
    done
}
echo "-- dpkg -i"
dpkg -i /sluice.deb
installed
# What sysusers.d and tmpfiles.d say is what is there already.
before=$(getent passwd; getent group)
systemd-sysusers sluice.conf
expect "users after systemd-sysusers" "$before" "$(getent passwd; getent group)"
systemd-tmpfiles --create sluice.conf
installed

echo "-- systemd-analyze verify, on the installed units"
# Inside this Debian no pages for man are kept, and no unit is known but the installed ones.
systemd-analyze verify --man=no /lib/systemd/system/sluice-{endpoint,relay,endpoint@shop,relay@shop,drain,drain@shop}.service \
    /lib/systemd/system/sluice-drain{,@shop}.timer

echo "-- two users, one spool"
install -o root -g sluice -m 0640 /root/contract.json5 /etc/sluice/contract.json5
printf package-key >/root/key
install -o sluice-relay -g root -m 0400 /root/key /etc/sluice/graphjson-api-key
as sluice-endpoint sh -c 'cat /etc/sluice/graphjson-api-key' 2>/dev/null && fail "the endpoint's user can read the key"
as sluice-endpoint sluice-endpoint check | grep -q '^in order' || fail "the sample configuration is not in order"
# Two lines of the sample are refused on purpose.
as sluice-endpoint sluice-endpoint import --backfill </root/envelopes.ndjson || [ $? -eq 65 ]
install -d -o sluice-relay -m 0500 /run/credentials
install -o sluice-relay -m 0400 /root/key /run/credentials/graphjson_api_key
as sluice-relay CREDENTIALS_DIRECTORY=/run/credentials SLUICE_GRAPHJSON_URL="$(cat /root/url)" sluice-relay drain
SLUICE_GRAPHJSON_URL="$(cat /root/url)" sluice-relay check | grep -F 'ok, from /etc/sluice/graphjson-api-key' || fail "by hand the key's file is not found"
as sluice-relay sluice-relay status | tail -n 1 | grep -F '(balanced)'
as sluice-endpoint sluice-relay status | grep -qF 'pending 0 (balanced)' || fail "the endpoint's user cannot read the relay's files"

echo "-- again, and the next version: what an administrator changed stays"
sed -i 's/production/staging/' /etc/sluice/sluice.json5
chmod 0600 /etc/sluice/sluice.json5
dpkg -i /sluice.deb
/var/lib/dpkg/info/sluice.postinst configure 0.0.9-1
/var/lib/dpkg/info/sluice.postinst configure 0.0.9-1
expect "the configuration's mode" "root:sluice 600" "$(state /etc/sluice/sluice.json5)"
grep -q staging /etc/sluice/sluice.json5 || fail "the configuration was written over"

echo "-- dpkg -r and -P: the spool and the key are left, and it is said"
dpkg -r sluice
[ -e /etc/sluice/sluice.json5 ] || fail "the configuration is gone with the programs"
[ ! -e /usr/bin/sluice-relay ] || fail "a program is left"
dpkg -P sluice | tee /root/said
grep -q '/var/lib/sluice is left' /root/said && grep -q '/etc/sluice is left' /root/said || fail "nothing is said of what is left"
[ -e /var/lib/sluice/spool/ledger ] && [ -e /etc/sluice/graphjson-api-key ] || fail "what is not the package's was thrown away"
[ ! -e /etc/sluice/sluice.json5 ] || fail "the configuration is left"

echo "-- nothing is left of an installation that was not used"
rm -r /var/lib/sluice /etc/sluice
dpkg -i /sluice.deb >/dev/null
installed
dpkg -P sluice
for path in /var/lib/sluice /etc/sluice /usr/share/doc/sluice; do [ ! -e "$path" ] || fail "$path is left"; done
END
# Mounts and processes of its own, which end with it; the network is this machine's, for the stub.
unshare --mount --pid --fork --kill-child bash -c "
    mount -t proc proc '$work/root/proc' && mount --rbind /dev '$work/root/dev' && exec chroot '$work/root' bash /root/test.sh"
echo "test-package.sh: in order"
