#!/bin/sh
# Installs aggregate-power from an archive, if its SHA-256 is the one in the SHA256SUMS that lies with it.
# usage: install.sh [--prefix FOLDER] [ARCHIVE]
# Without ARCHIVE, the only aggregate-power-*.tar.gz in the folder of install.sh; without --prefix, ~/.local.
set -eu
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
fail() { echo "install.sh: $*" >&2; exit "$status"; }
status=2
prefix=${HOME:+$HOME/.local}
if [ "${1:-}" = --prefix ]; then
  [ -n "${2:-}" ] || fail "--prefix: expected a folder; see --help"
  prefix=$2
  shift 2
fi
if [ $# -eq 0 ]; then
  set -- "$(dirname "$0")"/aggregate-power-*.tar.gz
  [ $# -eq 1 ] || fail "several archives lie here: name one of them"
fi
[ $# -eq 1 ] || fail "expected one archive; see --help"
[ -n "$prefix" ] || fail "HOME is not set: give --prefix FOLDER"
archive=$1
[ -f "$archive" ] || fail "$archive: no such file"
name=$(basename "$archive")
sums=$(dirname "$archive")/SHA256SUMS
[ -f "$sums" ] || fail "$sums: no such file; get it from where the archive is from"
expected=$(awk -v name="$name" '$2 == name { print $1 }' "$sums")
[ -n "$expected" ] || fail "$sums: it does not name $name"
status=1
found=$(sha256sum "$archive" | cut -d ' ' -f 1)
[ "$found" = "$expected" ] ||
  fail "$archive: its SHA-256 is $found, and not $expected as in $sums: get the archive again; nothing was installed"
mkdir -p "$prefix"
tar -xzf "$archive" -C "$prefix" --strip-components=1
echo "installed $("$prefix/bin/aggregate-power" --version) in $prefix/bin"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
