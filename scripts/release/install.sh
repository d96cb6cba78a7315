#!/bin/sh
# Installs aggregate-power from an archive, if its SHA-256 is the one in the SHA256SUMS that lies with it.
# usage: install.sh [--prefix FOLDER] [--key PUBLIC-KEY] [ARCHIVE]
# Without ARCHIVE, the only aggregate-power-*-linux-*.tar.gz in the folder of install.sh; without --prefix, ~/.local.
# With --key, the file of the publisher's public SSH key, SHA256SUMS must have a signature by that key.
set -eu
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
fail() { echo "install.sh: $*" >&2; exit "$status"; }
status=2
prefix=${HOME:+$HOME/.local}
key=
while :; do
  case "${1:-}" in
    --prefix) [ -n "${2:-}" ] || fail "--prefix: expected a folder; see --help"
      prefix=$2; shift 2 ;;
    --key) [ -f "${2:-}" ] || fail "--key: expected the file of a public SSH key; see --help"
      key=$2; shift 2 ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then
  set -- "$(dirname "$0")"/aggregate-power-*-linux-"$(uname -m)".tar.gz
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
if [ -n "$key" ]; then
  command -v ssh-keygen >/dev/null || fail "--key needs ssh-keygen (openssh-client); nothing was installed"
  [ -f "$sums.sig" ] || fail "$sums.sig: no such file: the sums are not signed; nothing was installed"
  signers=$(mktemp)
  trap 'rm -f "$signers"' EXIT
  trap 'exit 130' HUP INT TERM
  sed 's/^/publisher /' "$key" >"$signers"
  said=$(ssh-keygen -Y verify -n aggregate-power -I publisher -f "$signers" -s "$sums.sig" <"$sums" 2>&1) ||
    fail "$sums: it is not signed with $key: $said; nothing was installed"
elif [ -f "$sums.sig" ]; then
  echo "install.sh: the signature is not checked: --key PUBLIC-KEY checks it" >&2
fi
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
