#!/usr/bin/env python3
"""Checks the wording of added lines: comments, messages in string literals, and Markdown.

usage: scripts/english.py [BASE]

Compares the working tree, untracked files included, with the commit BASE (default: the commit that
added this script, otherwise HEAD). Lines that were only moved are not checked. The exit status is 1
if a phrase was found that has a plainer replacement, and 2 for wrong usage.
"""
import os
import pathlib
import re
import subprocess
import sys

PATHS = ("README.md", "src", "include", "scripts", "tests", ".ci", "CMakeLists.txt")
THIS = "scripts/english.py"
SKIPPED = (THIS, "scripts/commit-msg")  # they state the rules


def rules(table, form=r"\b(?:%s)\b"):
    rows = [row.split(" -> ") for row in table.strip().splitlines()]
    return [(re.compile(form % phrase, re.I), advice) for phrase, advice in rows]


# Whole words, in any case. Messages are text in string literals; prose is Markdown or a comment.
MESSAGE = rules(r"""
mend(ed|s)? -> fix
anew -> again
likewise -> also
worked out -> computed
comes to -> is
just one -> exactly one
is told -> is reported
are told -> are reported
so many watts -> a given power
void(s|ed)? (the|a|it|this|that|whole) -> invalidate
""")
PROSE = MESSAGE + rules(r"""
that of -> the ... of
those of -> the ... of
(?<!there )is none -> is not one
of which -> whose ...
says of -> says about
said of -> said about
beside it -> next to it
rights -> permissions
""")
COMMENT = PROSE + rules("nullopt: -> Returns nullopt if ...", r"^\s*%s")

# The parts of a line that are not code: string literals, characters, and comments.
C_PARTS = re.compile(r'"((?:\\.|[^"\\])*)"|\'(?:\\.|[^\'\\])\'|//+(.*)|/\*(.*?)(?:\*/|$)')
HASH_PARTS = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|(?:^|(?<=\s))#+(?!!)(.*)')


def prose_of(path, line):
    """The texts in a line, each with the rules that it has to follow."""
    name, suffix = os.path.basename(path), os.path.splitext(path)[1]
    if suffix == ".md":
        return [(re.sub(r"`[^`]*`", "`", line), PROSE)]
    if suffix in (".cpp", ".h", ".c"):
        return [(part[1], MESSAGE) if part[1] else (part[2] or part[3] or "", COMMENT)
                for part in C_PARTS.finditer(line)]
    if suffix in (".py", ".sh") or "." not in name or name == "CMakeLists.txt":
        return [(part[1] or "", COMMENT) for part in HASH_PARTS.finditer(line)]
    return []


def git(*words):
    done = subprocess.run(["git", "-c", "core.quotePath=false", *words], capture_output=True, text=True,
                          errors="replace")
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return done.stdout


def default_base():
    """Returns None if there is nothing to compare with: no git, no repository, or no commit."""
    try:
        if git("rev-parse", "--is-shallow-repository").strip() == "true":
            print("english.py: this clone is shallow: only what is not committed is checked", file=sys.stderr)
            return git("rev-parse", "--verify", "HEAD").strip()
        added = git("log", "--diff-filter=A", "--format=%H", "--", THIS).split()
        return added[-1] if added else git("rev-parse", "--verify", "HEAD").strip()
    except (OSError, ValueError) as error:
        if "any commits" not in str(error) and pathlib.Path(".git").exists():
            print(f"english.py: not checked: {error}", file=sys.stderr)
        return None


def lines_of(path):
    return list(enumerate(pathlib.Path(path).read_text(errors="replace").split("\n"), 1))


def changes(base):
    """The added lines, as (path, number, text), and the set of all removed lines without their indent."""
    added, removed, in_hunk = [], set(), False
    for line in git("diff", "-U0", "-M", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/",
                    base, "--", *PATHS).split("\n"):
        if line.startswith("diff --git "):
            in_hunk = False
        elif line.startswith("@@ "):
            in_hunk, number = True, int(re.match(r"@@ -\S+ \+(\d+)", line)[1])
        elif not in_hunk and line.startswith("+++ "):
            path = line[len("+++ b/"):].rstrip("\t")
        elif in_hunk and line.startswith("-"):
            removed.add(line[1:].strip())
        elif in_hunk and line.startswith("+"):
            added.append((path, number, line[1:]))
            number += 1
    for path in git("ls-files", "--others", "--exclude-standard", "--", *PATHS).splitlines():
        if os.path.isfile(path):
            added += [(path, number, line) for number, line in lines_of(path)]
    return added, removed


def fenced_lines(path):
    """The numbers of the lines in the code blocks of a Markdown file."""
    inside, numbers = False, set()
    for number, line in lines_of(path):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside:
            numbers.add(number)
    return numbers


def main(words):
    if words in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if len(words) > 1 or "".join(words).startswith("-"):
        print("usage: scripts/english.py [BASE]", file=sys.stderr)
        return 2
    os.chdir(pathlib.Path(__file__).resolve().parents[1])
    base = words[0] if words else default_base()
    if base is None:
        return 0
    try:
        added, removed = changes(base)
    except (OSError, ValueError) as error:
        print(f"english.py: {error}", file=sys.stderr)
        return 2
    status, fenced = 0, {}
    for path, number, line in added:
        if path in SKIPPED or line.strip() in removed:
            continue
        if path.endswith(".md"):
            if path not in fenced:
                fenced[path] = fenced_lines(path)
            if number in fenced[path]:
                continue
        for text, checks in prose_of(path, line):
            for pattern, advice in checks:
                if hit := pattern.search(text):
                    print(f'{path}:{number}: "{hit[0].strip()}": write "{advice}": {line.strip()[:100]}')
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
