#!/bin/sh
# Installs what building needs and this machine lacks; nothing else. Debian 12.
# usage: scripts/setup.sh [--tests | --checks]
# --tests adds what scripts/test.sh needs (the slow ones left out if QUICK=1), --checks also what scripts/check.sh
# needs. --checks has git run the hooks in scripts/ too: commit-msg checks the subject of a commit.
set -eu
usage() { sed -n '2,5s/^# //p' "$0"; }
case "$#${1:-}" in
  1-h | 1--help) usage; exit 0 ;;
  0 | 1--tests | 1--checks) ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
if [ "${1:-}" = --checks ] && git rev-parse --git-dir >/dev/null 2>&1; then
  git config --get core.hooksPath >/dev/null || git config core.hooksPath scripts ||
    echo "setup.sh: the hooks in scripts/ could not be installed" >&2
fi

packages="g++ cmake ninja-build pkg-config python3 tzdata
  nlohmann-json3-dev libcli11-dev libfmt-dev libabsl-dev libre2-dev libgtest-dev
  libarchive-dev nettle-dev liblzma-dev libzstd-dev libbz2-dev zlib1g-dev libxxhash-dev"
# What reads exports, other outputs and pages in tests.
[ -z "${1:-}" ] || packages="$packages python3-prometheus-client python3-jsonschema python3-yaml python3-pandas"
# A browser, what runs the image, and what fetches DuckDB: a fresh machine takes minutes for them.
if [ -n "${1:-}" ] && [ "${QUICK:-}" != 1 ]; then
  packages="$packages chromium chromium-driver podman runc"
  command -v npm >/dev/null || packages="$packages npm"
fi
# Tools that only .ci/run and scripts/check.sh use.
[ "${1:-}" = --checks ] && packages="$packages clang lld clang-format clang-tidy libclang-rt-14-dev shellcheck"

missing=
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing="$missing $package"
done
# Only promtool is needed of the package prometheus, and installing that would start a server.
promtool=build/tools/promtool
[ -z "${1:-}" ] || command -v promtool >/dev/null || [ -x "$promtool" ] || missing="$missing promtool"
[ -n "$missing" ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
unpacked=$(mktemp -d)
trap 'rm -rf "$log" "$unpacked"' EXIT
trap 'exit 130' HUP INT TERM
fail() {
  cat "$log" >&2
  echo "setup.sh: could not install:$missing" >&2
  exit 1
}
$as_root apt-get -qq update >"$log" 2>&1 || fail
case "$missing" in *" promtool"*)
  (cd "$unpacked" && apt-get -qq download prometheus && dpkg-deb -x prometheus_*.deb .) >"$log" 2>&1 || fail
  mkdir -p "${promtool%/*}"
  mv "$unpacked/usr/bin/promtool" "$promtool"
  missing=${missing% promtool}
esac
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086 # the list is meant to be split
$as_root apt-get -qq -y install --no-install-recommends $missing >"$log" 2>&1 || fail
