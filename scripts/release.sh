#!/bin/sh
# Builds the program once and wraps it for those who compile nothing: a wheel, an npm package, an archive with an
# installer, a Debian package and the image of a container, with the objects to link it again, and SHA256SUMS of all.
# usage: scripts/release.sh [--out FOLDER] [wheel|npm|archive|deb|image|objects|sources]...
#        scripts/release.sh --check [--out FOLDER]       builds twice: elsewhere, later, as another user; compares
#        scripts/release.sh --sign KEY [--out FOLDER]    signs SHA256SUMS with an SSH key, for install.sh --key
# Without names, all but sources are made; without --out, in build/release. The same source gives the same bytes:
# times are the last commit's, or $SOURCE_DATE_EPOCH. `sources` fetches from Debian the sources of the libraries
# under the LGPL, which who publishes the program must offer with it.
set -eu
umask 022  # a Debian package has the modes of the builder's folders
case "${1:-}" in -h | --help) sed -n '2,9s/^# //p' "$0"; exit 0 ;; esac
wrong() { echo "release.sh: $*; see --help" >&2; exit 2; }
action=build
key=
out=
while :; do
  case "${1:-}" in
    --check) action=check; shift ;;
    --sign) [ -f "${2:-}" ] || wrong "--sign: expected the file of an SSH key"
      action=sign; key=$2; shift 2 ;;
    --out) [ -n "${2:-}" ] || wrong "--out: expected a folder"
      out=$2; shift 2 ;;
    *) break ;;
  esac
done
for name in "$@"; do
  case $name in
    wheel | npm | archive | deb | image | objects | sources) ;;
    *) wrong "expected wheel, npm, archive, deb, image, objects or sources, got '$name'" ;;
  esac
done
[ $# -eq 0 ] || [ $action = build ] || wrong "--$action is for all: name none"
[ $# -gt 0 ] || set -- wheel npm archive deb image objects
mkdir -p "${out:=$(dirname "$0")/../build/release}"
out=$(cd "$out" && pwd)

if [ $action = sign ]; then
  [ -f "$out/SHA256SUMS" ] || wrong "$out/SHA256SUMS: no such file: build first"
  rm -f "$out/SHA256SUMS.sig"
  exec ssh-keygen -q -Y sign -n aggregate-power -f "$key" "$out/SHA256SUMS"
fi
cd "$(dirname "$0")/.."
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=$(stat -c %Y CMakeLists.txt)
fi
export SOURCE_DATE_EPOCH
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
logged() { "$@" >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }; }

# A second build, of a copy: by another user, if this one is root, with another umask, home, zone and language.
if [ $action = check ]; then
  export CCACHE_DISABLE=1
  scripts/release.sh --out "$out"
  other=$stage/else/where
  mkdir -p "$other"
  chmod 755 "$stage"
  cp -r CMakeLists.txt README.md LICENSE include src scripts "$other"
  as_other=
  if [ "$(id -u)" -eq 0 ]; then
    chown -R nobody "$stage"
    as_other="setpriv --reuid=nobody --regid=nogroup --clear-groups"
  fi
  # shellcheck disable=SC2086 # words
  (umask 027 && cd / && HOME=$other TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 LANG=de_DE \
    $as_other "$other/scripts/release.sh" --out "$other/out" >/dev/null)
  if ! diff "$out/SHA256SUMS" "$other/out/SHA256SUMS"; then
    rm -rf "$out/other"
    cp -r "$other/out" "$out/other"
    echo "release.sh: two builds differ: compare with what is in $out/other" >&2
    exit 1
  fi
  echo "two builds gave the same bytes"
  exit 0
fi

scripts/setup.sh
{
  cmake -S . -B "$stage/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGGREGATE_POWER_STATIC=ON \
    -DAGGREGATE_POWER_TESTS=OFF &&
    cmake --build "$stage/build" --target aggregate-power manual &&
    python3 scripts/release/bill.py "$stage/build" "$stage/build/bill" &&
    cmake --install "$stage/build" --prefix "$stage/usr" --strip
} >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
for name in "$@"; do
  case $name in
    deb)
      (cd "$stage/build" && logged cpack -G DEB -B "$stage/deb")
      cp "$stage"/deb/*.deb "$out"
      ;;
    objects) python3 scripts/release/pack.py objects "$stage/usr" "$out" "$stage/build" ;;
    sources) scripts/release/sources.sh "$stage/usr/share/doc/aggregate-power/aggregate-power.spdx.json" "$out" ;;
    *) python3 scripts/release/pack.py "$name" "$stage/usr" "$out" ;;
  esac
done
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
cd "$out"
export LC_ALL=C
find . -maxdepth 1 -type f \( -name "aggregate[-_]power[-_]*${version}[-_.]*" -o -name install.sh \) -printf '%f\n' |
  sort | xargs sha256sum >SHA256SUMS
rm -f SHA256SUMS.sig
cat SHA256SUMS
