#!/bin/sh
# Builds the program once and wraps it for those who compile nothing: a wheel, an npm package, an archive with an
# installer, and a Debian package, with the SHA-256 of each in SHA256SUMS.
# usage: scripts/release.sh [--out FOLDER] [wheel|npm|archive|deb]...
# Without names, all are made; without --out, in build/release. The same source gives the same bytes:
# times are the last commit's, or $SOURCE_DATE_EPOCH.
set -eu
case "${1:-}" in -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;; esac
out=
if [ "${1:-}" = --out ]; then
  [ -n "${2:-}" ] || { echo "release.sh: --out: expected a folder; see --help" >&2; exit 2; }
  out=$2
  shift 2
fi
for name in "$@"; do
  case $name in
    wheel | npm | archive | deb) ;;
    *) echo "release.sh: expected wheel, npm, archive or deb, got '$name'; see --help" >&2; exit 2 ;;
  esac
done
[ $# -gt 0 ] || set -- wheel npm archive deb
mkdir -p "${out:=$(dirname "$0")/../build/release}"
out=$(cd "$out" && pwd)
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
scripts/setup.sh
{
  cmake -S . -B "$stage/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGGREGATE_POWER_STATIC=ON \
    -DAGGREGATE_POWER_TESTS=OFF &&
    cmake --build "$stage/build" --target aggregate-power manual &&
    cmake --install "$stage/build" --prefix "$stage/usr" --strip
} >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
for name in "$@"; do
  case $name in
    deb)
      (cd "$stage/build" && cpack -G DEB -B "$stage/deb") >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
      cp "$stage"/deb/*.deb "$out"
      ;;
    *) python3 scripts/release/pack.py "$name" "$stage/usr" "$out" ;;
  esac
done
cd "$out"
export LC_ALL=C
find . -maxdepth 1 -type f \( -name '*.whl' -o -name '*.tgz' -o -name '*.tar.gz' -o -name '*.deb' -o -name install.sh \) \
  -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS
cat SHA256SUMS
