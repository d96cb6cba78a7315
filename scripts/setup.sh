#!/bin/sh
# Installs what building and testing need and this machine lacks; nothing else. Debian 12.
# usage: scripts/setup.sh
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac

packages="g++ cmake ninja-build pkg-config python3 tzdata
  nlohmann-json3-dev libcli11-dev libfmt-dev libabsl-dev libre2-dev libgtest-dev
  libarchive-dev nettle-dev liblzma-dev libzstd-dev libbz2-dev zlib1g-dev libxxhash-dev"
# Tools that only .ci/run and scripts/check.sh use.
[ "${1:-}" = --checks ] && packages="$packages clang clang-format clang-tidy libclang-rt-14-dev shellcheck"

missing=
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # the list is meant to be split
if ! { $as_root apt-get -qq update && $as_root apt-get -qq -y install --no-install-recommends $missing; } >"$log" 2>&1; then
  cat "$log" >&2
  echo "setup.sh: could not install:$missing" >&2
  exit 1
fi
