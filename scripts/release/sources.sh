#!/bin/sh
# Fetches from Debian the sources, in the linked versions, of the libraries in a program that are under the LGPL.
# usage: scripts/release/sources.sh BILL OUT     (BILL: aggregate-power.spdx.json)
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
[ $# -eq 2 ] || { echo "sources.sh: expected a bill of materials and a folder; see --help" >&2; exit 2; }
out=$(cd "$2" && pwd)
version=$(sed -n 's/^ "name": "aggregate-power-\(.*\)",/\1/p' "$1")
wanted=$(python3 - "$1" <<'WANTED'
import json, sys
packages = json.load(open(sys.argv[1]))["packages"]
print(*sorted({p["sourceInfo"].split()[-1] for p in packages if p["licenseDeclared"].startswith("LGPL")}))
WANTED
)
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$apt/state/lists/partial" "$apt/parts" "$apt/sources"
release=$(sed -n "s/^VERSION_CODENAME=//p" /etc/os-release)
printf 'deb-src http://deb.debian.org/debian%s main\n' " $release" " $release-updates" "-security $release-security" \
  >"$apt/parts/debian.list"
# apt gets a state of its own, so the machine's is not changed.
set -- -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/parts" \
  -o Dir::State="$apt/state" -o Dir::Cache="$apt"
apt-get "$@" update
# shellcheck disable=SC2086 # words
(cd "$apt/sources" && apt-get "$@" source --download-only $wanted)
tar -C "$apt/sources" --sort=name --owner=0 --group=0 --numeric-owner --mode=a=rX,u+w --mtime="@${SOURCE_DATE_EPOCH:-0}" \
  -cf "$out/aggregate-power-$version-lgpl-sources.tar" .
