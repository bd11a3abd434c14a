#!/usr/bin/env bash
# Makes one Debian package of this system's kind: both programs, units, samples, pages for man. It needs no Swift where it is
# installed. usage: deploy/package.sh [FOLDER]; the package is written there, default .build/package
# PROGRAMS names a folder with programs that are built already; DEBFULLNAME and DEBEMAIL say who maintains the package.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
    --help | -h)
        echo "usage: deploy/package.sh [FOLDER]"
        exit 0
        ;;
    -*)
        echo "usage: deploy/package.sh [FOLDER]" >&2
        exit 64
        ;;
esac
target=$(realpath -m "${1:-.build/package}")
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v "$tool" >/dev/null || { echo "package.sh: $tool is missing: apt-get install dpkg-dev binutils" >&2 && exit 69; }
done

if [ -z "${PROGRAMS:-}" ]; then
    deploy/dependencies.sh
    echo "building for release …"
    # The Swift libraries go into the programs; position-independent, with relocations read-only from the start.
    build=(swift build -c release --static-swift-stdlib --scratch-path .build/package/build -Xlinker -z -Xlinker relro -Xlinker -z
        -Xlinker now)
    for product in sluice-endpoint sluice-relay; do "${build[@]}" --product "$product" >/dev/null; done
    PROGRAMS=$("${build[@]}" --show-bin-path)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/debian/sluice
umask 022

# Programs, and pages made from their help.
install -d "$root/usr/bin" "$root/usr/share/man/man1" "$root/usr/share/man/man5"
for program in sluice-endpoint sluice-relay; do
    install -m 0755 "$PROGRAMS/$program" "$root/usr/bin/$program"
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/$program"
    "$root/usr/bin/$program" help --manual | gzip -9n >"$root/usr/share/man/man1/$program.1.gz"
done
"$root/usr/bin/sluice-relay" help --configuration --manual | gzip -9n >"$root/usr/share/man/man5/sluice.json5.5.gz"
version=$("$root/usr/bin/sluice-relay" --version | cut -d' ' -f2)

# Units, users, folders.
install -d "$root/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/usr/lib/tmpfiles.d"
install -m 0644 deploy/systemd/*.service deploy/systemd/*.timer "$root/lib/systemd/system"
install -m 0644 deploy/systemd/sluice.sysusers "$root/usr/lib/sysusers.d/sluice.conf"
install -m 0644 deploy/systemd/sluice.tmpfiles "$root/usr/lib/tmpfiles.d/sluice.conf"

# The configuration is the administrator's from now on.
install -d "$root/etc/sluice"
install -m 0644 deploy/samples/sluice.json5 "$root/etc/sluice/sluice.json5"

# Documents and samples.
documents=$root/usr/share/doc/sluice
install -d "$documents/examples"
install -m 0644 README.md deploy/OPERATIONS.md deploy/CONFIGURATION.md "$documents"
install -m 0644 spool/README.md "$documents/SPOOL.md"
install -m 0644 deploy/samples/contract.json5 deploy/nginx.conf "$documents/examples"
install -m 0644 deploy/cron/sluice "$documents/examples/crontab"
cp -r deploy/prometheus deploy/grafana deploy/kubernetes "$documents/examples"
install -D -m 0644 -t "$documents/examples/queries" deploy/queries/*.sql
find "$documents" -type f -exec chmod 0644 {} +
gzip -9n "$documents"/*.md
gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
cp deploy/debian/copyright "$documents/copyright"

# What dpkg is told.
date=$(git log -1 --format=%cd --date=rfc2822 2>/dev/null || date -R)
SOURCE_DATE_EPOCH=$(date -d "$date" +%s)
export SOURCE_DATE_EPOCH
release="$version-1"
maintainer="${DEBFULLNAME:-Sluice maintainers} <${DEBEMAIL:-maintainers@sluice.invalid}>"
printf 'sluice (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$release" "$maintainer" "$date" |
    gzip -9n >"$documents/changelog.Debian.gz"
install -d "$root/DEBIAN"
printf 'Source: sluice\n\nPackage: sluice\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O "$root"/usr/bin/* | sed 's/^shlibs:Depends=//')
{
    sed -e "s/@MAINTAINER@/$maintainer/" -e "s/@VERSION@/$release/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" -e "s/@LIBRARIES@/$libraries/" deploy/debian/control
    echo "Installed-Size: $(du -k -s --exclude=DEBIAN --apparent-size "$root" | cut -f1)"
} | awk '/^Description:/ { on = 1 } !on || /^Installed-Size/ { print; next } { text = text $0 "\n" } END { printf "%s", text }' >"$root/DEBIAN/control"
echo /etc/sluice/sluice.json5 >"$root/DEBIAN/conffiles"
install -m 0755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN"
(cd "$root" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -newermt "$date" -exec touch --no-dereference --date "$date" {} +

install -d "$target"
package="$target/sluice_${release}_$(dpkg --print-architecture).deb"
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
