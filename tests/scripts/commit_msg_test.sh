#!/bin/sh
# Which commit messages scripts/commit-msg accepts, and why it refuses the others.
# usage: tests/scripts/commit_msg_test.sh
set -eu
case "${1:-}" in -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/../.."
# shellcheck source=tests/scripts/same.sh
. tests/scripts/same.sh
hook=$PWD/scripts/commit-msg

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# A repository around the temporary folder, or a merge in it, must not matter.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CEILING_DIRECTORIES="${work%/*}"

# The exit status, and the beginning of each fault.
judge() {  # message, with \n for a new line
  status=0
  printf '%b\n' "$1" | "$hook" - >out 2>err || status=$?
  echo "$status$(sed -n 's/^- \([^.;,]*\).*/; \1/p' err | tr -d '\n')"
}

# 72 and 73 characters; the Greek letter has two bytes.
longest='store: keep the order of the runs when a μ-benchmark has none of its own'
too_long="${longest}s"

while read -r message; do
  same "$message" 0 "$(judge "$message")"
  same "the output for: $message" "" "$(cat out err)"
done <<GOOD
verify: fail on a folder that contains no runs
core/energy: do not treat rare bursts as spikes
recorders, src/help: reject percentage columns
ci: add a night job
tests: process every case in a fresh folder
base: embed the zone table
base: bring the reader up to date
store: use no more than 32 MiB
runs: keep records of version 1.2
docs: describe windows\n\nAdded and explained. Let it pass.
docs: describe windows\n# a comment of git
\n\ndocs: describe windows
docs: describe windows\n# ------------------------ >8 ------------------------\ndiff
# a comment of git\n
$longest
fixup! $longest
squash! store: keep the order
Merge branch 'rooms' into main
Merge pull request #12 from someone/rooms
Revert "Let it pass."
Reapply "Let it pass."
GOOD

while IFS='|' read -r message faults; do
  same "$message" "1; $faults" "$(judge "$message")"
done <<BAD
make the reader faster|It names no area
store:make the reader faster|It names no area
Store: make the reader faster|It names no area
the store: make it faster|It names no area
Let it pass|It names no area; It begins with "let"
Merge the readers|It names no area
store: Keep the order|After "store: " comes a verb in lower case
store: 32 MiB are enough|After "store: " comes a verb in lower case
$too_long|It has 73 characters
fixup! $too_long|It has 73 characters
store: keep the order.|It ends with a full stop
store: added a test|It begins with "added"
store: adds a test|It begins with "adds"
store: adding a test|It begins with "adding"
store: let runs without a zone pass|It begins with "let"
store: take the last run|It begins with "take"
docs: say what a window is|It begins with "say"
docs: state what a window is|It begins with "state"
docs: tell what a window is|It begins with "tell"
store: know a second layout|It begins with "know"
store: part reading from writing|It begins with "part"
docs: word the introduction better|It begins with "word"
store: have no second index|It begins with "have no"
store: take no empty folder|It begins with "take"
store: reject no empty folder|Instead of "reject no 
fixup! Let it pass|It names no area; It begins with "let"
docs: describe windows\nand runs|The line after the subject is not empty
docs: Added windows.\nMore|After "docs: " comes a verb in lower case; It begins with "added"; It ends with a full stop; The line after the subject is not empty
BAD

# A message in a file, as git gives it.
echo "store: keep the order" >message
status=0
"$hook" message >out 2>err || status=$?
same "a good message in a file" "0 " "$status $(cat out err)"
echo "Let it pass" >message
status=0
"$hook" message >out 2>err || status=$?
same "a bad message in a file" 1 "$status"
same "the refused subject is shown" "  Let it pass" "$(sed -n 2p err)"
same "how to correct it" "Nothing was committed. To correct the message: git commit -e -F 'message'" "$(tail -n 1 err)"

usage='usage: commit-msg FILE      checks the message in FILE; - reads it from standard input'
same "-h" "$usage" "$("$hook" -h | sed -n 2p)"
status=0
"$hook" >out 2>err || status=$?
same "without a file" "2 $usage" "$status $(cat out err)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
